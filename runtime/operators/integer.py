"""Integer and quantized products: exact sums in 32 bits, then, where quantized, scale and round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT32, data_type, is_float
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder

FLOAT32 = np.dtype(np.float32)


def _along(build: Builder, value: Value, rank: int, axis: int) -> Value:
    """A vector shaped to broadcast along one axis of ``rank``; anything else as it is."""
    if value.rank != 1 or value.size == 1 or axis == rank - 1:
        return value
    shape = tuple(value.size if place == axis else 1 for place in range(rank))
    return build("Reshape", value, shape=shape)


def _centred(build: Builder, x: Value, zero: Value | None, axis: int, wide: np.dtype = INT32) -> Value:
    """``x`` less its zero point, in the type that it is summed in."""
    whole = build("Cast", x, to=wide)
    if zero is None:
        return whole
    return build("Sub", whole, _along(build, build("Cast", zero, to=wide), x.rank, axis))


def _wide(x: Value) -> np.dtype:
    """What products of a quantized type are summed in: float32 for the 8-bit floats."""
    return FLOAT32 if is_float(x.dtype) else INT32


def _requantized(
    build: Builder, total: Value, scale: Value, y_scale: Value, y_zero: Value, bias: Value | None = None
) -> Value:
    """``round(total * scale / y_scale) + y_zero`` in the type of ``y_zero``, saturated."""
    factor = build("Div", build("Cast", scale, to=FLOAT32), build("Cast", y_scale, to=FLOAT32))
    scaled = build("Mul", build("Cast", total, to=FLOAT32), factor)
    zero = build("Cast", y_zero, to=FLOAT32)
    if is_float(y_zero.dtype):
        return build("Cast", build("Add", scaled, zero), to=y_zero.dtype)
    shifted = build("Add", build("Rounde", scaled), zero)
    info = data_type(y_zero.dtype)
    return build("Cast", build("Clip", shifted, min=info.lowest, max=info.highest), to=y_zero.dtype)


def _matmul_integer(call: Call, build: Builder) -> list[Value]:
    a, b, a_zero, b_zero = call.inputs
    assert a is not None and b is not None
    left = _centred(build, a, a_zero, a.rank - 2)
    return [build("Matmul", left, _centred(build, b, b_zero, b.rank - 1))]


def _qlinear_matmul(call: Call, build: Builder) -> list[Value]:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = call.present
    wide = _wide(a)
    left = _centred(build, a, a_zero, a.rank - 2, wide)
    total = build("Matmul", left, _centred(build, b, b_zero, b.rank - 1, wide))
    scale = build("Mul", _along(build, a_scale, a.rank, a.rank - 2), b_scale)
    return [_requantized(build, total, scale, _along(build, y_scale, a.rank, a.rank - 2), y_zero)]


_ATTRIBUTES = (
    "kernel_shape: ints?, strides: ints?, padding: ints?, odd_padding: ints?, dilation: ints?, "
    "group: int = 1, pad_mode: string = 'NOTSET'"
)


def _convolution(call: Call, build: Builder, x: Value, w: Value, bias: Value | None) -> Value:
    return build("_Conv2d", x, w, bias, **vars(call.a))


def _conv_integer(call: Call, build: Builder) -> list[Value]:
    x, w, x_zero, w_zero = call.inputs
    assert x is not None and w is not None
    return [_convolution(call, build, _centred(build, x, x_zero, 0), _centred(build, w, w_zero, 0), None)]


def _qlinear_conv(call: Call, build: Builder) -> list[Value]:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias = call.inputs
    assert x and w and x_scale and w_scale and y_scale and y_zero
    total = _convolution(call, build, _centred(build, x, x_zero, 0), _centred(build, w, w_zero, 0), bias)
    scale = build("Mul", x_scale, _along(build, w_scale, x.rank, 1))
    return [_requantized(build, total, scale, y_scale, y_zero)]


registry.add("MatMulInteger(a, b, a_zero_point?, b_zero_point?) -> y", expand=_matmul_integer)
registry.add(
    "QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point) -> y",
    expand=_qlinear_matmul,
)
registry.add(f"ConvInteger(x, w, x_zero_point?, w_zero_point?; {_ATTRIBUTES}) -> y", expand=_conv_integer)
registry.add(
    "QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B?; "
    f"{_ATTRIBUTES}) -> y",
    expand=_qlinear_conv,
)
