"""The report as JSON and as a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sonnx.translator import TranslationError
from sonnx.translator.report import Entry, Report, figure

ENTRIES = [
    Entry("a.onnx", "ok", seconds=1.5, target="a.singa", details={"nodes": 1234, "rules": {"ReLU": 2}}),
    Entry("<b>.onnx", "failed", "line one\nline two & more", "Relu 'r'", details={"changed": ["x", "y"]}),
    Entry("c.onnx", "skipped", "unchanged"),
]


def report() -> Report:
    return Report("convert", {"to": "singa"}, list(ENTRIES), device="a device")


def test_json_holds_everything(tmp_path: Path) -> None:
    report().write(tmp_path / "new" / "r.json")
    document = json.loads((tmp_path / "new" / "r.json").read_text())
    assert document["summary"] == {"ok": 1, "failed": 1, "skipped": 1}
    assert document["format"] == "sonnx report" and document["version"] == 1
    assert document["entries"][1]["node"] == "Relu 'r'" and document["software"]["onnx"]


def test_the_page_holds_everything_and_escapes_it(tmp_path: Path) -> None:
    report().write(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    for text in (
        "1 failed",
        "a.singa",
        "&lt;b&gt;.onnx",
        "line two &amp; more",
        "1,234",
        "ReLU 2",
        "a device",
    ):
        assert text in page
    assert "<b>.onnx" not in page and "http" not in page


def test_it_is_good_where_nothing_failed() -> None:
    assert not report().good
    assert Report("convert", entries=[ENTRIES[0], ENTRIES[2]]).good


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TranslationError, match="cannot be written"):
        report().write(tmp_path / "file" / "r.json")


def test_figures_are_for_people() -> None:
    assert [figure(v) for v in (0.000123456, 12345, True, "x")] == ["0.000123", "12,345", "True", "x"]
