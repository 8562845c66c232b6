"""What counts as equal, and how a difference is told."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from sonnx.translator.comparison import Tolerance, compare, compare_all, worst

T = Tolerance()


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (np.float32([1, 2]), np.float32([1, 2.001])),
        (np.float32([np.nan, np.inf, -np.inf]), np.float32([np.nan, np.inf, -np.inf])),
        (np.float32([1000, 0]), np.float32([1000, 0.009])),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1.01, 2.02], ml_dtypes.bfloat16)),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
        (np.float32(2), np.float32(2)),
        (np.array([1 + 1j], np.complex64), np.array([1 + 1.0001j], np.complex64)),
    ],
)
def test_near_enough(expected: np.ndarray, actual: np.ndarray) -> None:
    assert compare("y", expected, actual, T).problem == ""


@pytest.mark.parametrize(
    ("expected", "actual", "told"),
    [
        (
            np.float32([1, 2]),
            np.float32([1, 2.01]),
            "1 of 2 differ too much; 2.009999990463257 at [1], expected 2.0",
        ),
        (np.float32([1, 2]), np.float32([1, np.nan]), "nan at [1]"),
        (np.float32([np.inf]), np.float32([-np.inf]), "-inf at [0], expected inf"),
        (np.float32([1, np.inf]), np.float32([1, 3]), "3.0 at"),
        (np.int64([1, 2]), np.int64([1, 3]), "1 of 2 differ; 3 at [1], expected 2"),
        (np.array([True]), np.array([False]), "False at"),
        (np.array([1, 2], ml_dtypes.int4), np.array([1, 3], ml_dtypes.int4), "3 at"),
        (np.float32([1]), np.float64([1]), "float64, expected float32"),
        (np.float32([1]), np.float32([[1]]), "shape [1, 1], expected [1]"),
        (np.float32(1), np.float32([1]), "shape [1], expected []"),
    ],
)
def test_too_far(expected: np.ndarray, actual: np.ndarray, told: str) -> None:
    assert told in compare("y", expected, actual, T).problem


def test_a_tolerance_that_is_given_holds_for_every_type() -> None:
    strict = Tolerance(rtol=1e-7, atol=0.0)
    assert compare("y", np.float32([1]), np.float32([1.00001]), strict).problem
    assert compare("y", np.float16([1]), np.float16([1.001]), strict).problem


def test_the_worst_is_what_has_a_problem() -> None:
    expected = {"a": np.float32([1]), "b": np.float32([1]), "c": np.float32([1])}
    found = compare_all(expected, {"a": np.float32([1.0005]), "b": np.float32([1])}, T)
    assert worst(found).name == "c" and worst(found).problem == "not computed"
    assert worst(found[:2]).name == "a"
    assert worst([]).problem == ""
