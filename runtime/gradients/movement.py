"""Gradients of operators that move elements: each goes back where it came from."""

from __future__ import annotations

import numpy as np

from ..tensor import Tensor
from .gradient import Applied, gradient, indices, op, sum_to


@gradient("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def _view(call: Applied, dy: Tensor) -> list[Tensor | None]:
    return [op("Reshape", dy, shape=call.x.shape)]


@gradient("Transpose")
def _transpose(call: Applied, dy: Tensor) -> list[Tensor]:
    order = call.a.perm or tuple(reversed(range(call.x.ndim())))
    return [op("Transpose", dy, perm=tuple(int(axis) for axis in np.argsort(order)))]


@gradient("Expand")
def _expand(call: Applied, dy: Tensor) -> list[Tensor]:
    return [sum_to(dy, call.x)]


@gradient("Tile")
def _tile(call: Applied, dy: Tensor) -> list[Tensor]:
    shape: list[int] = []
    for repeats, size in zip(call.a.repeats, call.x.shape, strict=True):
        shape += [int(repeats), size]
    copies = op("Reshape", dy, shape=tuple(shape))
    summed = op("ReduceSum", copies, axes=tuple(range(0, len(shape), 2)), keepdims=0)
    return [op("Reshape", summed, shape=call.x.shape)]


def _part(dy: Tensor, axis: int, start: int, size: int) -> Tensor:
    return op("Slice", dy, starts=(start,), ends=(start + size,), axes=(axis,), steps=(1,))


@gradient("Concat")
def _concat(call: Applied, dy: Tensor) -> list[Tensor]:
    axis, start, parts = call.a.axis % dy.ndim(), 0, []
    for x in call.inputs:
        assert x is not None
        parts.append(_part(dy, axis, start, x.shape[axis]))
        start += x.shape[axis]
    return parts


@gradient("Split")
def _split(call: Applied, *dys: Tensor | None) -> list[Tensor]:
    given = [dy if dy is not None else y * 0.0 for dy, y in zip(dys, call.outputs, strict=True)]
    return [op("Concat", *given, axis=call.a.axis)]


@gradient("Slice")
def _slice(call: Applied, dy: Tensor) -> list[Tensor]:
    """Scatter along each sliced axis into zeros."""
    x = call.x
    axes = call.a.axes if call.a.axes is not None else tuple(range(len(call.a.starts)))
    steps = call.a.steps if call.a.steps is not None else (1,) * len(axes)
    result = dy
    for axis, start, end, step in zip(axes, call.a.starts, call.a.ends, steps, strict=True):
        axis %= x.ndim()
        places = range(
            *slice(int(start), _bound(int(end), x.shape[axis], int(step)), int(step)).indices(x.shape[axis])
        )
        result = _scatter(result, axis, list(places), x.shape[axis])
    return [result]


def _bound(end: int, size: int, step: int) -> int | None:
    """ONNX's end as Python's: one before the beginning, walking backwards, is None there."""
    return None if step < 0 and end < -size else end


def _scatter(values: Tensor, axis: int, places: list[int], size: int) -> Tensor:
    """A tensor of ``size`` along an axis: ``values`` at ``places``, zeros elsewhere."""
    if places == list(range(places[0], places[0] + len(places))) if places else False:
        pads = [0] * (2 * values.ndim())
        pads[axis], pads[values.ndim() + axis] = places[0], size - places[-1] - 1
        return op("Pad", values, mode="constant", pads=tuple(pads))
    back = np.full(size, len(places))
    back[places] = np.arange(len(places))
    one_more = [0] * (2 * values.ndim())
    one_more[values.ndim() + axis] = 1
    padded = op("Pad", values, mode="constant", pads=tuple(one_more))
    return op("Gather", padded, indices(back, values), axis=axis)


@gradient("Pad")
def _pad(call: Applied, dy: Tensor) -> list[Tensor]:
    """Only constant padding: the borders have no source."""
    from ..errors import OperatorError

    if call.a.mode != "constant":
        raise OperatorError(f"Pad in mode {call.a.mode!r} has no gradient; only constant padding has one")
    rank = call.x.ndim()
    begin, end = [0] * rank, [0] * rank
    axes = call.a.axes if getattr(call.a, "axes", None) is not None else range(rank)
    for place, axis in enumerate(axes):
        begin[axis % rank] = int(call.a.pads[place])
        end[axis % rank] = int(call.a.pads[len(call.a.pads) // 2 + place])
    starts = [max(b, 0) for b in begin]
    ends = [size - max(e, 0) for size, e in zip(dy.shape, end, strict=True)]
    kept = op("Slice", dy, starts=tuple(starts), ends=tuple(ends), axes=tuple(range(rank)), steps=(1,) * rank)
    back = [max(-b, 0) for b in begin] + [max(-e, 0) for e in end]
    return [op("Pad", kept, mode="constant", pads=tuple(back)) if any(back) else kept]


@gradient("Gather")
def _gather(call: Applied, dy: Tensor) -> list[Tensor | None]:
    """Rows add up where an index occurs more than once."""
    x, index = call.inputs
    assert x is not None and index is not None
    axis = call.a.axis % x.ndim()
    count = index.size()
    outer, inner = x.shape[:axis], x.shape[axis + 1 :]
    rows = op("Reshape", dy, shape=(*outer, count, *inner))
    order = (axis, *range(axis), *range(axis + 1, x.ndim()))
    first = op("Transpose", rows, perm=order) if axis else rows
    zeros = op("Expand", first.zero(), shape=(x.shape[axis], *outer, *inner))
    flat = op("Reshape", index, shape=(count, 1))
    flat = flat if flat.data_type.name == "int64" else op("Cast", flat, to=np.dtype(np.int64))
    summed = op("ScatterND", zeros, flat, first, reduction="add")
    back = tuple(int(a) for a in np.argsort(order))
    return [op("Transpose", summed, perm=back) if axis else summed, None]


@gradient("Embedding")
def _embedding(call: Applied, dy: Tensor) -> list[Tensor | None]:
    x, w = call.inputs
    assert x is not None and w is not None
    flat = op("Cast", op("Reshape", x, shape=(x.size(), 1)), to=np.dtype(np.int64))
    zeros = op("Expand", dy.zero(), shape=w.shape)
    return [
        None,
        op("ScatterND", zeros, flat, op("Reshape", dy, shape=(x.size(), w.shape[1])), reduction="add"),
    ]


@gradient("GatherElements")
def _gather_elements(call: Applied, dy: Tensor) -> list[Tensor | None]:
    x, index = call.inputs
    assert x is not None and index is not None
    zeros = op("Expand", dy.zero(), shape=x.shape)
    return [op("ScatterElements", zeros, index, dy, axis=call.a.axis, reduction="add"), None]


@gradient("ScatterElements")
def _scatter_elements(call: Applied, dy: Tensor) -> list[Tensor | None]:
    """Without reduction: what was overwritten gets no gradient; with "add": all of it."""
    x, index, updates = call.inputs
    assert x is not None and index is not None and updates is not None
    taken = op("GatherElements", dy, index, axis=call.a.axis)
    if call.a.reduction == "add":
        return [dy, None, taken]
    zeros = op("Expand", dy.zero(), shape=updates.shape)
    return [op("ScatterElements", dy, index, zeros, axis=call.a.axis), None, taken]


@gradient("DepthToSpace")
def _depth_to_space(call: Applied, dy: Tensor) -> list[Tensor]:
    n, c, h, w = call.x.shape
    b = call.a.blocksize
    split = op("Reshape", dy, shape=(n, c // (b * b), h, b, w, b))
    order = (0, 3, 5, 1, 2, 4) if call.a.mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return [op("Reshape", op("Transpose", split, perm=order), shape=call.x.shape)]


@gradient("SpaceToDepth")
def _space_to_depth(call: Applied, dy: Tensor) -> list[Tensor]:
    return [op("DepthToSpace", dy, blocksize=call.a.blocksize, mode="DCR")]


@gradient("Trilu")
def _trilu(call: Applied, dy: Tensor) -> list[Tensor | None]:
    return [op("Trilu", dy, *call.inputs[1:], upper=call.a.upper), *([None] * (len(call.inputs) - 1))]
