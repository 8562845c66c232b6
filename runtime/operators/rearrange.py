"""Triangles, reversed sequences, and columns back to images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..operator import Call, registry
from ..value import Value
from .shape import content, first
from .strided import UNITS, int16

if TYPE_CHECKING:
    from ..emit import Emit

_FAR = 1 << 30
"""A diagonal further away than any index."""


def _infer_trilu(call: Call) -> list[Value]:
    x = first(call)
    if x.rank < 2:
        raise call.fail(f"input has rank {x.rank}; matrices are wanted")
    return [Value(x.dtype, x.shape)]


def _lower_trilu(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    k = min(max(call.a.k, -_FAR), _FAR)
    defines = {"TRILU": 1, "T": UNITS[x.dtype.itemsize]}
    arguments = [x, y, *x.shape[-2:], k, int(bool(call.a.upper))]
    emit.map("rearrange.cl", "trilu", y.size, arguments, defines=defines)


registry.add(
    "Trilu(x; k: int = 0, upper: int = 1) -> y",
    infer=_infer_trilu,
    lower=_lower_trilu,
    host=lambda call: [(np.triu if call.a.upper else np.tril)(content(call.inputs[0]), call.a.k)],
)


def _infer_reverse(call: Call) -> list[Value]:
    x, lengths = first(call), call.inputs[1]
    assert lengths is not None
    axes = (call.a.batch_axis, call.a.time_axis)
    if sorted(axes) != [0, 1]:
        raise call.fail(f"batch_axis {axes[0]} and time_axis {axes[1]} must be 0 and 1, or 1 and 0")
    if x.rank < 2 or lengths.shape != (x.shape[axes[0]],):
        raise call.fail(f"sequence_lens {list(lengths.shape)} does not fit an input {list(x.shape)}")
    return [Value(x.dtype, x.shape)]


def _lower_reverse(call: Call, emit: Emit) -> None:
    x, lengths, y = first(call), call.inputs[1], call.outputs[0]
    assert lengths is not None
    times, batches = x.shape[call.a.time_axis], x.shape[call.a.batch_axis]
    arguments = [x, lengths, y, times, batches, math.prod(x.shape[2:]), int(call.a.batch_axis == 0)]
    defines = {"REVERSE": 1, "T": UNITS[x.dtype.itemsize]}
    emit.map("rearrange.cl", "reverse_sequence", y.size, arguments, {"I": lengths.dtype}, defines)


registry.add(
    "ReverseSequence(x, sequence_lens; batch_axis: int = 1, time_axis: int = 0) -> y",
    infer=_infer_reverse,
    lower=_lower_reverse,
)


def _window(call: Call) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, begin pads, dilations and numbers of places of a Col2Im, one an axis."""
    a, rank = call.a, len(call.a.image_shape)
    strides, dilations = list(a.strides or (1,) * rank), list(a.dilations or (1,) * rank)
    pads = list(a.pads or (0,) * (2 * rank))
    if not len(a.block_shape) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise call.fail(f"image_shape {list(a.image_shape)} and the other attributes differ in rank")
    if min(strides + dilations, default=1) < 1:
        raise call.fail(f"strides {strides} and dilations {dilations} must be positive")
    places = []
    for k in range(rank):
        room = a.image_shape[k] + pads[k] + pads[rank + k] - dilations[k] * (a.block_shape[k] - 1) - 1
        places.append(max(room // strides[k] + 1, 0))
    return strides, pads[:rank], dilations, places


def _infer_col2im(call: Call) -> list[Value]:
    x, cells = first(call), math.prod(call.a.block_shape)
    places = _window(call)[3]
    if x.rank != 3 or cells < 1 or x.shape[1] % cells or x.shape[2] != math.prod(places):
        raise call.fail(
            f"input {list(x.shape)} is not [N, C * {cells}, {math.prod(places)}], which "
            f"image_shape {list(call.a.image_shape)} and block_shape {list(call.a.block_shape)} want"
        )
    return [Value(x.dtype, (x.shape[0], x.shape[1] // cells, *call.a.image_shape))]


def _lower_col2im(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    strides, begin, dilations, places = _window(call)
    shapes = [call.a.image_shape, call.a.block_shape, places, strides, begin, dilations]
    arguments = [x, y, *map(int16, shapes), math.prod(call.a.block_shape), math.prod(places)]
    emit.map("rearrange.cl", "columns_to_image", y.size, arguments, {"X": x.dtype}, {"RANK": len(places)})


registry.add(
    "Col2Im(x; image_shape: ints, block_shape: ints, strides: ints?, pads: ints?, dilations: ints?) -> y",
    infer=_infer_col2im,
    lower=_lower_col2im,
)
