"""Memory planning: places for the storages of a segment in one arena, from when each is in use."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from .emit import Step, Storage


@dataclass(frozen=True)
class Placement:
    """An arena of ``nbytes`` and each storage's offset in it; ``lower_bound`` is the largest number
    of bytes in use at once, which no placement can go below."""

    nbytes: int
    offsets: dict[Storage, int]
    lower_bound: int


def place(steps: Sequence[Step], live_out: set[Storage], alignment: int) -> Placement:
    """Assign offsets: a storage is in use from the first step that names it to the last, one in
    ``live_out`` to the end.  Storages that have content or a buffer already are left out."""
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for index, step in enumerate(steps):
        for storage in step.storages():
            if storage.array is None and storage.buffer is None:
                first.setdefault(storage, index)
                last[storage] = index
    for storage in live_out & first.keys():
        last[storage] = len(steps)
    ends: list[list[Storage]] = [[] for _ in range(len(steps) + 1)]
    starts: list[list[Storage]] = [[] for _ in range(len(steps) + 1)]
    for storage in first:
        starts[first[storage]].append(storage)
        ends[last[storage]].append(storage)
    arena, used, peak = _Arena(), 0, 0
    offsets: dict[Storage, int] = {}
    for index in range(len(steps) + 1):
        for storage in starts[index]:
            size = -(-storage.nbytes // alignment) * alignment
            offsets[storage] = arena.take(size)
            used += size
        peak = max(peak, used)
        for storage in ends[index]:
            size = -(-storage.nbytes // alignment) * alignment
            arena.give(offsets[storage], size)
            used -= size
    return Placement(arena.top, offsets, peak)


class _Arena:
    """Free ranges by offset; the best-fitting one is taken, neighbours merge when given back."""

    def __init__(self) -> None:
        self.top = 0
        self._free: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        fits = [(length, offset) for offset, length in self._free if length >= size]
        if fits:
            length, offset = min(fits)
            self._free.remove((offset, length))
            if length > size:
                bisect.insort(self._free, (offset + size, length - size))
            return offset
        if self._free and sum(self._free[-1]) == self.top:
            offset, _ = self._free.pop()
        else:
            offset = self.top
        self.top = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        index = bisect.bisect(self._free, (offset, size))
        if index < len(self._free) and self._free[index][0] == offset + size:
            size += self._free.pop(index)[1]
        if index > 0 and sum(self._free[index - 1]) == offset:
            offset, length = self._free.pop(index - 1)
            size += length
            index -= 1
        self._free.insert(index, (offset, size))
