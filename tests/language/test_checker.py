"""Rule files that must be accepted, and files that must be refused with the message beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sonnx.translator.language.checker import check
from sonnx.translator.language.errors import RuleSyntaxError
from sonnx.translator.language.kinds import KINDS
from sonnx.translator.language.parser import parse_file

HERE = Path(__file__).parent
PASS = sorted((HERE / "pass").glob("*.rules"))
FAIL = sorted(
    [*(HERE / "fail").glob("*.rules"), *(path for path in (HERE / "fail").iterdir() if path.is_dir())]
)


def messages(path: Path, operators) -> str:
    """All errors of a file, or of a folder whose files are layers, as a person sees them."""
    paths = sorted(path.glob("*.rules")) if path.is_dir() else [path]
    layers, texts = [], {}
    for each in paths:
        try:
            file = parse_file(each)
        except RuleSyntaxError as error:
            return str(error).replace(f"{each.parent}/", "")
        layers.append([file])
        texts[file.path] = file.text
    found = check(layers, operators)
    return "\n".join(error.render(texts) for error in found).replace(f"{paths[0].parent}/", "")


@pytest.mark.parametrize("path", PASS, ids=lambda path: path.stem)
def test_good_rules_are_accepted(path, operators):
    assert messages(path, operators) == ""


@pytest.mark.parametrize("path", FAIL, ids=lambda path: path.stem)
def test_bad_rules_are_refused(path, operators):
    assert messages(path, operators) == path.with_suffix(".expected").read_text().rstrip("\n")


def test_every_kind_of_error_is_shown():
    shown = "".join(path.read_text() for path in (HERE / "fail").glob("*.expected"))
    assert [code for code in KINDS if f": {code}: " not in shown] == []
