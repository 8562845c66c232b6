"""Operators whose result's size depends on the data: counted on the device, read, then computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT32, INT64
from ..operator import Call, registry
from ..value import Value
from .shape import content, first
from .strided import int16

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

_CHUNKS = 256
_SHORTEST = 1024
"""Elements that one work-item counts at least."""


def _chunk(size: int) -> tuple[int, int]:
    """How many elements a chunk has, and how many chunks there are."""
    chunk = max(-(-size // _CHUNKS), _SHORTEST)
    return chunk, -(-size // chunk)


def _count(emit: Emit, x: Value, counts: Value, total: Value) -> None:
    """Where the nonzero elements of each chunk begin, and how many there are in all."""
    chunk, chunks = _chunk(x.size)
    defines = {"COUNT": 1}
    emit.map("select.cl", "count_nonzero", chunks, [x, counts, x.size, chunk], {"X": x.dtype}, defines)
    emit.launch("select.cl", "running_sums", [1, counts, total, chunks], (1,), (1,), {"X": x.dtype}, defines)


def _infer_counts(call: Call) -> list[Value]:
    return [Value(INT32, (_chunk(first(call).size)[1],)), Value(INT64, (1,))]


def _host_counts(call: Call) -> list[np.ndarray]:
    x = content(call.inputs[0]).reshape(-1)
    chunk, chunks = _chunk(x.size)
    counts = [np.count_nonzero(x[c * chunk : (c + 1) * chunk]) for c in range(chunks)]
    return [np.cumsum([0, *counts])[:chunks], np.array([sum(counts)])]


def _lower_places(call: Call, emit: Emit) -> None:
    x, starts, y = first(call), call.inputs[1], call.outputs[0]
    assert starts is not None
    if y.size:
        chunk, chunks = _chunk(x.size)
        arguments = [x, starts, y, x.size, chunk, call.a.count, x.rank, int16(x.shape)]
        emit.map("select.cl", "nonzero_places", chunks, arguments, {"X": x.dtype}, {"PLACES": 1})


def _host_places(call: Call) -> list[np.ndarray]:
    x = content(call.inputs[0])
    return [np.array(np.nonzero(np.atleast_1d(x)))[: x.ndim]]


registry.add(
    "NonZeroCounts(x) -> starts, total",
    infer=_infer_counts,
    lower=lambda call, emit: _count(emit, first(call), *call.outputs),
    host=_host_counts,
)
registry.add(
    "NonZeroPlaces(x, starts; count: int) -> y",
    infer=lambda call: [Value(INT64, (first(call).rank, call.a.count))],
    lower=_lower_places,
    host=_host_places,
)


def _expand_nonzero(call: Call, build: Builder) -> Sequence[Value]:
    x = first(call)
    if x.rank > 16:
        raise call.fail(f"input has rank {x.rank}; at most 16 is known")
    starts, total = build("NonZeroCounts", x)
    return [build("NonZeroPlaces", x, starts, count=int(build.read(total)[0]))]


registry.add("NonZero(x) -> y", expand=_expand_nonzero)


# --- groups of equal rows ------------------------------------------------------------------------


def _rows(x: Value) -> tuple[int, int]:
    return x.shape[0], math.prod(x.shape[1:])


def _lower_sort(call: Call, emit: Emit) -> None:
    """Merge passes between two buffers, the last of which writes the result."""
    x, result = first(call), call.outputs[0]
    count, width = _rows(x)
    if count == 0:
        return
    types, defines = {"X": x.dtype}, {"ROWS": 1}
    passes = max(count - 1, 0).bit_length()
    spare = emit.temporary(INT32, (count,)) if passes else result
    buffers = [result, spare] if passes % 2 == 0 else [spare, result]
    emit.map("select.cl", "count_up", count, [buffers[0]], types, defines)
    for number in range(passes):
        arguments = [x, *buffers, width, 1 << number]
        emit.map("select.cl", "merge_runs", count, arguments, types, defines)
        buffers.reverse()


registry.add(
    "SortRows(x) -> order",
    infer=lambda call: [Value(INT32, first(call).shape[:1])],
    lower=_lower_sort,
)


def _sums(emit: Emit, flags: Value, sums: Value, total: Value) -> None:
    """How many flags are set up to each place, and in all."""
    chunk, chunks = _chunk(flags.size)
    starts = emit.temporary(INT32, (chunks,))
    _count(emit, flags, starts, total)
    arguments = [flags, starts, sums, flags.size, chunk]
    emit.map("select.cl", "inclusive_sums", chunks, arguments, {"X": flags.dtype}, {"PLACES": 1})


def _lower_group(call: Call, emit: Emit) -> None:
    x, order = first(call), call.inputs[1]
    groups, total = call.outputs
    assert order is not None
    count, width = _rows(x)
    flags = emit.temporary(np.uint8, (count,))
    emit.map("select.cl", "mark_groups", count, [x, order, flags, width], {"X": x.dtype}, {"ROWS": 1})
    _sums(emit, flags, groups, total)


registry.add(
    "GroupRows(x, order) -> groups, total",
    infer=lambda call: [Value(INT32, first(call).shape[:1]), Value(INT64, (1,))],
    lower=_lower_group,
)


def _infer_unique_rows(call: Call) -> list[Value]:
    rows = first(call).shape
    return [Value(INT64, (call.a.count,)), Value(INT64, rows), Value(INT64, (call.a.count,))]


def _lower_unique_rows(call: Call, emit: Emit) -> None:
    order, groups = first(call), call.inputs[1]
    assert groups is not None
    count = order.size
    begins, firsts = emit.temporary(INT32, (call.a.count,)), emit.temporary(np.uint8, (count,))
    emit.map("select.cl", "begin_groups", count, [order, groups, begins, firsts])
    ranks = groups
    if not call.a.sorted and count:
        ranks = emit.temporary(INT32, (count,))
        _sums(emit, firsts, ranks, emit.temporary(INT64, (1,)))
    arguments = [order, groups, begins, ranks, *call.outputs, int(bool(call.a.sorted))]
    emit.map("select.cl", "finish_groups", count, arguments)


registry.add(
    "UniqueRows(order, groups; count: int, sorted: int) -> indices, inverse, counts",
    infer=_infer_unique_rows,
    lower=_lower_unique_rows,
)


def _expand_unique(call: Call, build: Builder) -> Sequence[Value]:
    """Rows (slices across the axis, or elements) sorted, grouped, counted, and taken."""
    x, axis = first(call), call.a.axis
    perm: tuple[int, ...] = ()
    if axis is None:
        rows = build("Reshape", x, shape=(x.size, 1))
    else:
        axis = call.axis(axis, x.rank)
        perm = (axis, *range(axis), *range(axis + 1, x.rank))
        rows = build("Transpose", x, perm=perm)
    order = build("SortRows", rows)
    groups, total = build("GroupRows", rows, order)
    count = int(build.read(total)[0])
    indices, inverse, counts = build("UniqueRows", order, groups, count=count, sorted=call.a.sorted)
    y = build("Gather", rows, indices, axis=0)
    if axis is None:
        y = build("Reshape", y, shape=(count,))
    else:
        y = build("Transpose", y, perm=tuple(int(place) for place in np.argsort(perm)))
    return [y, indices, inverse, counts]


registry.add(
    "Unique(x; axis: int?, sorted: int = 1) -> y, indices?, inverse_indices?, counts?", expand=_expand_unique
)
