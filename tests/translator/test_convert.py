"""Batches: structure kept, bad models contained, unchanged ones skipped, nothing partial left."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data
from small_models import small, with_weights, write
from sonnx.translator import convert, load
from sonnx.translator.convert import JOURNAL, Settings, convert_all, plan_jobs
from sonnx.translator.files import find_models, is_singa, remove_unfinished
from sonnx.translator.report import Entry


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two good models, one of them in a folder, a damaged one, and what is no model."""
    folder = tmp_path / "source"
    write(small(), folder / "a.onnx")
    write(with_weights(), folder / "deep" / "er" / "b.onnx")
    (folder / "bad.onnx").write_bytes(small().SerializeToString()[:40])
    (folder / "notes.txt").write_text("no model")
    (folder / ".hidden.onnx").write_text("no model")
    return folder


def go(
    source: Path, target: Path, settings: Settings | None = None, resume: bool = False, processes: int = 2
) -> dict[str, Entry]:
    jobs, clashes = plan_jobs([source], target, settings or Settings(), resume)
    return {Path(entry.file).name: entry for entry in [*clashes, *convert_all(jobs, target, processes)]}


def statuses(entries: dict[str, Entry]) -> dict[str, str]:
    return {name: entry.status for name, entry in entries.items()}


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_folder_is_walked_and_its_structure_kept(source: Path, tmp_path: Path) -> None:
    entries = go(source, tmp_path / "out")
    assert statuses(entries) == {"a.onnx": "ok", "b.onnx": "ok", "bad.onnx": "failed"}
    assert files(tmp_path / "out") == [JOURNAL, "a.singa", "deep/er/b.singa"]
    assert "damaged" in entries["bad.onnx"].message
    assert entries["a.onnx"].details["nodes"] == 3
    assert [node.operator for node in load(tmp_path / "out" / "a.singa").nodes] == ["ReLU", "Sigmoid", "Mul"]


def test_and_back_again(source: Path, tmp_path: Path) -> None:
    go(source, tmp_path / "singa")
    entries = go(tmp_path / "singa", tmp_path / "onnx", Settings("onnx", 21))
    assert set(statuses(entries).values()) == {"ok"}
    back = onnx.load(tmp_path / "onnx" / "deep" / "er" / "b.onnx")
    assert back.opset_import[0].version == 21
    onnx.checker.check_model(back, full_check=True)


def test_onnx_is_rewritten_at_another_opset(source: Path, tmp_path: Path) -> None:
    entries = go(source, tmp_path / "out", Settings("onnx", 13))
    assert statuses(entries) == {"a.onnx": "ok", "b.onnx": "ok", "bad.onnx": "failed"}
    assert onnx.load(tmp_path / "out" / "a.onnx").opset_import[0].version == 13


