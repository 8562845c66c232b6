"""ONNX's own node tests: all pass but those that ``excluded`` names."""

from __future__ import annotations

from fnmatch import filter as matching

import pytest
from cases import Case, cases, failure
from excluded import EXCLUDED, ROUNDED, reason, rounded

RUN = [case for case in cases() if not reason(case.name)]


@pytest.mark.parametrize("case", RUN, ids=[case.name for case in RUN])
def test_node(case: Case) -> None:
    assert failure(case, units=2 if rounded(case.name) else 0) is None


@pytest.mark.parametrize("pattern", [*EXCLUDED, *ROUNDED])
def test_every_exclusion_is_about_a_test(pattern: str) -> None:
    assert matching([case.name for case in cases()], pattern)
