"""Comparisons, logic, bits and choice.  Comparisons and logic give bool; a SINGA float counts as true
where it is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import dtypes
from ..operator import Call, registry
from ..pointwise import Pointwise
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder

_COMPARE = {
    "Equal": ("a == b", np.equal),
    "Less": ("a < b", np.less),
    "LessOrEqual": ("a <= b", np.less_equal),
    "Greater": ("a > b", np.greater),
    "GreaterOrEqual": ("a >= b", np.greater_equal),
    "And": ("(a != 0 && b != 0)", np.logical_and),
    "Or": ("(a != 0 || b != 0)", np.logical_or),
    "Xor": ("((a != 0) != (b != 0))", np.logical_xor),
}

for _name, (_expression, _function) in _COMPARE.items():
    registry.add(
        f"{_name}(a, b) -> y",
        pointwise=Pointwise(_expression, result=dtypes.BOOL),
        host=lambda call, function=_function: [function(*(value.host for value in call.present))],
    )

registry.add(
    "Not(x) -> y",
    pointwise=Pointwise("x == 0", result=dtypes.BOOL),
    host=lambda call: [np.logical_not(call.present[0].host)],
)

for _name, _expression in {"BitwiseAnd": "a & b", "BitwiseOr": "a | b", "BitwiseXor": "a ^ b"}.items():
    registry.add(f"{_name}(a, b) -> y", pointwise=Pointwise("(C)0", _expression))
registry.add("BitwiseNot(x) -> y", pointwise=Pointwise("(C)0", "~x"))

# A shift by a negative number, or by the type's width or more (C leaves both undefined), leaves what
# the sign fills (ONNX BitShift 28).
_SHIFTS = {"LEFT": ("<<", "0"), "RIGHT": (">>", "a < 0 ? -1 : 0")}
for _name, (_sign, _filled) in _SHIFTS.items():
    _expression = f"(b < 0 || b >= (C)(8 * sizeof(C)) ? (C)({_filled}) : (C)(a {_sign} b))"
    registry.add(f"_Shift{_name}(a, b) -> y", pointwise=Pointwise("(C)0", _expression))


def _shift(call: Call, build: Builder) -> list[Value]:
    if call.a.direction not in _SHIFTS:
        raise call.fail(f"direction is {call.a.direction!r}; it must be LEFT or RIGHT")
    return [build("_Shift" + call.a.direction, *call.inputs)]


registry.add("BitShift(a, b; direction: string) -> y", expand=_shift)


def _branches(call: Call) -> np.dtype:
    return dtypes.promote(*(value.dtype for value in call.present[1:]))


registry.add(
    "Where(condition, x, y) -> z",
    pointwise=Pointwise("(condition ? x : y)", compute=_branches, conditions=("condition",)),
    host=lambda call: [np.where(*(value.host for value in call.present))],
)
