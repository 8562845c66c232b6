"""Numbers as small integers or floats times a scale (ONNX QuantizeLinear 25, DequantizeLinear 25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import FLOAT32, INT32, data_type, is_float
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder


def _spread(call: Call, build: Builder, factor: Value, x: Value) -> Value:
    """A scale or zero point so that it broadcasts against x: one for all, one for each place along the
    axis, or one for each block along it."""
    if factor.size == 1 and factor.rank <= 1:
        return build("Reshape", factor, shape=())
    axis = call.axis(call.a.axis, x.rank)
    if factor.rank == 1 and not call.a.block_size:
        if factor.size != x.shape[axis]:
            raise call.fail(f"{factor.size} scales for {x.shape[axis]} places along axis {axis}")
        return build("Reshape", factor, shape=(-1,) + (1,) * (x.rank - axis - 1))
    block = call.a.block_size
    if factor.rank != x.rank or block <= 0 or -(-x.shape[axis] // block) != factor.shape[axis]:
        raise call.fail(
            f"scales {list(factor.shape)} do not fit {list(x.shape)} in blocks of {block} along {axis}"
        )
    before, after = factor.shape[: axis + 1], factor.shape[axis + 1 :]
    repeated = build(
        "Expand", build("Reshape", factor, shape=(*before, 1, *after)), shape=(*before, block, *after)
    )
    whole = build("Reshape", repeated, shape=(*before[:-1], before[-1] * block, *after))
    return build("Slice", whole, starts=(0,), ends=(x.shape[axis],), axes=(axis,), steps=(1,))


def _quantize(call: Call, build: Builder) -> list[Value]:
    x, scale, zero = call.inputs
    assert x is not None and scale is not None
    target = call.a.output_dtype or (zero.dtype if zero is not None else np.dtype(np.uint8))
    precision = call.a.precision or (scale.dtype if is_float(scale.dtype) else FLOAT32)
    divided = build(
        "Div", build("Cast", x, to=precision), build("Cast", _spread(call, build, scale, x), to=precision)
    )
    if is_float(target):
        shifted = divided
        if zero is not None:
            shifted = build("Add", divided, build("Cast", _spread(call, build, zero, x), to=precision))
        return [build("Cast", shifted, to=target, saturate=call.a.saturate)]
    rounded = build("Rounde", build("Cast", divided, to=FLOAT32))
    if zero is not None:
        rounded = build("Add", rounded, build("Cast", _spread(call, build, zero, x), to=FLOAT32))
    info = data_type(target)
    return [build("Cast", build("Clip", rounded, min=float(info.lowest), max=float(info.highest)), to=target)]


registry.add(
    "QuantizeLinear(x, scale, zero_point?; axis: int = 1, saturate: int = 1, block_size: int = 0,"
    " output_dtype: dtype?, precision: dtype?) -> y",
    expand=_quantize,
)


def _dequantize(call: Call, build: Builder) -> list[Value]:
    x, scale, zero = call.inputs
    assert x is not None and scale is not None
    target = call.a.output_dtype or scale.dtype
    wide = FLOAT32 if is_float(x.dtype) else INT32
    value = build("Cast", x, to=wide)
    if zero is not None:
        value = build("Sub", value, build("Cast", _spread(call, build, zero, x), to=wide))
    factor = build("Cast", _spread(call, build, scale, x), to=FLOAT32)
    return [build("Cast", build("Mul", build("Cast", value, to=FLOAT32), factor), to=target)]


registry.add(
    "DequantizeLinear(x, scale, zero_point?; axis: int = 1, block_size: int = 0, output_dtype: dtype?) -> y",
    expand=_dequantize,
)
