"""A rule file cut into items, so that each is parsed by itself and one error does not hide the next.

An item, a rule or an example, starts at a letter in column 1 and ends before the next; its other
lines are indented.  The comment block directly above it is its documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """``line`` is the number of the item's first line, counted from 1."""

    line: int
    text: str
    documentation: str

    @property
    def is_example(self) -> bool:
        return self.text.startswith("example")


def cut(text: str) -> Iterator[Item]:
    """The items of a file in order.  Text before the first that is no comment is an item too, so
    that the parser reports it."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if line[:1].isalpha() or line[:1] == "_"]
    stray = next(
        (n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None
    )
    if stray is not None and (not starts or stray < starts[0]):
        starts.insert(0, stray)
    for place, start in enumerate(starts):
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
        yield Item(start + 1, "\n".join(lines[start:end]).rstrip(), _documentation(lines, start))


def _documentation(lines: list[str], start: int) -> str:
    """The comment block that ends on the line above ``start``."""
    first = start
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(line.lstrip("#").strip() for line in lines[first:start])
