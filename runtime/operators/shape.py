"""Views, and tensors made from shapes and numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import FLOAT32, data_type, is_float
from ..operator import Call, registry
from ..value import Value
from .strided import UNITS, Dim, Layout, move, strides

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

NUMPY_TYPES = {
    "float": "f4", "double": "f8", "char": "i1", "short": "i2", "int": "i4", "long": "i8",
    "uchar": "u1", "ushort": "u2", "uint": "u4", "ulong": "u8",
}  # fmt: skip
"""numpy's name of each OpenCL type that numbers are computed in."""


def first(call: Call) -> Value:
    """The first input, which every operator of this family has."""
    x = call.inputs[0]
    assert x is not None
    return x


def content(value: Value | None) -> np.ndarray:
    """What a value known to the host holds."""
    assert value is not None and value.host is not None
    return value.host


def scalar(number: Any, dtype: np.dtype) -> np.generic:
    """A number of ``dtype`` as a kernel receives it: in the type that OpenCL computes it in."""
    return np.asarray(number).astype(dtype).astype(NUMPY_TYPES[data_type(dtype).compute])[()]


def bits(number: Any, dtype: np.dtype) -> np.generic:
    """A number's bits in ``dtype``, as the unsigned integer that kernels move it by."""
    element = np.asarray(number).reshape(-1)[:1].astype(dtype)
    return element.view(np.dtype(f"u{dtype.itemsize}"))[0]


# --- views ---------------------------------------------------------------------------------------


def _view(signature: str, shape: Callable[[Call], Sequence[int]]) -> None:
    """Register an operator that gives its input another shape."""

    def infer(call: Call) -> list[Value]:
        return [Value(first(call).dtype, tuple(shape(call)))]

    def host(call: Call) -> list[np.ndarray]:
        return [content(call.inputs[0]).reshape(call.outputs[0].shape)]

    registry.add(signature, infer=infer, view=True, host=host)


def _reshaped(call: Call) -> Sequence[int]:
    x, wanted = first(call), list(call.a.shape)
    for place, size in enumerate(wanted):
        if size < -1:
            raise call.fail(f"shape {wanted} has the size {size}; sizes are at least -1")
        if size == 0 and not call.a.allowzero:
            if place >= x.rank:
                raise call.fail(f"shape {wanted} copies size {place} of an input of rank {x.rank}")
            wanted[place] = x.shape[place]
    if wanted.count(-1) > 1:
        raise call.fail(f"shape {list(call.a.shape)} has more than one -1")
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        if rest == 0 or x.size % rest:
            raise call.fail(f"{list(x.shape)} cannot be reshaped to {list(call.a.shape)}")
        wanted[wanted.index(-1)] = x.size // rest
    if math.prod(wanted) != x.size:
        raise call.fail(f"{list(x.shape)} cannot be reshaped to {wanted}: the number of elements differs")
    return wanted


def _flattened(call: Call) -> Sequence[int]:
    x = first(call)
    axis = call.a.axis
    axis = call.axis(axis, x.rank, inclusive=axis >= 0)
    return math.prod(x.shape[:axis]), math.prod(x.shape[axis:])


def _squeezed(call: Call) -> Sequence[int]:
    x = first(call)
    axes = {call.axis(axis, x.rank) for axis in call.a.axis or ()}
    for axis in axes:
        if x.shape[axis] != 1:
            raise call.fail(f"axis {axis} has size {x.shape[axis]}; only axes of size 1 can be taken out")
    axes = axes or {axis for axis, size in enumerate(x.shape) if size == 1}
    return [size for axis, size in enumerate(x.shape) if axis not in axes]


def _unsqueezed(call: Call) -> Sequence[int]:
    x = first(call)
    rank = x.rank + len(call.a.axis)
    axes = {call.axis(axis, rank) for axis in call.a.axis}
    if len(axes) < len(call.a.axis):
        raise call.fail(f"axes {list(call.a.axis)} name an axis twice")
    sizes = iter(x.shape)
    return [1 if axis in axes else next(sizes) for axis in range(rank)]


_view("Reshape(x; shape: ints, allowzero: int = 0) -> y", _reshaped)
_view("Flatten(x; axis: int = 1) -> y", _flattened)
_view("Squeeze(x; axis: ints = []) -> y", _squeezed)
_view("Unsqueeze(x; axis: ints) -> y", _unsqueezed)


# --- what is known from shapes -------------------------------------------------------------------


def _expand_shape(call: Call, build: Builder) -> Sequence[Value]:
    x = first(call)
    start, end, _ = slice(call.a.start, call.a.end).indices(x.rank)
    return [build.constant(np.array(x.shape[start:end], np.int64))]


