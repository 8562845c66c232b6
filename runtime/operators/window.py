"""Sliding windows: the arithmetic that convolution and pooling share.

SINGA's form of padding is ``padding``, one number an axis for both ends, and ``odd_padding``, what
the ends have beyond that, begin and end of each axis in turn.  ``pad_mode`` is ONNX's ``auto_pad``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..operator import Call

PAD_MODES = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class Window:
    """A window over the spatial axes, each field one number an axis.

    ``begin`` and ``end`` are the padding; ``output`` is how many places the window takes.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    output: tuple[int, ...]

    def extent(self, axis: int) -> int:
        """Elements from the first that the kernel touches on an axis to the last."""
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def at_rank(self, rank: int) -> Window:
        """The same window with axes of size 1 put in front, up to ``rank`` of them."""
        more = rank - len(self.kernel)
        ones, zeros = (1,) * more, (0,) * more
        return Window(
            ones + self.kernel,
            ones + self.strides,
            ones + self.dilation,
            zeros + self.begin,
            zeros + self.end,
            ones + self.output,
        )


def window(call: Call, sizes: Sequence[int], kernel: Sequence[int], ceil: bool = False) -> Window:
    """The window that a call's attributes describe, over spatial axes of ``sizes``.

    Reads ``strides``, ``dilation``, ``padding``, ``odd_padding`` and ``pad_mode``; ``ceil`` counts a
    last window that only partly fits, if it begins on the input or its begin padding.
    """
    rank = len(sizes)
    kernel = tuple(kernel)
    strides = per_axis(call, "strides", rank, 1)
    dilation = per_axis(call, "dilation", rank, 1)
    if min(strides + dilation, default=1) < 1:
        raise call.fail(f"strides {list(strides)} and dilation {list(dilation)} must be positive")
    begin, end = padding(call, rank)
    plain = Window(kernel, strides, dilation, begin, end, ())
    mode = call.a.pad_mode
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        output = tuple(-(-size // stride) for size, stride in zip(sizes, strides, strict=True))
        needed = [(output[axis] - 1) * strides[axis] + plain.extent(axis) for axis in range(rank)]
        total = [max(n - size, 0) for n, size in zip(needed, sizes, strict=True)]
        begin, end = split_total(total, mode)
        return Window(kernel, strides, dilation, begin, end, output)
    output = []
    for axis in range(rank):
        room = sizes[axis] + begin[axis] + end[axis] - plain.extent(axis)
        places = (-(-room // strides[axis]) if ceil else room // strides[axis]) + 1
        if ceil and (places - 1) * strides[axis] >= sizes[axis] + begin[axis]:
            places -= 1
        output.append(max(places, 0))
    return Window(kernel, strides, dilation, begin, end, tuple(output))


def split_total(total: Sequence[int], mode: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Padding in all, an axis each, as begin and end: the odd one goes to the end for SAME_UPPER."""
    less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    return (more, less) if mode == "SAME_LOWER" else (less, more)


def padding(call: Call, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Begin and end of each axis from ``padding``, ``odd_padding`` and ``pad_mode`` (not SAME)."""
    if call.a.pad_mode not in PAD_MODES:
        raise call.fail(f"pad_mode is {call.a.pad_mode!r}; it must be one of {', '.join(PAD_MODES)}")
    if call.a.pad_mode != "NOTSET":
        return (0,) * rank, (0,) * rank
    both = per_axis(call, "padding", rank, 0)
    odd = call.a.odd_padding or (0,) * (2 * rank)
    if len(odd) != 2 * rank:
        raise call.fail(f"odd_padding has {len(odd)} numbers; {2 * rank} are wanted, two an axis")
    begin = tuple(p + o for p, o in zip(both, odd[::2], strict=True))
    return begin, tuple(p + o for p, o in zip(both, odd[1::2], strict=True))


def per_axis(call: Call, name: str, rank: int, default: int) -> tuple[int, ...]:
    """An attribute with one number an axis; a single number stands for every axis, none for ``default``."""
    numbers = getattr(call.a, name) or (default,)
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if len(numbers) != rank:
        raise call.fail(f"{name} is {list(numbers)}; {rank} spatial axes want {rank} numbers")
    return numbers
