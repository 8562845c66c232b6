"""Lenses: named pairs of inverse functions, for what a rule's arithmetic cannot say.

``targets = lens(sources, context)`` in a rule: ``get`` computes the targets from the sources (the
left side from the right), ``put`` the sources from the targets.  Context arguments are known in
both directions.  Two laws hold for each lens and are tested by property::

    put(get(s, c), c) == s      for every s that get accepts, up to the normal form it names
    get(put(t, c), c) == t      for every t in the image of get

Outside its domain a function raises Mismatch, whose message says why the rule does not apply.
``None`` stands for an absent attribute.  Where ``refs`` is set, a value computed at run time passes
through unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from .schemas import numpy_dtype
from .values import Mismatch, same, show


@dataclass(frozen=True)
class Lens:
    """One lens: how many sources ``put`` gives back, how many targets ``get`` gives, and how many
    context arguments follow the sources."""

    name: str
    get: Callable[..., tuple]
    put: Callable[..., tuple]
    sources: int = 1
    targets: int = 1
    context: int = 0
    refs: bool = False

    @property
    def documentation(self) -> str:
        """What the lens means, for the language reference."""
        return (self.get.__doc__ or "").strip()


LENSES: dict[str, Lens] = {}


def _lens(name: str, put: Callable[..., tuple], **shape: Any) -> Callable[[Callable[..., tuple]], Callable]:
    """Register ``get`` under ``name`` with its inverse."""

    def register(get: Callable[..., tuple]) -> Callable[..., tuple]:
        LENSES[name] = Lens(name, _within_domain(name, get), _within_domain(name, put), **shape)
        return get

    return register


def _within_domain(name: str, function: Callable[..., tuple]) -> Callable[..., tuple]:
    """The function, with a value of a type that it was not made for outside of its domain."""

    @functools.wraps(function)
    def run(*values: Any) -> tuple:
        try:
            return function(*values)
        except (TypeError, ValueError, OverflowError) as error:
            raise Mismatch(f"{name} cannot take {', '.join(map(show, values))}: {error}") from None

    return run


def _list(value: Any, what: str) -> tuple:
    if not isinstance(value, (tuple, list)):
        raise Mismatch(f"{what} is {show(value)}, not a list")
    return tuple(value)


# --- types -------------------------------------------------------------------------------------


def _put_dtype(dtype: Any) -> tuple:
    if dtype is None:
        return (None,)
    try:
        return (int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))),)
    except (ValueError, KeyError, TypeError):
        raise Mismatch(f"ONNX has no data type for {show(dtype)}") from None


@_lens("dtype", _put_dtype)
def _get_dtype(code: Any) -> tuple:
    """``to = dtype(code)``: ONNX's number of a data type (``TensorProto.FLOAT`` = 1) <-> the type."""
    if code is None:
        return (None,)
    dtype = numpy_dtype(code) if isinstance(code, int) else None
    if dtype is None:
        raise Mismatch(f"{show(code)} is no numeric data type of ONNX")
    return (dtype,)


def _put_type_name(dtype: Any) -> tuple:
    if dtype is None:
        return (None,)
    return (TensorProto.DataType.Name(_put_dtype(dtype)[0]),)


@_lens("type_name", _put_type_name)
def _get_type_name(name: Any) -> tuple:
    """``to = type_name(name)``: ONNX's name of a data type (``FLOAT``) <-> the type."""
    if name is None:
        return (None,)
    if name not in TensorProto.DataType.keys():  # noqa: SIM118 (the enum is no container)
        raise Mismatch(f"{show(name)} is no name of a data type")
    return _get_dtype(TensorProto.DataType.Value(name))


def _put_flag(flag: Any) -> tuple:
    if flag is None:
        return (None,)
    if flag not in (0, 1):
        raise Mismatch(f"{show(flag)} is neither true nor false")
    return (int(flag),)


@_lens("flag", _put_flag, refs=True)
def _get_flag(number: Any) -> tuple:
    """``on = flag(number)``: 0 or 1 <-> false or true."""
    if number is None:
        return (None,)
    if number not in (0, 1):
        raise Mismatch(f"{show(number)} is neither 0 nor 1")
    return (bool(number),)


# --- lists -------------------------------------------------------------------------------------


def _put_single(value: Any) -> tuple:
    return (None,) if value is None else ((value,),)


@_lens("single", _put_single, refs=True)
def _get_single(items: Any) -> tuple:
    """``k = single(ks)``: a list of one <-> its item."""
    if items is None:
        return (None,)
    if not isinstance(items, (tuple, list)):
        return (items,)
    if len(items) != 1:
        raise Mismatch(f"{show(items)} has {len(items)} items where one is expected")
    return (items[0],)