def test_resume_skips_what_is_unchanged_and_only_that(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    go(source, out)
    assert statuses(go(source, out, resume=True)) == {
        "a.onnx": "skipped",
        "b.onnx": "skipped",
        "bad.onnx": "failed",
    }
    write(with_weights(5), source / "deep" / "er" / "b.onnx")
    (out / "a.singa").unlink()
    write(small(), source / "bad.onnx")
    assert set(statuses(go(source, out, resume=True)).values()) == {"ok"}
    assert set(statuses(go(source, out, resume=True)).values()) == {"skipped"}
    assert set(statuses(go(source, out)).values()) == {"ok"}


def test_resume_knows_other_options_rules_and_weights_beside_the_model(tmp_path: Path) -> None:
    source, out, rules = tmp_path / "source", tmp_path / "out", tmp_path / "rules"
    model = with_weights(2000)
    convert_model_to_external_data(model, location="w.bin", size_threshold=0)
    source.mkdir()
    onnx.save_model(model, source / "m.onnx")
    rules.mkdir()
    (rules / "own.rules").write_text("renamed Frobnicate <-> own::Frobnicate\n")
    settings = Settings("onnx")
    assert statuses(go(source, out, settings)) == {"m.onnx": "ok"}
    assert statuses(go(source, out, settings, resume=True)) == {"m.onnx": "skipped"}
    assert statuses(go(source, out, Settings("onnx", 18), resume=True)) == {"m.onnx": "ok"}
    data = bytearray((source / "w.bin").read_bytes())
    data[100] ^= 1
    (source / "w.bin").write_bytes(data)
    assert statuses(go(source, out, Settings("onnx", 18), resume=True)) == {"m.onnx": "ok"}
    assert statuses(go(source, out, Settings("onnx", 18), resume=True)) == {"m.onnx": "skipped"}


def test_a_journal_cut_short_loses_only_its_last_line(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    go(source, out, processes=1)
    text = (out / JOURNAL).read_text()
    (out / JOURNAL).write_text(text[: len(text) - 20] + "\n[3]\n")
    assert sorted(statuses(go(source, out, resume=True)).values()) == ["failed", "ok", "skipped"]


def test_two_sources_for_one_file_are_told(source: Path, tmp_path: Path) -> None:
    other = write(small(), tmp_path / "other" / "a.onnx")
    jobs, clashes = plan_jobs([source, other, source / "a.onnx"], tmp_path / "out", Settings())
    assert len(jobs) == 3
    assert [Path(clash.file) for clash in clashes] == [other] and "becomes" in clashes[0].message


def test_the_target_inside_of_the_source_is_not_walked(source: Path) -> None:
    go(source, source / "out", Settings("onnx"))
    jobs, _ = plan_jobs([source], source / "out", Settings("onnx"))
    assert len(jobs) == 3


def dies(job: convert.Job) -> object:
    if job.source.name == "a.onnx":
        job.target.parent.mkdir(exist_ok=True)
        job.target.with_name(f".{job.target.name}.half").write_text("half a file")
        os.kill(os.getpid(), signal.SIGKILL)
    return convert_one(job)


convert_one = convert.convert_one


def test_a_model_that_kills_its_process_is_that_models_failure(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "convert_one", dies)
    entries = go(source, tmp_path / "out")
    assert statuses(entries) == {"a.onnx": "failed", "b.onnx": "ok", "bad.onnx": "failed"}
    assert "SIGKILL" in entries["a.onnx"].message
    assert files(tmp_path / "out") == [JOURNAL, "deep/er/b.singa"]


def test_a_target_that_cannot_be_written_is_a_failure(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "deep").write_text("a file where a folder is needed")
    (tmp_path / "out" / "a.singa").mkdir()
    entries = go(source, tmp_path / "out")
    assert set(statuses(entries).values()) == {"failed"}
    assert not any(
        "Traceback" in entry.message or "unexpected" in entry.message for entry in entries.values()
    )


def test_a_surprise_is_a_failure(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "read_graph", lambda path, rules: 1 / 0)
    entries = go(source / "a.onnx", tmp_path / "out")
    assert "ZeroDivisionError" in entries["a.onnx"].message


def test_the_journal_holds_hashes(source: Path, tmp_path: Path) -> None:
    go(source / "a.onnx", tmp_path / "out")
    record = json.loads((tmp_path / "out" / JOURNAL).read_text())
    assert record["key"] == "a.singa" and len(record["source"]) == 64 and record["needs"] == {}


def test_models_are_found_in_order_and_by_suffix(source: Path) -> None:
    found = list(find_models([source, source / "notes.txt"], (".onnx",)))
    assert [str(f.relative) for f in found] == ["a.onnx", "bad.onnx", "deep/er/b.onnx", "notes.txt"]


def test_an_archive_is_known_without_its_suffix(source: Path, tmp_path: Path) -> None:
    go(source, tmp_path / "out")
    (tmp_path / "out" / "a.singa").rename(tmp_path / "plain")
    assert (
        is_singa(tmp_path / "plain") and not is_singa(source / "a.onnx") and not is_singa(tmp_path / "none")
    )


def test_only_the_rest_of_that_file_is_removed(tmp_path: Path) -> None:
    for name in (".m[1].onnx.abc", "m[1].onnx", ".m1.onnx.abc"):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path / "m[1].onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".m1.onnx.abc", "m[1].onnx"]
