"""The formatter changes white space only, and nothing the second time."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from sonnx.translator.language.format import WIDTH, format_text
from sonnx.translator.language.parser import parse

HERE = Path(__file__).parent
MESSY = HERE / "format" / "messy.rules"
SHIPPED = [path for path in files("sonnx.rules").iterdir() if path.name.endswith(".rules")]
SOURCES = [*sorted((HERE / "pass").glob("*.rules")), MESSY, *sorted(SHIPPED, key=lambda path: path.name)]


def comments(text: str) -> list[str]:
    """Every comment of a rule file, in order of their text."""
    found = (match[1] for match in re.finditer(r'"[^"\n]*"|(#[^\n]*)', text))
    return sorted(comment.rstrip() for comment in found if comment)


def words(text: str) -> str:
    """A rule file without comments and white space."""
    return re.sub(r"\s", "", re.sub(r'("[^"\n]*")|#[^\n]*', r"\1", text))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_meaning_comments_and_spelling_are_kept(path):
    text = path.read_text("utf-8")
    formatted = format_text(text)
    before, after = parse(text), parse(formatted)
    assert (after.rules, after.examples) == (before.rules, before.examples)
    assert comments(formatted) == comments(text)
    assert words(formatted) == words(text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_formatting_twice_is_formatting_once(path):
    once = format_text(path.read_text("utf-8"))
    assert format_text(once) == once


def test_the_layout():
    assert format_text(MESSY.read_text()) == (HERE / "format" / "messy.formatted").read_text()


def test_lines_fit_where_they_can():
    inputs = ", ".join(f"input_number_{i}" for i in range(20))
    formatted = format_text(f"special Op({inputs}) <-> Op({inputs})")
    assert max(map(len, formatted.splitlines())) <= WIDTH
