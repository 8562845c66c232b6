"""Reductions over axes, and the place of the largest or smallest element.

Any set of axes is done in stages over [outer, length, inner]: neighbouring axes are merged, the last
group of reduced ones goes first, and a long one is cut into chunks that run side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BOOL, FLOAT32, INT64, data_type, is_float
from ..operator import Call, registry
from ..value import Value
from .rows import accumulator, around, launch_rows, row_defines

if TYPE_CHECKING:
    from ..emit import Emit

_SHORTEST_CHUNK = {True: 4096, False: 256}
"""Elements worth a work-item of their own, on a CPU (True) and on another device."""

_LONGEST_CHUNK = 1 << 16
"""Elements beyond which one running sum would lose precision."""

_WORK_ITEMS = {True: 128, False: 8192}
"""Work-items that keep a CPU (True) or another device busy."""


@dataclass(frozen=True)
class Reduction:
    """One reduction, in OpenCL C over an element ``v``, totals ``a`` and ``b``, and ``count``.

    ``pre`` applies once to each element, ``post`` once to each total (``post_integer`` where totals
    are integers).  ``shifted``: elements are taken relative to their maximum, ``shift``, in every
    stage.  ``order``: a result is one of the elements, so no wider type is needed.  ``floating``:
    integers too are reduced as floats.  ``host`` is numpy's form, for shape arithmetic.
    """

    combine: str = "(a) + (b)"
    identity: str = "0"
    pre: str = "(v)"
    post: str = "(a)"
    post_integer: str | None = None
    shifted: bool = False
    order: bool = False
    floating: bool = False
    host: Callable[..., Any] | None = None

    def accumulator(self, dtype: np.dtype) -> np.dtype:
        """The type in which elements of ``dtype`` are reduced."""
        if self.floating and not is_float(dtype):
            return FLOAT32
        if self.order and not is_float(dtype):
            return np.dtype(np.uint8) if dtype == BOOL else dtype
        return accumulator(dtype)

    def defines(self, dtype: np.dtype, accumulate: np.dtype, first: bool, last: bool) -> dict[str, object]:
        """The constants of ``reduction.cl`` for one stage over elements of ``dtype``."""
        post = self.post_integer if self.post_integer and not is_float(accumulate) else self.post
        identity = {"lowest": _lowest, "highest": _highest}.get(self.identity)
        defines = row_defines(dtype, accumulate)
        defines["PRE_OF(v)"] = self.pre if first or self.shifted else "(v)"
        defines["COMBINE_OF(a, b)"] = self.combine
        defines["IDENTITY_OF"] = identity(accumulate) if identity else self.identity
        if self.shifted:
            defines |= {"SHIFTED": 1, "POST_SHIFT(a, shift)": self.post}
        else:
            defines["POST(a)"] = post if last else "(a)"
        return defines


def _lowest(dtype: np.dtype) -> str:
    """OpenCL C for what every number of the type is at least."""
    return "-INFINITY" if is_float(dtype) else _literal(int(data_type(dtype).lowest))


def _highest(dtype: np.dtype) -> str:
    """OpenCL C for what every number of the type is at most."""
    return "INFINITY" if is_float(dtype) else _literal(int(data_type(dtype).highest))


def _literal(value: int) -> str:
    """An integer of up to 64 bits (the lowest long has no literal of its own in C)."""
    if value > np.iinfo(np.int64).max:
        return f"{value}UL"
    return f"({value + 1}L - 1)" if value < 0 else f"{value}L"


_REDUCTIONS = {
    "ReduceSum": Reduction(host=np.sum),
    "ReduceMean": Reduction(
        post="(a) / (A_C)count", post_integer="count ? (a) / (A_C)count : 0"
    ),
    "ReduceMax": Reduction(combine="LARGER(a, b)", identity="lowest", order=True, host=np.max),
    "ReduceMin": Reduction(combine="SMALLER(a, b)", identity="highest", order=True, host=np.min),
    "ReduceProd": Reduction(combine="(a) * (b)", identity="1", host=np.prod),
    "ReduceL1": Reduction(pre="((v) < 0 ? -(v) : (v))"),
    "ReduceL2": Reduction(pre="(v) * (v)", post="sqrt(a)", post_integer="whole_root(a)"),
    "ReduceLogSum": Reduction(post="log(a)", post_integer="log((float)(a))"),
    "ReduceLogSumExp": Reduction(pre="exp((v) - shift)", post="log(a) + shift", shifted=True, floating=True),
    "ReduceSumSquare": Reduction(pre="(v) * (v)"),
}  # fmt: skip


def _axes(call: Call) -> tuple[int, ...]:
    """The reduced axes, each once, in order: all where none are named, unless that means none."""
    x = call.inputs[0]
    assert x is not None
    if not call.a.axes:
        return () if call.a.noop_with_empty_axes else tuple(range(x.rank))
    axes = sorted(call.axis(axis, x.rank) for axis in call.a.axes)
    if len(set(axes)) < len(axes):
        raise call.fail(f"axes {list(call.a.axes)} name an axis twice")
    return tuple(axes)


def _reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _infer(call: Call) -> list[Value]:
    x = call.inputs[0]
    assert x is not None
    return [Value(x.dtype, _reduced_shape(x.shape, _axes(call), call.a.keepdims))]


def _host(function: Callable[..., Any]) -> Callable[[Call], list[np.ndarray]]:
    """Shape arithmetic: the same over the axes of known integers."""

    def host(call: Call) -> list[np.ndarray]:
        x = call.inputs[0]
        assert x is not None and x.host is not None
        if not x.size:
            empty = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMax": "lowest", "ReduceMin": "highest"}
            fill = empty[call.operator.name]
            if isinstance(fill, str):
                bound = getattr(data_type(x.dtype), fill)
                fill = bound if not is_float(x.dtype) else math.copysign(math.inf, bound)
            return [np.full(call.outputs[0].shape, fill, x.dtype)]
        return [function(x.host, axis=_axes(call), keepdims=bool(call.a.keepdims)).astype(x.dtype)]

    return host


@dataclass(frozen=True)
class _Stage:
    """Reduce the middle of [outer, length, inner] to [outer, chunks, inner]."""

    outer: int
    length: int
    inner: int
    chunk: int
    chunks: int


def _groups(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[bool, int]]:
    """Neighbouring axes merged: whether each group is reduced, and its size."""
    groups: list[tuple[bool, int]] = []
    for axis, size in enumerate(shape):
        reduced = axis in axes
        if size == 1:
            continue
        if groups and groups[-1][0] == reduced:
            groups[-1] = (reduced, groups[-1][1] * size)
        else:
            groups.append((reduced, size))
    return groups


def _stages(shape: tuple[int, ...], axes: tuple[int, ...], cpu: bool) -> list[_Stage]:
    """The stages of a reduction: at least one, since elements and totals pass through functions."""
    groups = _groups(shape, axes)
    stages: list[_Stage] = []
    for place in reversed(range(len(groups))):
        reduced, length = groups[place]
        if not reduced:
            continue
        outer = math.prod(size for _, size in groups[:place])
        inner = math.prod(size for _, size in groups[place + 1 :])
        del groups[place]
        items = max(outer * -(-inner // 16), 1)
        chunks = min(length // _SHORTEST_CHUNK[cpu], -(-_WORK_ITEMS[cpu] // items))
        chunks = max(chunks, -(-length // _LONGEST_CHUNK), 1)
        stages.append(_Stage(outer, length, inner, -(-length // chunks), chunks))
        if chunks > 1:
            stages.append(_Stage(outer, chunks, inner, chunks, 1))
    return stages or [_Stage(math.prod(shape), 1, 1, 1, 1)]


def _lower(reduction: Reduction) -> Callable[[Call, Emit], None]:
    def lower(call: Call, emit: Emit) -> None:
        x, y = call.inputs[0], call.outputs[0]
        assert x is not None
        axes = _axes(call)
        count = math.prod(x.shape[axis] for axis in axes)
        accumulate = reduction.accumulator(x.dtype)
        stages = _stages(x.shape, axes, emit.device.is_cpu)
        source = x
        for number, stage in enumerate(stages):
            last = number == len(stages) - 1
            shape = (stage.outer, stage.chunks, stage.inner)
            target = y if last else emit.temporary(accumulate, shape)
            types = {"I": source.dtype, "A": accumulate, "O": target.dtype}
            defines = reduction.defines(source.dtype, accumulate, number == 0, last)
            arguments = [source, target, stage.length, stage.chunk, stage.chunks, count]
            if stage.inner == 1:
                items, defines["ROWS"] = stage.outer * stage.chunks, 1
                launch_rows(emit, "reduction.cl", "reduce_rows", items, arguments, types, defines)
            else:
                groups = -(-stage.inner // int(str(defines["LANES"])))
                items = stage.outer * stage.chunks * groups
                arguments.append(stage.inner)
                launch_rows(emit, "reduction.cl", "reduce_columns", items, arguments, types, defines)
            source = target

    return lower


for _name, _reduction in _REDUCTIONS.items():
    registry.add(
        f"{_name}(x; axes: ints?, keepdims: int = 1, noop_with_empty_axes: int = 0) -> y",
        infer=_infer,
        lower=_lower(_reduction),
        host=_host(_reduction.host) if _reduction.host else None,
    )


def _infer_arg(call: Call) -> list[Value]:
    x = call.inputs[0]
    assert x is not None
    axis = call.axis(call.a.axis, x.rank)
    if x.shape[axis] == 0 and x.size == 0 and math.prod(_reduced_shape(x.shape, (axis,), 1)):
        raise call.fail(f"axis {call.a.axis} has no elements to choose from")
    return [Value(INT64, _reduced_shape(x.shape, (axis,), call.a.keepdims))]


def _lower_arg(better: str) -> Callable[[Call, Emit], None]:
    def lower(call: Call, emit: Emit) -> None:
        x, y = call.inputs[0], call.outputs[0]
        assert x is not None
        _, length, inner = around(x.shape, call.axis(call.a.axis, x.rank))
        last = "=" if call.a.select_last_index else ""
        defines = {"BETTER(v, best)": f"(v) {better}{last} (best)"}
        emit.map("arg.cl", "arg", y.size, [x, y, length, inner], types={"I": x.dtype}, defines=defines)

    return lower


for _name, _better in (("ArgMax", ">"), ("ArgMin", "<")):
    registry.add(
        f"{_name}(x; axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> y",
        infer=_infer_arg,
        lower=_lower_arg(_better),
    )
