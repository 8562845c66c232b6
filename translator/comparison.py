"""How far two results are apart, and whether that is too far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

DEFAULTS: dict[str, tuple[float, float]] = {
    "float16": (1e-2, 1e-3),
    "bfloat16": (5e-2, 1e-2),
    "float64": (1e-6, 1e-8),
    "complex128": (1e-6, 1e-8),
}
"""Relative and absolute tolerance by type; others, float32 above all, have those of ``FLOAT``."""
FLOAT = (1e-3, 1e-5)


@dataclass(frozen=True)
class Tolerance:
    """What is allowed: ``rtol`` times the expected element, and ``atol`` times the largest element of
    the result or 1, whichever is larger.  None: the default of the type.  Integers are to be equal."""

    rtol: float | None = None
    atol: float | None = None

    def of(self, dtype: np.dtype) -> tuple[float, float]:
        """``(rtol, atol)`` for results of a type."""
        rtol, atol = DEFAULTS.get(dtype.name, FLOAT)
        return (rtol if self.rtol is None else self.rtol), (atol if self.atol is None else self.atol)


@dataclass(frozen=True)
class Difference:
    """``error`` is the largest absolute difference, ``relative`` the same over the largest element;
    ``problem`` says what is wrong, if anything is."""

    name: str
    error: float = 0.0
    relative: float = 0.0
    problem: str = ""


def compare(name: str, expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance) -> Difference:
    """The difference of two arrays of one value."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape:
        return Difference(name, problem=f"shape {list(actual.shape)}, expected {list(expected.shape)}")
    if expected.dtype != actual.dtype:
        return Difference(name, problem=f"{actual.dtype}, expected {expected.dtype}")
    if not expected.size:
        return Difference(name)
    if expected.dtype.kind in "biu" or expected.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return _compare_exactly(name, expected, actual)
    return _compare_floats(name, expected, actual, tolerance)


def _compare_exactly(name: str, expected: np.ndarray, actual: np.ndarray) -> Difference:
    wrong = np.flatnonzero(expected.reshape(-1) != actual.reshape(-1))
    if not wrong.size:
        return Difference(name)
    gap = np.abs(expected.astype(np.float64) - actual.astype(np.float64))
    largest = float(np.abs(expected.astype(np.float64)).max())
    where = _element(expected, actual, int(wrong[0]))
    error = float(gap.max())
    problem = f"{wrong.size} of {expected.size} differ; {where}"
    return Difference(name, error, error / max(largest, 1.0), problem)


def _compare_floats(name: str, expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance) -> Difference:
    rtol, atol = tolerance.of(expected.dtype)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    want, got = expected.astype(wide).reshape(-1), actual.astype(wide).reshape(-1)
    finite = np.isfinite(want) & np.isfinite(got)
    same = (want == got) | (np.isnan(want) & np.isnan(got))
    gap = np.zeros(want.shape)
    gap[finite] = np.abs(want[finite] - got[finite])
    largest = float(np.abs(want[finite]).max(initial=0.0))
    allowed = rtol * np.abs(np.where(finite, want, 0)) + atol * max(largest, 1.0)
    wrong = np.flatnonzero(~(same | (finite & (gap <= allowed))))
    error = float(gap.max())
    relative = error / largest if largest else error
    if not wrong.size:
        return Difference(name, error, relative)
    worst = int(wrong[np.argmax(np.where(finite, gap - allowed, np.inf)[wrong])])
    where = _element(expected, actual, worst)
    return Difference(name, error, relative, f"{wrong.size} of {want.size} differ too much; {where}")


def _element(expected: np.ndarray, actual: np.ndarray, place: int) -> str:
    index = [int(i) for i in np.unravel_index(place, expected.shape)]
    return f"{actual.reshape(-1)[place]} at {index}, expected {expected.reshape(-1)[place]}"


def compare_all(
    expected: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tolerance: Tolerance
) -> list[Difference]:
    """A difference for each expected result; one that is missing is a problem."""
    found = []
    for name, array in expected.items():
        if name in actual:
            found.append(compare(name, array, actual[name], tolerance))
        else:
            found.append(Difference(name, problem="not computed"))
    return found


def worst(differences: list[Difference]) -> Difference:
    """The first with a problem, else the one with the largest relative error."""
    wrong = [difference for difference in differences if difference.problem]
    return wrong[0] if wrong else max(differences, key=lambda d: d.relative, default=Difference(""))
