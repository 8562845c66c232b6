"""Elements moved between strided layouts: the one kernel behind slices, transposes, joins and tiles.

A ``Layout`` lists dimensions as (size, stride in the source, stride in the target), strides in
elements.  ``move`` simplifies it, finds the widest unit that it can be moved in, and launches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import DeviceLimitError
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit

UNITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
"""The OpenCL type that moves elements of so many bytes."""

LIMIT = 1 << 31
"""Strides and sizes are 32-bit in kernels."""

_RANKS = (0, 1, 2, 4, 8, 16)
"""Numbers of outer dimensions that kernels are built for; a layout takes the next one up."""

_BLOCK_BYTES = 16 << 10
_MOST_GROUPS = 128
_TILE = 64
"""The side of a block of a transpose: its lines then stay in the first-level cache."""


class Dim(NamedTuple):
    """One dimension: its size, and its stride in the source and in the target."""

    size: int
    source: int
    target: int


@dataclass(frozen=True)
class Layout:
    """Which elements go where; ``source`` and ``target`` are where the first one is."""

    dims: tuple[Dim, ...]
    source: int = 0
    target: int = 0


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor in C order."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def simplify(layout: Layout) -> Layout:
    """The same moves with the target walked in order and neighbouring dimensions merged."""
    dims = [dim for dim in layout.dims if dim.size != 1]
    dims.sort(key=lambda dim: -abs(dim.target))
    merged: list[Dim] = []
    for dim in dims:
        if merged:
            last = merged[-1]
            if last.source == dim.source * dim.size and last.target == dim.target * dim.size:
                merged[-1] = Dim(last.size * dim.size, dim.source, dim.target)
                continue
        merged.append(dim)
    return Layout(tuple(merged), layout.source, layout.target)


def widen(layout: Layout, itemsize: int) -> tuple[Layout, int]:
    """The same moves in units of up to 8 bytes, where runs of elements fill them."""
    while itemsize < 8 and layout.dims:
        *outer, inner = layout.dims
        numbers = [layout.source, layout.target, inner.size, *(n for dim in outer for n in dim[1:])]
        if inner[1:] != (1, 1) or any(number % 2 for number in numbers):
            break
        dims = [Dim(dim.size, dim.source // 2, dim.target // 2) for dim in outer]
        half = [Dim(inner.size // 2, 1, 1)] if inner.size > 2 else []
        layout = Layout((*dims, *half), layout.source // 2, layout.target // 2)
        itemsize *= 2
    return layout, itemsize


def is_copy(layout: Layout) -> bool:
    """Whether the (simplified) layout moves one run to one run."""
    return not layout.dims or (len(layout.dims) == 1 and layout.dims[0][1:] == (1, 1))


def move(emit: Emit, source: Value, target: Value, layout: Layout) -> None:
    """Launch what moves elements of ``source`` to ``target`` (of the same element size)."""
    count = math.prod(dim.size for dim in layout.dims)
    if count == 0:
        return
    layout, unit = widen(simplify(layout), source.dtype.itemsize)
    if any(abs(number) >= LIMIT for dim in layout.dims for number in dim):
        raise DeviceLimitError(f"{emit.label}: more than 2^31 elements are more than the runtime indexes")
    if len(layout.dims) > _RANKS[-1]:
        raise DeviceLimitError(f"{emit.label}: {len(layout.dims)} dimensions; at most 16 can be moved")
    if emit.device.is_cpu:
        _move_blocks(emit, source, target, layout, unit)
    else:
        count = math.prod(dim.size for dim in layout.dims)
        outer, defines = _outer(layout.dims, unit)
        starts = [np.int64(layout.source), np.int64(layout.target)]
        emit.map("move.cl", "move_elements", count, [source, target, *starts, *outer], defines=defines)


def _move_blocks(emit: Emit, source: Value, target: Value, layout: Layout, unit: int) -> None:
    dims = list(layout.dims)
    inner = dims.pop() if dims else Dim(1, 1, 1)
    line = _choose_lines(dims, inner)
    lines = dims.pop(line) if dims else Dim(1, 0, 0)
    outer, defines = _outer(dims, unit)
    rows, columns = _block(lines, inner, unit)
    blocks = math.prod(dim.size for dim in dims) * -(-lines.size // rows) * -(-inner.size // columns)
    share = max(-(-blocks // _MOST_GROUPS), _BLOCK_BYTES // (rows * columns * unit), 1)
    arguments = [
        source, target, np.int64(layout.source), np.int64(layout.target), *outer,
        *lines, *inner, rows, columns, blocks, share,
    ]  # fmt: skip
    emit.launch("move.cl", "move_blocks", arguments, (-(-blocks // share),), (1,), defines=defines)


def _choose_lines(dims: Sequence[Dim], inner: Dim) -> int:
    """Which of the outer dimensions a work-item walks: the one that makes a transpose of tiles, if
    there is one, else the last."""
    if inner.source != 1:
        for place, dim in enumerate(dims):
            if dim.source == 1:
                return place
    return len(dims) - 1


def _block(lines: Dim, inner: Dim, unit: int) -> tuple[int, int]:
    """How many lines and how much of a line one block has."""
    if lines.source == 1 and inner.source != 1:
        return min(lines.size, _TILE), min(inner.size, _TILE)
    columns = min(inner.size, _BLOCK_BYTES // unit)
    return min(lines.size, max(_BLOCK_BYTES // (columns * unit), 1)), columns


def _outer(dims: Sequence[Dim], unit: int) -> tuple[list[np.generic], dict[str, object]]:
    """Outer dimensions as kernel arguments, and the constants of the kernel for them."""
    rank = next(rank for rank in _RANKS if rank >= len(dims))
    pad = [Dim(1, 0, 0)] * (rank - len(dims))
    padded = [*pad, *dims]
    arguments = [int16([dim[field] for dim in padded]) for field in range(3)]
    return arguments, {"T": UNITS[unit], "RANK": rank, "W": 8 if unit == 8 else 16}


def int16(numbers: Sequence[int]) -> np.generic:
    """Up to 16 numbers as one kernel argument of OpenCL's type int16."""
    vector = np.zeros((), [("s", np.int32, 16)])
    vector["s"][: len(numbers)] = numbers
    return vector[()]