def _put_concat(joined: Any) -> tuple:
    if joined is None:
        return None, None
    joined = _list(joined, "the joined list")
    if len(joined) % 2:
        raise Mismatch(f"{show(joined)} cannot be cut into two equal halves")
    return joined[: len(joined) // 2], joined[len(joined) // 2 :]


@_lens("concat", _put_concat, sources=2)
def _get_concat(first: Any, second: Any) -> tuple:
    """``both = concat(first, second)``: two lists of equal length <-> one after the other."""
    if first is None and second is None:
        return (None,)
    first, second = _list(first, "the first list"), _list(second, "the second list")
    if len(first) != len(second):
        raise Mismatch(f"{show(first)} and {show(second)} differ in length")
    return (first + second,)


def _reversed(items: Any) -> tuple:
    """``a = reverse(b)``: a list <-> the same from the other end."""
    return (None,) if items is None else (_list(items, "the argument")[::-1],)


_lens("reverse", _reversed)(_reversed)


def _put_split_pads(padding: Any, odd: Any) -> tuple:
    if padding is None and odd is None:
        return (None,)
    padding = (0,) * (len(_list(odd, "odd padding")) // 2) if padding is None else _list(padding, "padding")
    odd = (0,) * (2 * len(padding)) if odd is None else _list(odd, "odd padding")
    if len(odd) != 2 * len(padding):
        raise Mismatch(f"odd padding {show(odd)} does not fit padding {show(padding)}")
    begins = tuple(p + o for p, o in zip(padding, odd[0::2], strict=True))
    ends = tuple(p + o for p, o in zip(padding, odd[1::2], strict=True))
    return (begins + ends,)


@_lens("split_pads", _put_split_pads, targets=2)
def _get_split_pads(pads: Any) -> tuple:
    """``padding, odd = split_pads(pads)``: ONNX's pads (every begin, then every end) <-> what both
    ends of an axis have in common, and what each has beyond it (SINGA's top, bottom, left, right).
    """
    if pads is None:
        return None, None
    begins, ends = _put_concat(pads)
    padding = tuple(map(min, begins, ends))
    odd: tuple = ()
    for common, begin, end in zip(padding, begins, ends, strict=True):
        odd += (begin - common, end - common)
    return padding, odd


# --- absence and choice ------------------------------------------------------------------------


def _put_or_else(value: Any, default: Any) -> tuple:
    return (None,) if same(value, default) else (value,)


@_lens("or_else", _put_or_else, context=1, refs=True)
def _get_or_else(value: Any, default: Any) -> tuple:
    """``a = or_else(b, 5)``: an absent ``b`` <-> 5 (a ``b`` of 5 comes back as absent)."""
    return (default,) if value is None else (value,)


def _put_choice(number: Any, names: Any) -> tuple:
    if number is None:
        return (None,)
    if not isinstance(number, int) or not 0 <= number < len(names):
        raise Mismatch(f"{show(number)} is not the place of one of {show(names)}")
    return (names[number],)


@_lens("choice", _put_choice, context=1)
def _get_choice(name: Any, names: Any) -> tuple:
    """``number = choice(name, ["a", "b"])``: one of some names <-> its place among them, from 0."""
    if name is None:
        return (None,)
    if name not in names:
        raise Mismatch(f"{show(name)} is not one of {show(names)}")
    return (tuple(names).index(name),)


# --- parts, pads and repeats -------------------------------------------------------------------


def _put_even_parts(parts: Any, size: Any) -> tuple:
    if parts is None:
        return (None,)
    parts = _list(parts, "the list of parts")
    if not parts or _get_even_parts(len(parts), size) != (parts,):
        raise Mismatch(f"{show(parts)} are not {len(parts)} even parts of {size}")
    return (len(parts),)


@_lens("even_parts", _put_even_parts, context=1)
def _get_even_parts(count: Any, size: Any) -> tuple:
    """``parts = even_parts(count, size)``: how many parts <-> their sizes, the last the smaller."""
    if count is None:
        return (None,)
    if count < 1:
        raise Mismatch(f"{count} parts are none")
    each = -(-size // count)
    return (tuple(max(min(each, size - place * each), 0) for place in range(count)),)


def _put_full_pads(pads: Any, axes: Any, rank: Any) -> tuple:
    if pads is None or axes is None:
        return (pads,)
    begins, ends = _put_concat(pads)
    full = [0] * (2 * rank)
    for begin, end, axis in zip(begins, ends, _list(axes, "axes"), strict=True):
        full[axis % rank], full[rank + axis % rank] = begin, end
    return (tuple(full),)


@_lens("full_pads", _put_full_pads, targets=2, context=1)
def _get_full_pads(full: Any, rank: Any) -> tuple:
    """``pads, axes = full_pads(full, rank(x))``: the pads of every axis <-> those of some axes (every
    begin, then every end; without axes they are the same)."""
    return full, None


def _put_along(repeats: Any, rank: Any) -> tuple:
    if repeats is None:
        return None, None
    repeats = _list(repeats, "the list of repeats")
    axes = [axis for axis, times in enumerate(repeats) if times != 1]
    if len(axes) > 1:
        raise Mismatch(f"{show(repeats)} repeats along more than one axis")
    axis = axes[0] if axes else 0
    return (repeats[axis] if repeats else 1), axis


@_lens("along", _put_along, sources=2, context=1)
def _get_along(times: Any, axis: Any, rank: Any) -> tuple:
    """``repeats = along(times, axis, rank(x))``: how often to repeat along one axis <-> along each."""
    if times is None or axis is None:
        return (None,)
    times, axis = (int(np.reshape(number, -1)[0]) for number in (times, axis))
    if not -rank <= axis < rank:
        raise Mismatch(f"axis {axis} is outside of rank {rank}")
    return (tuple(times if place == axis % rank else 1 for place in range(rank)),)
