"""Operators that move elements from where they are to where they go: slices, joins, transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..operator import Call, registry
from ..value import Value
from .shape import content, first
from .strided import Dim, Layout, is_copy, move, simplify, strides

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder


# --- the order of axes ---------------------------------------------------------------------------


def _order(call: Call) -> tuple[int, ...]:
    x = first(call)
    if call.a.perm is None:
        return tuple(reversed(range(x.rank)))
    order = tuple(call.axis(axis, x.rank) for axis in call.a.perm)
    if sorted(order) != list(range(x.rank)):
        raise call.fail(f"perm {list(call.a.perm)} is no order of {x.rank} axes")
    return order


def _infer_transpose(call: Call) -> list[Value]:
    x = first(call)
    return [Value(x.dtype, tuple(x.shape[axis] for axis in _order(call)))]


def _lower_transpose(call: Call, emit: Emit) -> None:
    permute(emit, first(call), call.outputs[0], first(call).shape, _order(call))


def permute(emit: Emit, x: Value, y: Value, shape: Sequence[int], order: Sequence[int]) -> None:
    """y = x, read as ``shape``, with its axes in another order (no move where that changes nothing)."""
    steps, result = strides(shape), [shape[axis] for axis in order]
    dims = zip(result, (steps[axis] for axis in order), strides(result), strict=True)
    layout = Layout(tuple(Dim(*dim) for dim in dims))
    if is_copy(simplify(layout)) and y.storage is None:
        emit.alias(y, x)
    else:
        move(emit, x, y, layout)


registry.add(
    "Transpose(x; perm: ints?) -> y",
    infer=_infer_transpose,
    lower=_lower_transpose,
    host=lambda call: [content(call.inputs[0]).transpose(_order(call))],
)


def _blocks(call: Call) -> tuple[int, ...]:
    """N, C, H, W and the block size of a depth to space or the reverse."""
    x, size = first(call), call.a.blocksize
    if x.rank != 4:
        raise call.fail(f"input has rank {x.rank}; an image [N, C, H, W] is wanted")
    if size < 1:
        raise call.fail(f"blocksize is {size}; it must be positive")
    if call.a.mode not in ("DCR", "CRD"):
        raise call.fail(f"mode is {call.a.mode!r}; it must be DCR or CRD")
    return (*x.shape, size)


def _infer_depth_to_space(call: Call) -> list[Value]:
    n, c, h, w, b = _blocks(call)
    if c % (b * b):
        raise call.fail(f"{c} channels do not divide by blocksize {b} squared")
    return [Value(first(call).dtype, (n, c // (b * b), h * b, w * b))]


def _lower_depth_to_space(call: Call, emit: Emit) -> None:
    n, c, h, w, b = _blocks(call)
    rest = c // (b * b)
    if call.a.mode == "DCR":
        permute(emit, first(call), call.outputs[0], (n, b, b, rest, h, w), (0, 3, 4, 1, 5, 2))
    else:
        permute(emit, first(call), call.outputs[0], (n, rest, b, b, h, w), (0, 1, 4, 2, 5, 3))


def _infer_space_to_depth(call: Call) -> list[Value]:
    n, c, h, w, b = _blocks(call)
    if h % b or w % b:
        raise call.fail(f"height {h} and width {w} do not divide by blocksize {b}")
    return [Value(first(call).dtype, (n, c * b * b, h // b, w // b))]


def _lower_space_to_depth(call: Call, emit: Emit) -> None:
    n, c, h, w, b = _blocks(call)
    order = (0, 3, 5, 1, 2, 4) if call.a.mode == "DCR" else (0, 1, 3, 5, 2, 4)
    permute(emit, first(call), call.outputs[0], (n, c, h // b, b, w // b, b), order)


registry.add(
    "DepthToSpace(x; blocksize: int, mode: string = 'DCR') -> y",
    infer=_infer_depth_to_space,
    lower=_lower_depth_to_space,
)
registry.add(
    "SpaceToDepth(x; blocksize: int, mode: string = 'DCR') -> y",
    infer=_infer_space_to_depth,
    lower=_lower_space_to_depth,
)


# --- parts ---------------------------------------------------------------------------------------


def _ranges(call: Call) -> list[range]:
    """The places that a slice takes on each axis."""
    x, a = first(call), call.a
    axes = a.axes if a.axes is not None else tuple(range(len(a.starts)))
    steps = a.steps if a.steps is not None else (1,) * len(a.starts)
    if not len(a.starts) == len(a.ends) == len(axes) == len(steps):
        lengths = f"{len(a.starts)} starts, {len(a.ends)} ends, {len(axes)} axes, {len(steps)} steps"
        raise call.fail(f"{lengths}: there must be as many of each")
    ranges = [range(size) for size in x.shape]
    for axis, start, end, step in zip(axes, a.starts, a.ends, steps, strict=True):
        if step == 0:
            raise call.fail(f"the step of axis {axis} is 0")
        axis = call.axis(axis, x.rank)
        ranges[axis] = _places(x.shape[axis], start, end, step)
    return ranges


def _places(size: int, start: int, end: int, step: int) -> range:
    """One axis: negative numbers count from the end, ones beyond it are clamped."""
    start, end = (place + size if place < 0 else place for place in (start, end))
    low, high = (0, size) if step > 0 else (-1, size - 1)
    return range(min(max(start, low), high), min(max(end, low), high), step)


def _infer_slice(call: Call) -> list[Value]:
    return [Value(first(call).dtype, tuple(len(places) for places in _ranges(call)))]


def _lower_slice(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    ranges, steps = _ranges(call), strides(x.shape)
    start = sum(places.start * step for places, step in zip(ranges, steps, strict=True))
    taken = [places.step * step for places, step in zip(ranges, steps, strict=True)]
    dims = tuple(Dim(*dim) for dim in zip(y.shape, taken, strides(y.shape), strict=True))
    move(emit, x, y, Layout(dims, start))


def _host_slice(call: Call) -> list[np.ndarray]:
    array = content(call.inputs[0])
    for axis, places in enumerate(_ranges(call)):
        array = array.take(np.array(places, np.int64), axis)
    return [array]


registry.add(
    "Slice(x; starts: ints, ends: ints, axes: ints?, steps: ints?) -> y",
    infer=_infer_slice,
    lower=_lower_slice,
    host=_host_slice,
)


def _parts(call: Call) -> tuple[int, list[int]]:
    """The axis of a split and the size of each part."""
    x, wanted = first(call), len(call.wanted)
    axis = call.axis(call.a.axis, x.rank)
    size = x.shape[axis]
    if call.a.parts is not None:
        parts = list(call.a.parts)
        if sum(parts) != size or min(parts, default=0) < 0:
            raise call.fail(f"parts {parts} do not make up axis {axis} of size {size}")
    else:
        count = call.a.num_output
        if count is None or count < 1:
            raise call.fail(f"num_output is {count}; without parts it must be given and positive")
        each = -(-size // count)
        parts = [max(min(each, size - number * each), 0) for number in range(count)]
    if len(parts) < wanted:
        raise call.fail(f"there are {wanted} outputs for {len(parts)} parts")
    return axis, parts


def _infer_split(call: Call) -> list[Value]:
    x = first(call)
    axis, parts = _parts(call)
    return [Value(x.dtype, (*x.shape[:axis], part, *x.shape[axis + 1 :])) for part in parts]


def _lower_split(call: Call, emit: Emit) -> None:
    x, start = first(call), 0
    axis, _ = _parts(call)
    step = strides(x.shape)
    for place, y in enumerate(call.outputs):
        if place < len(call.wanted) and call.wanted[place]:
            dims = tuple(Dim(*dim) for dim in zip(y.shape, step, strides(y.shape), strict=True))
            move(emit, x, y, Layout(dims, start))
        start += y.shape[axis] * step[axis]


def _host_split(call: Call) -> list[np.ndarray]:
    axis, parts = _parts(call)
    return np.split(content(call.inputs[0]), np.cumsum(parts)[:-1], axis)


registry.add(
    "Split(x; axis: int = 0, parts: ints?, num_output: int?) -> ys...",
    infer=_infer_split,
    lower=_lower_split,
    host=_host_split,
)


# --- joins and repetitions -----------------------------------------------------------------------


def _infer_concat(call: Call) -> list[Value]:
    head, *rest = call.present
    axis = call.axis(call.a.axis, head.rank)
    for x in rest:
        if x.dtype != head.dtype:
            raise call.fail(f"inputs are {head.dtype.name} and {x.dtype.name}; one type is wanted")
        same = [a == b for a, b in zip(x.shape, head.shape, strict=False)]
        if x.rank != head.rank or not all(same[:axis] + same[axis + 1 :]):
            raise call.fail(f"{list(head.shape)} and {list(x.shape)} differ in more than axis {axis}")
    total = sum(x.shape[axis] for x in call.present)
    return [Value(head.dtype, (*head.shape[:axis], total, *head.shape[axis + 1 :]))]


def _lower_concat(call: Call, emit: Emit) -> None:
    y, start = call.outputs[0], 0
    axis = call.axis(call.a.axis, y.rank)
    step = strides(y.shape)
    for x in call.present:
        dims = tuple(Dim(*dim) for dim in zip(x.shape, strides(x.shape), step, strict=True))
        move(emit, x, y, Layout(dims, 0, start))
        start += x.shape[axis] * step[axis]


registry.add(
    "Concat(xs...; axis: int = 0) -> y",
    infer=_infer_concat,
    lower=_lower_concat,
    host=lambda call: [np.concatenate([content(x) for x in call.present], call.a.axis)],
)


def _infer_tile(call: Call) -> list[Value]:
    x, repeats = first(call), call.a.repeats
    if len(repeats) != x.rank or min(repeats, default=0) < 0:
        raise call.fail(f"repeats {list(repeats)}: {x.rank} numbers, none negative, are wanted")
    return [Value(x.dtype, tuple(size * times for size, times in zip(x.shape, repeats, strict=True)))]


def _lower_tile(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    dims: list[Dim] = []
    steps = zip(strides(x.shape), strides(y.shape), strict=True)
    for size, times, (step, to) in zip(x.shape, call.a.repeats, steps, strict=True):
        dims += [Dim(times, 0, size * to), Dim(size, step, to)]
    move(emit, x, y, Layout(tuple(dims)))


registry.add(
    "Tile(x; repeats: ints) -> y",
    infer=_infer_tile,
    lower=_lower_tile,
    host=lambda call: [np.tile(content(call.inputs[0]), call.a.repeats)],
)


def _expand_crop(call: Call, build: Builder) -> Sequence[Value]:
    """A slice about the center, then padding about it."""
    x, a = first(call), call.a
    axes = [call.axis(axis, x.rank) for axis in (a.axes if a.axes is not None else range(x.rank))]
    if len(axes) != len(a.shape):
        raise call.fail(f"shape {list(a.shape)} has not one size for each of {len(axes)} axes")
    starts, sizes, pads = [], [], [0] * (2 * x.rank)
    for axis, wanted in zip(axes, a.shape, strict=True):
        over = x.shape[axis] - wanted
        starts.append(max(over, 0) // 2)
        sizes.append(min(x.shape[axis], wanted))
        pads[axis], pads[x.rank + axis] = max(-over, 0) // 2, max(-over, 0) - max(-over, 0) // 2
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    part = build("Slice", x, starts=starts, ends=ends, axes=axes)
    return [build("Pad", part, pads=pads) if any(pads) else part]


registry.add("CenterCropPad(x; shape: ints, axes: ints?) -> y", expand=_expand_crop)


def _expand_compress(call: Call, build: Builder) -> Sequence[Value]:
    """Rows at the places where the condition holds; the condition may be shorter than the axis."""
    x, condition = first(call), call.inputs[1]
    assert condition is not None
    if condition.rank != 1:
        raise call.fail(f"condition has shape {list(condition.shape)}; one dimension is wanted")
    axis = call.a.axis
    if axis is None:
        x, axis = build("Reshape", x, shape=(x.size,)), 0
    size = x.shape[call.axis(axis, x.rank)]
    if condition.size > size:
        condition = build("Slice", condition, starts=(0,), ends=(size,))
    places = build("NonZero", condition)
    return [build("Gather", x, build("Reshape", places, shape=(math.prod(places.shape),)), axis=axis)]


registry.add("Compress(x, condition; axis: int?) -> y", expand=_expand_compress)
