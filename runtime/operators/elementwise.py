"""Elementwise arithmetic and activations: a row for each operator.

Every expression follows the newest ONNX operator of the family; numpy functions stand only beside
operators that models use to compute shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..operator import Call, registry
from ..pointwise import Pointwise
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder


def _integer_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division that rounds toward zero for integers."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    whole = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, 0, np.sign(a) * np.sign(b) * whole)


def _with(function: Callable[..., np.ndarray]) -> Callable[[Call], list[np.ndarray]]:
    def host(call: Call) -> list[np.ndarray]:
        return [function(*(value.host for value in call.present))]

    return host


_Row = tuple[str, Pointwise, "Callable[[Call], Any] | None"]

_UNARY: list[_Row] = [
    ("Abs(x) -> y", Pointwise("fabs(x)", "(x < 0 ? (C)(0 - x) : x)"), _with(np.abs)),
    ("Acos(x) -> y", Pointwise("acos(x)"), None),
    ("Acosh(x) -> y", Pointwise("acosh(x)"), None),
    ("Asin(x) -> y", Pointwise("asin(x)"), None),
    ("Asinh(x) -> y", Pointwise("asinh(x)"), None),
    ("Atan(x) -> y", Pointwise("atan(x)"), None),
    ("Atanh(x) -> y", Pointwise("atanh(x)"), None),
    ("Ceil(x) -> y", Pointwise("ceil(x)", "x"), _with(np.ceil)),
    ("Cos(x) -> y", Pointwise("cos(x)"), None),
    ("Cosh(x) -> y", Pointwise("cosh(x)"), None),
    ("Erf(x) -> y", Pointwise("erf(x)"), None),
    ("Exp(x) -> y", Pointwise("exp(x)"), None),
    ("Floor(x) -> y", Pointwise("floor(x)", "x"), _with(np.floor)),
    ("Log(x) -> y", Pointwise("log(x)"), None),
    ("Negative(x) -> y", Pointwise("-x", "(C)(0 - x)"), _with(np.negative)),
    ("Reciprocal(x) -> y", Pointwise("(C)1 / x"), _with(np.reciprocal)),
    ("Round(x) -> y", Pointwise("round(x)", "x"), None),
    ("Rounde(x) -> y", Pointwise("rint(x)", "x"), _with(np.rint)),
    ("Sigmoid(x) -> y", Pointwise("(x >= 0 ? (C)1 / ((C)1 + exp(-x)) : exp(x) / ((C)1 + exp(x)))"), None),
    ("Sign(x) -> y", Pointwise("(isnan(x) ? x : (C)((x > 0) - (x < 0)))", "(C)((x > 0) - (x < 0))"), None),
    ("Sin(x) -> y", Pointwise("sin(x)"), None),
    ("Sinh(x) -> y", Pointwise("sinh(x)"), None),
    ("Sqrt(x) -> y", Pointwise("sqrt(x)"), _with(np.sqrt)),
    ("Tan(x) -> y", Pointwise("tan(x)"), None),
    ("Tanh(x) -> y", Pointwise("tanh(x)"), None),
    ("ReLU(x) -> y", Pointwise("(x < 0 ? (C)0 : x)"), None),
    ("SoftPlus(x) -> y", Pointwise("(fmax(x, (C)0) + log1p(exp(-fabs(x))))"), None),
    ("SoftSign(x) -> y", Pointwise("(x / ((C)1 + fabs(x)))"), None),
    ("HardSwish(x) -> y", Pointwise("(x * fmax((C)0, fmin((C)1, x / (C)6 + (C)0.5)))"), None),
    ("Mish(x) -> y", Pointwise("(x * tanh(fmax(x, (C)0) + log1p(exp(-fabs(x)))))"), None),
    ("IsNaN(x) -> y", Pointwise("isnan(x)", "0", result=dtypes.BOOL), None),
    (
        "IsInf(x; detect_negative: int = 1, detect_positive: int = 1) -> y",
        Pointwise(
            "(isinf(x) && (x > 0 ? detect_positive != 0 : detect_negative != 0))",
            "0",
            result=dtypes.BOOL,
            parameters=("detect_negative", "detect_positive"),
        ),
        None,
    ),
    (
        "Elu(x; alpha: float = 1.0) -> y",
        Pointwise("(x < 0 ? alpha * expm1(x) : x)", parameters=("alpha",)),
        None,
    ),
    (
        "Celu(x; alpha: float = 1.0) -> y",
        Pointwise("(fmax(x, (C)0) + fmin((C)0, alpha * expm1(x / alpha)))", parameters=("alpha",)),
        None,
    ),
    (
        "SeLU(x; alpha: float = 1.67326, gamma: float = 1.0507) -> y",
        Pointwise("(gamma * (x > 0 ? x : alpha * expm1(x)))", parameters=("alpha", "gamma")),
        None,
    ),
    ("LeakyRelu(x; a: float = 0.01) -> y", Pointwise("(x < 0 ? a * x : x)", parameters=("a",)), None),
    (
        "ThresholdedRelu(x; alpha: float = 1.0) -> y",
        Pointwise("(x > alpha ? x : (C)0)", parameters=("alpha",)),
        None,
    ),
    (
        "HardSigmoid(x; alpha: float = 0.2, gamma: float = 0.5) -> y",
        Pointwise("fmax((C)0, fmin((C)1, alpha * x + gamma))", parameters=("alpha", "gamma")),
        None,
    ),
    (
        "Shrink(x; lambd: float = 0.5, bias: float = 0.0) -> y",
        Pointwise(
            "(x < -lambd ? x + bias : x > lambd ? x - bias : (C)0)",
            "(x < -lambd ? (C)(x + bias) : x > lambd ? (C)(x - bias) : (C)0)",
            parameters=("lambd", "bias"),
        ),
        None,
    ),
    (
        "Swish(x; alpha: float = 1.0) -> y",
        Pointwise("(x / ((C)1 + exp(-alpha * x)))", parameters=("alpha",)),
        None,
    ),
]

_GELU = {
    "none": Pointwise("((C)0.5 * x * ((C)1 + erf(x * (C)0.70710678118654752440)))"),
    "tanh": Pointwise(
        "((C)0.5 * x * ((C)1 + tanh((C)0.79788456080286535588 * (x + (C)0.044715 * x * x * x))))"
    ),
}

_BINARY: list[_Row] = [
    ("Add(a, b) -> y", Pointwise("a + b"), _with(np.add)),
    ("Sub(a, b) -> y", Pointwise("a - b"), _with(np.subtract)),
    ("Mul(a, b) -> y", Pointwise("a * b"), _with(np.multiply)),
    (
        "Div(a, b) -> y",
        Pointwise("a / b", "integer_division(a, b)", helpers=("division",)),
        _with(_integer_divide),
    ),
    ("PRelu(x, slope) -> y", Pointwise("(x < 0 ? slope * x : x)"), None),
]

for _signature, _how, _host in (*_UNARY, *_BINARY):
    registry.add(_signature, pointwise=_how, host=_host)


# --- operators whose expression depends on their attributes --------------------------------------


def _first(call: Call) -> np.dtype:
    return call.present[0].dtype


registry.add(
    "Gelu(x; approximate: string = 'none') -> y",
    expand=lambda call, build: [build("_Gelu_" + _approximation(call), call.inputs[0])],
)
registry.add("_Gelu_none(x) -> y", pointwise=_GELU["none"])
registry.add("_Gelu_tanh(x) -> y", pointwise=_GELU["tanh"])


def _approximation(call: Call) -> str:
    if call.a.approximate not in _GELU:
        raise call.fail(f"approximate is {call.a.approximate!r}; it must be 'none' or 'tanh'")
    return call.a.approximate


registry.add(
    "Pow(a, b) -> y",
    expand=lambda call, build: [build(_power_kind(call), *call.inputs)],
)


def _power_kind(call: Call) -> str:
    """Integers to integer powers exactly; else in floating point, then in the base's type."""
    a, b = call.present
    return "_IntegerPow" if not (dtypes.is_float(a.dtype) or dtypes.is_float(b.dtype)) else "_FloatPow"


