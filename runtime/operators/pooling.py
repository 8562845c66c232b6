"""Pooling: _Pooling2d (SINGA's maximum and average, here in one to three dimensions), LpPool, the
global pools, MaxUnpool."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT64, data_type, is_float
from ..operator import Call, registry
from ..value import Value
from .linear import compute_type
from .window import Window, per_axis, window

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

RANK = 3
"""Spatial axes that the kernels take; fewer get axes of size 1 in front."""

MAXIMUM, AVERAGE, NORM = range(3)


def _places(call: Call) -> Window:
    x = call.present[0]
    if not 3 <= x.rank <= 2 + RANK:
        raise call.fail(f"x {list(x.shape)} must have 3 to {2 + RANK} axes: images, channels, places")
    kernel = call.a.kernel_shape
    if len(kernel) != x.rank - 2:
        raise call.fail(f"kernel_shape {list(kernel)} does not fit x {list(x.shape)}")
    return window(call, x.shape[2:], kernel, bool(call.a.ceil_mode))


def _infer(call: Call) -> list[Value]:
    x = call.present[0]
    shape = (*x.shape[:2], *_places(call).output)
    outputs = [Value(x.dtype, shape)]
    if len(call.operator.signature.outputs) > 1:
        outputs.append(Value(INT64, shape))
    return outputs


def _lower(call: Call, emit: Emit) -> None:
    x, y = call.present[0], call.outputs[0]
    if call.a.is_max and len(call.wanted) > 1 and call.wanted[1]:
        _lower_indices(call, emit)
    elif not call.a.is_max and not is_float(x.dtype):
        raise call.fail(f"an average of {x.dtype.name} is not defined")
    else:
        _pool(call, emit, x, y, MAXIMUM if call.a.is_max else AVERAGE, 1.0)


def _pool(call: Call, emit: Emit, x: Value, y: Value, mode: int, power: float) -> None:
    """Launch the kernel that works by rows."""
    places = _places(call).at_rank(RANK)
    compute = x.dtype if mode == MAXIMUM and not is_float(x.dtype) else compute_type(x.dtype)
    sizes, output = _spatial(x), _spatial(y)
    rows = math.prod(y.shape[:2]) * output[0] * output[1]
    span = max(1, min(rows // 64, 4096 // max(output[2], 1)))
    defines: dict[str, object] = {"MODE": mode}
    if mode == AVERAGE and call.a.count_include_pad:
        defines["COUNT_PAD"] = 1
    lowest = -math.inf if is_float(compute) else data_type(compute).lowest
    emit.launch(
        "pooling.cl",
        "pool",
        [
            *(x, y, rows, *sizes, *output, *places.kernel, *places.strides, *places.dilation),
            *(*places.begin, *places.end, span, compute.type(power), compute.type(lowest)),
        ],
        (-(-rows // span),) if y.size else (0,),
        (1,),
        {"X": x.dtype, "Y": y.dtype, "R": compute},
        defines,
    )


def _lower_indices(call: Call, emit: Emit) -> None:
    x, (y, indices) = call.present[0], call.outputs
    places = _places(call).at_rank(RANK)
    emit.map(
        "pooling_indices.cl",
        "pool_indices",
        y.size,
        [
            *(x, y, indices, *_spatial(x), *_spatial(y)),
            *(*places.kernel, *places.strides, *places.dilation, *places.begin),
        ],
        {"X": x.dtype},
        {"COLUMN_MAJOR": 1} if call.a.storage_order else {},
    )


def _spatial(value: Value) -> tuple[int, ...]:
    """The sizes after images and channels, three of them."""
    return (1,) * (2 + RANK - value.rank) + value.shape[2:]


_WINDOW = (
    "kernel_shape: ints, strides: ints?, padding: ints?, odd_padding: ints?, dilation: ints?, "
    "pad_mode: string = 'NOTSET', ceil_mode: int = 0"
)

registry.add(
    f"_Pooling2d(x; is_max: bool = True, {_WINDOW}, count_include_pad: int = 0, storage_order: int = 0)"
    " -> y, indices?",
    infer=_infer,
    lower=_lower,
)
registry.add(
    f"LpPool(x; {_WINDOW}, p: int = 2) -> y",
    infer=_infer,
    lower=lambda call, emit: _pool(call, emit, call.present[0], call.outputs[0], NORM, call.a.p),
)


# --- all of the spatial axes at once -------------------------------------------------------------


def _spatial_axes(call: Call, last: bool = False) -> tuple[int, ...]:
    rank = call.present[0].rank
    if rank < 3:
        raise call.fail(f"x {list(call.present[0].shape)} must have 3 axes or more")
    return tuple(range(1, rank - 1)) if last else tuple(range(2, rank))


def _global_average(call: Call, build: Builder) -> list[Value]:
    formats = {"channels_first": False, "channels_last": True}
    if call.a.data_format not in formats:
        raise call.fail(f"data_format is {call.a.data_format!r}; it must be one of {', '.join(formats)}")
    axes = _spatial_axes(call, formats[call.a.data_format])
    return [build("ReduceMean", call.inputs[0], axes=axes, keepdims=1)]


def _global_maximum(call: Call, build: Builder) -> list[Value]:
    return [build("ReduceMax", call.inputs[0], axes=_spatial_axes(call), keepdims=1)]


def _global_norm(call: Call, build: Builder) -> list[Value]:
    x, axes, p = call.present[0], _spatial_axes(call), call.a.p
    if p in (1, 2):
        return [build(f"ReduceL{p}", x, axes=axes, keepdims=1)]
    powers = build("Pow", build("Abs", x), build.constant(p, x.dtype))
    total = build("ReduceSum", powers, axes=axes, keepdims=1)
    return [build("Pow", total, build.constant(1 / p, x.dtype))]


registry.add("GlobalAveragePool(x; data_format: string = 'channels_first') -> y", expand=_global_average)
registry.add("GlobalMaxPool(x) -> y", expand=_global_maximum)
registry.add("GlobalLpPool(x; p: int = 2) -> y", expand=_global_norm)


# --- MaxUnpool -----------------------------------------------------------------------------------


def _unpooled(call: Call) -> tuple[int, ...]:
    """The shape that the indices count in: what was pooled, as far as window and stride tell."""
    x, kernel = call.present[0], call.a.kernel_shape
    rank = x.rank - 2
    strides, pads = per_axis(call, "strides", rank, 1), call.a.pads or (0,) * (2 * rank)
    if len(kernel) != rank or len(pads) != 2 * rank:
        raise call.fail(f"kernel_shape {list(kernel)} and pads {list(pads)} do not fit x {list(x.shape)}")
    spatial = [
        (x.shape[2 + axis] - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + rank]
        for axis in range(rank)
    ]
    return (*x.shape[:2], *spatial)


def _unpool_infer(call: Call) -> list[Value]:
    x, indices = call.present
    if indices.shape != x.shape:
        raise call.fail(f"indices {list(indices.shape)} must have the shape of x, {list(x.shape)}")
    shape = call.a.output_shape or _unpooled(call)
    if len(shape) != x.rank:
        raise call.fail(f"output_shape {list(shape)} does not fit x {list(x.shape)}")
    return [Value(x.dtype, shape)]


def _unpool_lower(call: Call, emit: Emit) -> None:
    (x, indices), y = call.present, call.outputs[0]
    counted = _unpooled(call)
    if any(c > s for c, s in zip(counted, y.shape, strict=True)):
        counted = y.shape
    strides = [math.prod(y.shape[axis + 1 :]) for axis in range(y.rank)]
    tables = [emit.constant(np.array(table, np.int32)) for table in (counted, strides)]
    emit.fill(y, 0)
    emit.map(
        "pooling_indices.cl",
        "unpool",
        x.size,
        [x, indices, y, x.rank, *tables, np.int64(math.prod(counted))],
        {"X": x.dtype},
    )


registry.add(
    "MaxUnpool(x, indices; kernel_shape: ints, strides: ints?, pads: ints?, output_shape: ints?) -> y",
    infer=_unpool_infer,
    lower=_unpool_lower,
)
