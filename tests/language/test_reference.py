"""docs/language.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sonnx.translator.language.parser import parse
from sonnx.translator.language.reference import render

DOCUMENT = Path(__file__).parents[2] / "docs" / "language.md"
BLOCKS = re.findall(r"^```\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.S | re.M)


def test_the_generated_sections_are_current():
    text = DOCUMENT.read_text("utf-8")
    assert render(text) == text, "run python -m sonnx.translator.language.reference docs/language.md"


@pytest.mark.parametrize("block", [block for block in BLOCKS if "ARROW" not in block])
def test_the_rules_it_shows_parse(block):
    assert parse(block).rules or parse(block).examples