def _power_type(call: Call) -> np.dtype:
    a, b = call.present
    wide = np.dtype(np.float64)
    if dtypes.is_float(a.dtype):
        return wide if wide in (a.dtype, b.dtype) else dtypes.FLOAT32
    return wide if a.dtype.itemsize > 2 or b.dtype == wide else dtypes.FLOAT32


registry.add(
    "_FloatPow(a, b) -> y",
    pointwise=Pointwise("pow(a, b)", compute=_power_type, result=_first),
    host=_with(np.power),
)
registry.add(
    "_IntegerPow(a, b) -> y",
    pointwise=Pointwise(
        "integer_power(a, b)", "integer_power(a, b)", compute=_first, result=_first, helpers=("power",)
    ),
    host=_with(lambda a, b: np.power(a, np.maximum(b, 0).astype(a.dtype))),
)

_MODULO = {
    0: Pointwise("float_modulo(a, b)", "integer_modulo(a, b)", helpers=("modulo",)),
    1: Pointwise("fmod(a, b)", "integer_remainder(a, b)", helpers=("modulo",)),
}
registry.add(
    "Mod(a, b; fmod: int = 0) -> y",
    expand=lambda call, build: [build("_Fmod" if call.a.fmod else "_Modulo", *call.inputs)],
)
registry.add("_Modulo(a, b) -> y", pointwise=_MODULO[0], host=_with(np.mod))
registry.add("_Fmod(a, b) -> y", pointwise=_MODULO[1], host=_with(np.fmod))


