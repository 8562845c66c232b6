"""Padding: every mode is a table, for each padded axis, of where each place comes from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import DeviceLimitError
from ..operator import Call, registry
from ..value import Value
from .shape import bits, content, first
from .strided import UNITS, int16, strides

if TYPE_CHECKING:
    from ..emit import Emit

_MODES = ("constant", "reflect", "edge", "wrap")
_RANKS = (0, 1, 2, 3, 5, 8, 15)
_MOST_GROUPS = 128
_GROUP_BYTES = 16 << 10


class Axis(NamedTuple):
    """One axis, or several unpadded ones as one: its size, its stride in the source, and the table
    of where its places come from (None: as they are)."""

    size: int
    stride: int
    table: np.ndarray | None


def _pads(call: Call) -> list[tuple[int, int]]:
    """What to add (or, where negative, take away) at both ends of each axis."""
    x, pads = first(call), call.a.pads
    axes = call.a.axes if call.a.axes is not None else tuple(range(x.rank))
    if len(pads) != 2 * len(axes):
        raise call.fail(f"pads {list(pads)} has not two numbers for each of {len(axes)} axes")
    if call.a.mode not in _MODES:
        raise call.fail(f"mode is {call.a.mode!r}; it must be one of {', '.join(_MODES)}")
    both = [(0, 0)] * x.rank
    for place, axis in enumerate(axes):
        both[call.axis(axis, x.rank)] = (pads[place], pads[len(axes) + place])
    for axis, (begin, end) in enumerate(both):
        kept = x.shape[axis] + min(begin, 0) + min(end, 0)
        if kept < 0 or (kept == 0 and max(begin, end) > 0 and call.a.mode != "constant"):
            raise call.fail(f"pads {[begin, end]} leave nothing of axis {axis} of size {x.shape[axis]}")
    return both


def _table(size: int, begin: int, end: int, mode: str) -> np.ndarray:
    """Where each place of a padded axis comes from, -1 for the constant (int32)."""
    low, high = -min(begin, 0), size + min(end, 0)
    kept = high - low
    places = np.arange(-max(begin, 0), kept + max(end, 0))
    if mode == "constant":
        return np.where((places < 0) | (places >= kept), -1, places + low).astype(np.int32)
    if mode == "edge":
        places = places.clip(0, max(kept - 1, 0))
    elif mode == "wrap":
        places %= max(kept, 1)
    else:
        period = max(2 * (kept - 1), 1)
        places %= period
        places = np.minimum(places, period - places) if kept > 1 else places * 0
    return (places + low).astype(np.int32)


def _infer(call: Call) -> list[Value]:
    x = first(call)
    shape = (size + begin + end for size, (begin, end) in zip(x.shape, _pads(call), strict=True))
    return [Value(x.dtype, tuple(shape))]


def _axes(call: Call) -> list[Axis]:
    """The axes, neighbouring unpadded ones merged; the last is contiguous in the source."""
    x = first(call)
    axes: list[Axis] = []
    for size, step, (begin, end) in zip(x.shape, strides(x.shape), _pads(call), strict=True):
        if begin or end:
            table = _table(size, begin, end, call.a.mode)
            axes.append(Axis(len(table), step, table))
        elif axes and axes[-1].table is None:
            axes[-1] = Axis(axes[-1].size * size, step, None)
        else:
            axes.append(Axis(size, step, None))
    return axes or [Axis(1, 1, None)]


def _run(table: np.ndarray) -> tuple[int, int]:
    """The longest run of a table in which it counts up by one: first place, and one past the last."""
    breaks = np.flatnonzero((np.diff(table) != 1) | (table[:-1] < 0)) + 1
    edges = [0, *breaks.tolist(), len(table)]
    runs = [(b, a) for a, b in pairwise(edges) if table[a] >= 0]
    if not runs:
        return 0, 0
    end, begin = max(runs, key=lambda run: run[0] - run[1])
    return begin, end


def _lower(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    if y.size == 0:
        return
    *outer, inner = _axes(call)
    if len(outer) > _RANKS[-1]:
        raise DeviceLimitError(f"{emit.label}: {len(outer) + 1} padded axes; at most 16 are known")
    begin, end = (0, inner.size) if inner.table is None else _run(inner.table)
    skip = begin if inner.table is None or begin == end else int(inner.table[begin])
    tables, offsets, at = [], [], 0
    for axis in (*outer, inner):
        offsets.append(-1 if axis.table is None else at)
        if axis.table is not None:
            tables.append(axis.table)
            at += len(axis.table)
    joined = emit.constant(np.concatenate(tables) if tables else np.zeros(1, np.int32))
    rank = next(rank for rank in _RANKS if rank >= len(outer))
    more = rank - len(outer)
    layout = [
        int16([1] * more + [axis.size for axis in outer]),
        int16([0] * more + [axis.stride for axis in outer]),
        int16([-1] * more + offsets[:-1]),
    ]
    unit = y.dtype.itemsize
    fill = bits(call.a.constant, y.dtype)
    defines = {"T": UNITS[unit], "RANK": rank, "W": 8 if unit == 8 else 16}
    columns = [inner.size, begin, end, skip, max(offsets[-1], 0)]
    if not emit.device.is_cpu:
        arguments = [x, y, joined, fill, *layout, *columns]
        emit.map("pad.cl", "pad_elements", y.size, arguments, defines=defines)
        return
    rows = y.size // inner.size
    share = max(-(-rows // _MOST_GROUPS), _GROUP_BYTES // (inner.size * unit), 1)
    arguments = [x, y, joined, fill, *layout, rows, *columns, share]
    emit.launch("pad.cl", "pad_rows", arguments, (-(-rows // share),), (1,), defines=defines)


def _host(call: Call) -> list[np.ndarray]:
    x = content(call.inputs[0])
    for axis, (begin, end) in enumerate(_pads(call)):
        table = _table(x.shape[axis], begin, end, call.a.mode)
        fill = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), call.a.constant).astype(x.dtype)
        x = np.concatenate([x, fill], axis).take(table, axis)
    return [x]


registry.add(
    "Pad(x; mode: string = 'constant', pads: ints, constant: number = 0.0, axes: ints?) -> y",
    infer=_infer,
    lower=_lower,
    host=_host,
)