registry.add("Shape(x; start: int = 0, end: int?) -> y", expand=_expand_shape)
registry.add("Size(x) -> y", expand=lambda call, build: [build.constant(first(call).size, np.int64)])


def _expand_constant(call: Call, build: Builder) -> Sequence[Value]:
    """The shape is read; the result is a constant where it is small."""
    shape = tuple(int(size) for size in build.read(first(call)).reshape(-1))
    if min(shape, default=0) < 0:
        raise call.fail(f"shape {list(shape)} has a negative size")
    value = 0.0 if call.a.value is None else call.a.value
    number = value.reshape(-1) if isinstance(value, np.ndarray) else np.asarray([value], FLOAT32)
    if number.size != 1:
        raise call.fail(f"value has {number.size} elements where one is wanted")
    return [build("Fill", shape=shape, value=number)]


registry.add("ConstantOfShape(x; value: any?) -> y", expand=_expand_constant)
registry.add(
    "Fill(; shape: ints, value: tensor) -> y",
    infer=lambda call: [Value(call.a.value.dtype, call.a.shape)],
    lower=lambda call, emit: emit.fill(call.outputs[0], call.a.value.reshape(-1)[0]),
    host=lambda call: [np.full(call.a.shape, call.a.value.reshape(-1)[0])],
)


def _expand_range(call: Call, build: Builder) -> Sequence[Value]:
    """Numbers known to the host: how many there are decides the shape."""
    dtype = first(call).dtype
    start, limit, delta = (build.read(value).reshape(-1)[0] for value in call.present)
    exact = float if is_float(dtype) else Fraction
    try:
        steps = (exact(limit) - exact(start)) / exact(delta)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise call.fail(f"no range goes from {start} to {limit} by {delta}") from None
    count = max(math.ceil(steps), 0)
    return [build("Sequence", count=count, start=np.asarray(start), delta=np.asarray(delta))]


registry.add("Range(start, limit, delta; stash_type: int = 1) -> y", expand=_expand_range)


def _lower_sequence(call: Call, emit: Emit) -> None:
    y = call.outputs[0]
    steps = [scalar(call.a.start, y.dtype), scalar(call.a.delta, y.dtype)]
    emit.map("generate.cl", "sequence", y.size, [y, *steps], types={"Y": y.dtype})


def _host_sequence(call: Call) -> list[np.ndarray]:
    dtype = call.outputs[0].dtype
    wide = np.dtype(NUMPY_TYPES[data_type(dtype).compute])
    start, delta = call.a.start.astype(wide), call.a.delta.astype(wide)
    return [(start + np.arange(call.a.count, dtype=wide) * delta).astype(dtype)]


registry.add(
    "Sequence(; count: int, start: tensor, delta: tensor) -> y",
    infer=lambda call: [Value(call.a.start.dtype, (call.a.count,))],
    lower=_lower_sequence,
    host=_host_sequence,
)


def _infer_eye(call: Call) -> list[Value]:
    x = first(call)
    if x.rank != 2:
        raise call.fail(f"input has rank {x.rank}; a matrix is wanted")
    return [Value(call.a.dtype or x.dtype, x.shape)]


def _lower_eye(call: Call, emit: Emit) -> None:
    y = call.outputs[0]
    arguments = [y, bits(1, y.dtype), y.shape[1], call.a.k]
    emit.map("generate.cl", "eye", y.size, arguments, None, {"T": UNITS[y.dtype.itemsize]})


registry.add("EyeLike(x; dtype: dtype?, k: int = 0) -> y", infer=_infer_eye, lower=_lower_eye)


# --- broadcasting --------------------------------------------------------------------------------


def _infer_expand(call: Call) -> list[Value]:
    """Both shapes broadcast together: a 1 in ``shape`` keeps the input's size."""
    x, wanted = first(call), call.a.shape
    if min(wanted, default=0) < 0:
        raise call.fail(f"shape {list(wanted)} has a negative size")
    try:
        return [Value(x.dtype, np.broadcast_shapes(x.shape, wanted))]
    except ValueError:
        raise call.fail(f"{list(x.shape)} cannot be expanded to {list(wanted)}") from None


def _lower_expand(call: Call, emit: Emit) -> None:
    x, y = first(call), call.outputs[0]
    if x.shape == y.shape:
        emit.copy(x, y)
        return
    padded = (1,) * (y.rank - x.rank) + x.shape
    steps = zip(y.shape, padded, strides(padded), strides(y.shape), strict=True)
    dims = tuple(Dim(size, 0 if own == 1 else step, to) for size, own, step, to in steps)
    move(emit, x, y, Layout(dims))


registry.add(
    "Expand(x; shape: ints) -> y",
    infer=_infer_expand,
    lower=_lower_expand,
    host=lambda call: [np.broadcast_to(content(call.inputs[0]), call.outputs[0].shape)],
)