def _clip_expand(call: Call, build: Builder) -> list[Value]:
    """One bound at a time; NaN stays NaN, and a minimum above the maximum gives the maximum."""
    y = call.present[0]
    info = dtypes.data_type(y.dtype)
    for operator, bound in (("_AtLeast", call.a.min), ("_AtMost", call.a.max)):
        if bound is not None:
            limit = bound if info.kind == "f" else int(min(max(bound, info.lowest), info.highest))
            y = build(operator, y, bound=limit)
    return [build("Identity", y)] if y is call.present[0] else [y]


registry.add("Clip(x; min: number?, max: number?) -> y", expand=_clip_expand)
registry.add(
    "_AtLeast(x; bound: number) -> y",
    pointwise=Pointwise("(x < bound ? bound : x)", parameters=("bound",)),
    host=lambda call: [np.maximum(call.present[0].host, call.a.bound)],
)
registry.add(
    "_AtMost(x; bound: number) -> y",
    pointwise=Pointwise("(x > bound ? bound : x)", parameters=("bound",)),
    host=lambda call: [np.minimum(call.present[0].host, call.a.bound)],
)


# --- any number of inputs ------------------------------------------------------------------------


def _folded(pair: str) -> Callable[[Call, Builder], list[Value]]:
    """Apply a two-input operator from the first input on."""

    def expand(call: Call, build: Builder) -> list[Value]:
        y, *rest = call.present
        if not rest:
            return [build("Identity", y)]
        for x in rest:
            y = build(pair, y, x)
        return [y]

    return expand


def _mean(call: Call, build: Builder) -> list[Value]:
    total = _folded("Add")(call, build)[0]
    return [build("Div", total, build.constant(len(call.present), total.dtype))]


_EXTREMES = {
    "_Max2": (Pointwise("maximum(a, b)", "(a > b ? a : b)", helpers=("extremes",)), np.maximum),
    "_Min2": (Pointwise("minimum(a, b)", "(a < b ? a : b)", helpers=("extremes",)), np.minimum),
}
for _name, (_pair, _function) in _EXTREMES.items():
    registry.add(f"{_name}(a, b) -> y", pointwise=_pair, host=_with(_function))
registry.add("Max(xs...) -> y", expand=_folded("_Max2"))
registry.add("Min(xs...) -> y", expand=_folded("_Min2"))
registry.add("Sum(xs...) -> y", expand=_folded("Add"))
registry.add("Mean(xs...) -> y", expand=_mean)


# --- the rest ------------------------------------------------------------------------------------

registry.add(
    "Identity(x) -> y",
    infer=lambda call: [Value(call.present[0].dtype, call.present[0].shape)],
    view=True,
    host=lambda call: [call.present[0].host],
)


def _add_bias(call: Call, build: Builder) -> list[Value]:
    """SINGA's AddBias: axis 0 adds a value to each column of a matrix, axis 1 to each row."""
    x, bias = call.present
    if call.a.axis not in (0, 1):
        raise call.fail(f"axis is {call.a.axis}; it must be 0 (a value for each column) or 1 (for each row)")
    shape = (-1,) if call.a.axis == 0 else (-1, 1)
    return [build("Add", x, bias if bias.shape == shape else build("Reshape", bias, shape=shape))]


registry.add("AddBias(x, b; axis: int = 0) -> y", expand=_add_bias)
