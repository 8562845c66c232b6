"""Softmax, log softmax and hardmax.

Each has two meanings.  ``flatten`` = 1 (SINGA's, and ONNX's up to opset 12): everything from ``axis``
on is one row.  ``flatten`` = 0 (ONNX's from opset 13): along that one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..dtypes import is_float
from ..operator import Call, registry
from ..value import Value
from .rows import accumulator, around_axis, launch_rows, row_defines

if TYPE_CHECKING:
    from ..emit import Emit


def _infer(call: Call) -> list[Value]:
    x = call.inputs[0]
    assert x is not None
    if not is_float(x.dtype):
        raise call.fail(f"input is {x.dtype.name}; expected a floating-point type")
    around_axis(call)
    return [Value(x.dtype, x.shape)]


def _lower(logarithm: bool) -> Callable[[Call, Emit], None]:
    def lower(call: Call, emit: Emit) -> None:
        x, y = call.inputs[0], call.outputs[0]
        assert x is not None
        outer, length, inner = around_axis(call)
        accumulate = accumulator(x.dtype)
        types = {"I": x.dtype, "A": accumulate, "O": y.dtype}
        defines = row_defines(x.dtype, accumulate, y.dtype)
        if logarithm:
            defines["LOGARITHM"] = 1
        if x.dtype == accumulate:
            defines["EXACT"] = 1
        if inner == 1:
            items, defines["ROWS"] = outer if length else 0, 1
            launch_rows(emit, "softmax.cl", "softmax_rows", items, [x, y, length], types, defines)
        elif length:
            arguments = [x, y, length, inner]
            emit.map("softmax.cl", "softmax_columns", outer * inner, arguments, types, defines)

    return lower


def _lower_hardmax(call: Call, emit: Emit) -> None:
    x, y = call.inputs[0], call.outputs[0]
    assert x is not None
    outer, length, inner = around_axis(call)
    accumulate = accumulator(x.dtype)
    types = {"I": x.dtype, "A": accumulate, "O": y.dtype}
    defines = row_defines(x.dtype, accumulate, y.dtype)
    if length:
        emit.map("softmax.cl", "hardmax", outer * inner, [x, y, length, inner], types, defines)


registry.add("SoftMax(x; axis: int = 1, flatten: int = 1) -> y", infer=_infer, lower=_lower(False))
registry.add("LogSoftmax(x; axis: int = 1, flatten: int = 1) -> y", infer=_infer, lower=_lower(True))
registry.add("Hardmax(x; axis: int = 1, flatten: int = 1) -> y", infer=_infer, lower=_lower_hardmax)
