"""The largest or smallest elements along an axis, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT64
from ..operator import Call, registry
from ..value import Value
from .rows import accumulator, around, launch_rows

if TYPE_CHECKING:
    from ..emit import Emit

_LARGER = "((a) > (b) || ((a) != (a) && (b) == (b)))"
_SMALLER = "((a) < (b) || ((a) == (a) && (b) != (b)))"


def _infer_top(call: Call) -> list[Value]:
    x, k = call.inputs[0], call.a.k
    assert x is not None
    axis = call.axis(call.a.axis, x.rank)
    if not 0 <= k <= x.shape[axis]:
        raise call.fail(f"k is {k}; axis {call.a.axis} has {x.shape[axis]} elements")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [Value(x.dtype, shape), Value(INT64, shape)]


def _lower_top(call: Call, emit: Emit) -> None:
    x, (values, places) = call.inputs[0], call.outputs
    assert x is not None
    outer, length, inner = around(x.shape, call.axis(call.a.axis, x.rank))
    defines = {"TOP": 1, "BETTER(a, b)": _LARGER if call.a.largest else _SMALLER}
    arguments = [x, values, places, length, call.a.k, inner]
    items = outer * inner if call.a.k else 0
    types = {"I": x.dtype, "BITS": np.dtype(f"u{x.dtype.itemsize}")}
    launch_rows(emit, "sorting.cl", "top", items, arguments, types, defines)


registry.add(
    "TopK(x; k: int, axis: int = -1, largest: int = 1, sorted: int = 1) -> values, indices",
    infer=_infer_top,
    lower=_lower_top,
)


def _infer_running(call: Call) -> list[Value]:
    x = call.inputs[0]
    assert x is not None
    call.axis(call.a.axis, x.rank)
    return [Value(x.dtype, x.shape)]


def _lower_running(combine: str, identity: str) -> Callable[[Call, Emit], None]:
    def lower(call: Call, emit: Emit) -> None:
        x = call.inputs[0]
        assert x is not None
        outer, length, inner = around(x.shape, call.axis(call.a.axis, x.rank))
        types = {"I": x.dtype, "A": accumulator(x.dtype)}
        defines = {
            "RUNNING": 1,
            "COMBINE(a, b)": combine,
            "IDENTITY": identity,
            "EXCLUSIVE": int(bool(call.a.exclusive)),
            "STEP": -1 if call.a.reverse else 1,
        }
        items = outer * inner if length else 0
        launch_rows(emit, "sorting.cl", "running", items, [x, call.outputs[0], length, inner], types, defines)

    return lower


def _host_running(function: Callable[..., np.ndarray]) -> Callable[[Call], list[np.ndarray]]:
    """Shape arithmetic: running totals of known numbers."""

    def host(call: Call) -> list[np.ndarray]:
        x = call.inputs[0]
        assert x is not None and x.host is not None
        axis = call.axis(call.a.axis, x.rank)
        values = np.flip(x.host, axis) if call.a.reverse else x.host
        result = function(values, axis=axis, dtype=x.dtype)
        if call.a.exclusive:
            first = np.full_like(np.take(result, [0], axis), 0 if function is np.cumsum else 1)
            result = np.concatenate([first, np.delete(result, -1, axis)], axis)
        return [np.flip(result, axis) if call.a.reverse else result]

    return host


for _name, _combine, _identity, _function in (
    ("CumSum", "(a) + (b)", "0", np.cumsum),
    ("CumProd", "(a) * (b)", "1", np.cumprod),
):
    registry.add(
        f"{_name}(x; axis: int, exclusive: int = 0, reverse: int = 0) -> y",
        infer=_infer_running,
        lower=_lower_running(_combine, _identity),
        host=_host_running(_function),
    )
