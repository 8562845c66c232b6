"""Gather and scatter: indices become row numbers on the device, then rows are moved.

Indices are int32 or int64 and may be negative.  One that is out of range is an error where the
indices are known when the plan is made; on the device it is clamped to the range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT32, INT64, data_type
from ..errors import DeviceLimitError
from ..operator import Call, registry
from ..value import Value
from .shape import content, first
from .strided import LIMIT, UNITS, int16, strides

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

_PIECE_BYTES = 8 << 10
_MOST_GROUPS = 128
_PARTS = {True: 16, False: 512}
"""Work-items that share the rows of a scatter, on a CPU and elsewhere."""

_COLUMNS = {True: 1024, False: 1}
"""Elements of a row that one work-item of a scatter writes, on a CPU and elsewhere."""

_COMBINE = {
    "none": None,
    "add": "(X_C)(a + b)",
    "mul": "(X_C)(a * b)",
    "max": "(b > a || b != b) ? b : a",
    "min": "(b < a || b != b) ? b : a",
}
"""What each reduction makes of the element there (a) and the new one (b)."""


def second(call: Call) -> Value:
    """The second input: the indices."""
    value = call.inputs[1]
    assert value is not None
    return value


def check_indices(call: Call, indices: Value, size: int | np.ndarray) -> None:
    """Raise where known indices are outside of an axis (or axes) of ``size``, or no integers."""
    if data_type(indices.dtype).kind not in "iu":
        raise call.fail(f"indices are {indices.dtype.name}; int32 or int64 is wanted")
    if indices.host is not None and indices.size:
        wrong = (indices.host < -np.asarray(size)) | (indices.host >= np.asarray(size))
        if wrong.any():
            index = indices.host[wrong].reshape(-1)[0]
            sizes = np.asarray(size).tolist()
            raise call.fail(f"index {index} is outside of what it indexes, of size {sizes}")


# --- taking --------------------------------------------------------------------------------------


def take_rows(emit: Emit, source: Value, rows: Value, target: Value, inner: int) -> None:
    """target[r] = source[rows[r]], rows of ``inner`` elements; ``rows`` is int32 and in range."""
    if target.size == 0:
        return
    unit, width = source.dtype.itemsize, inner
    while unit < 8 and width % 2 == 0:
        unit, width = unit * 2, width // 2
    defines = {"TAKE": 1, "T": UNITS[unit], "W": 8 if unit == 8 else 16}
    if width > 1 and emit.device.is_cpu:
        piece = min(width, _PIECE_BYTES // unit)
        pieces = rows.size * -(-width // piece)
        share = max(-(-pieces // _MOST_GROUPS), _PIECE_BYTES // (piece * unit))
        arguments = [source, rows, target, width, piece, pieces, share]
        emit.launch("indexing.cl", "take_rows", arguments, (-(-pieces // share),), (1,), defines=defines)
    else:
        arguments = [source, rows, target, width]
        emit.map("indexing.cl", "take_elements", rows.size * width, arguments, defines=defines)


def row_numbers(
    emit: Emit, kind: str, indices: Value, count: int, arguments: Sequence[np.generic | int]
) -> Value:
    """``count`` row numbers made from indices by one of the ``rows_*`` kernels."""
    rows = emit.temporary(INT32, (count,))
    types = {"I": indices.dtype}
    emit.map("indexing.cl", kind, count, [indices, rows, *arguments], types, {kind.upper(): 1})
    return rows


def _infer_gather(call: Call) -> list[Value]:
    x, indices = first(call), second(call)
    axis = call.axis(call.a.axis, x.rank)
    check_indices(call, indices, x.shape[axis])
    return [Value(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])]


def _lower_gather(call: Call, emit: Emit) -> None:
    x, indices, y = first(call), second(call), call.outputs[0]
    axis = call.axis(call.a.axis, x.rank)
    if y.size:
        count = math.prod(x.shape[:axis]) * indices.size
        rows = row_numbers(emit, "rows_along", indices, count, [indices.size, x.shape[axis]])
        take_rows(emit, x, rows, y, math.prod(x.shape[axis + 1 :]))


registry.add(
    "Gather(x, indices; axis: int = 0) -> y",
    infer=_infer_gather,
    lower=_lower_gather,
    host=lambda call: [content(call.inputs[0]).take(content(call.inputs[1]), call.a.axis)],
)


def _element_rows(call: Call, emit: Emit, x: Value, indices: Value) -> Value:
    axis = call.axis(call.a.axis, x.rank)
    layout = [x.rank, axis, x.shape[axis], int16(indices.shape), int16(strides(x.shape))]
    return row_numbers(emit, "rows_elements", indices, indices.size, layout)


def _check_elements(call: Call, x: Value, indices: Value) -> None:
    """Indices have the data's rank, at most 16, and are no longer than it except on the axis."""
    axis = call.axis(call.a.axis, x.rank)
    check_indices(call, indices, x.shape[axis])
    if x.rank > 16 or x.size >= LIMIT:
        raise DeviceLimitError(f"{call.label}: at most 16 axes and 2^31 elements are known")
    longer = [k for k, (a, b) in enumerate(zip(indices.shape, x.shape, strict=False)) if a > b and k != axis]
    if indices.rank != x.rank or longer:
        raise call.fail(f"indices {list(indices.shape)} do not fit data {list(x.shape)}")


def _infer_gather_elements(call: Call) -> list[Value]:
    x, indices = first(call), second(call)
    _check_elements(call, x, indices)
    return [Value(x.dtype, indices.shape)]


def _lower_gather_elements(call: Call, emit: Emit) -> None:
    x, indices, y = first(call), second(call), call.outputs[0]
    if y.size:
        take_rows(emit, x, _element_rows(call, emit, x, indices), y, 1)


registry.add(
    "GatherElements(x, indices; axis: int = 0) -> y",
    infer=_infer_gather_elements,
    lower=_lower_gather_elements,
)


def _tuples(call: Call, x: Value, indices: Value, batch: int) -> tuple[int, tuple[int, ...]]:
    """How many indices a tuple has, and the shape of what one tuple names."""
    depth = indices.shape[-1] if indices.rank else -1
    fits = 0 <= depth <= x.rank - batch and 0 <= batch < indices.rank
    if not fits or x.shape[:batch] != indices.shape[:batch]:
        raise call.fail(
            f"indices {list(indices.shape)} do not fit data {list(x.shape)} with batch_dims {batch}"
        )
    if depth:
        check_indices(call, indices, np.array(x.shape[batch : batch + depth]))
    return depth, x.shape[batch + depth :]


def _tuple_rows(emit: Emit, x: Value, indices: Value, batch: int) -> Value:
    """The row number of each tuple."""
    depth = indices.shape[-1]
    count = math.prod(indices.shape[batch:-1])
    sizes = x.shape[batch : batch + depth]
    arguments = [max(count, 1), depth, int16(sizes), math.prod(sizes)]
    return row_numbers(emit, "rows_nd", indices, math.prod(indices.shape[:-1]), arguments)


def _infer_gather_nd(call: Call) -> list[Value]:
    x, indices = first(call), second(call)
    _, rest = _tuples(call, x, indices, call.a.batch_dims)
    return [Value(x.dtype, indices.shape[:-1] + rest)]


def _lower_gather_nd(call: Call, emit: Emit) -> None:
    x, indices, y = first(call), second(call), call.outputs[0]
    if y.size:
        rest = x.shape[call.a.batch_dims + indices.shape[-1] :]
        take_rows(emit, x, _tuple_rows(emit, x, indices, call.a.batch_dims), y, math.prod(rest))


registry.add("GatherND(x, indices; batch_dims: int = 0) -> y", infer=_infer_gather_nd, lower=_lower_gather_nd)


def _expand_embedding(call: Call, build: Builder) -> Sequence[Value]:
    """Rows of W; SINGA's indices may be floats."""
    x, w = first(call), second(call)
    if data_type(x.dtype).kind not in "iu":
        x = build("Cast", x, to=INT64)
    return [build("Gather", w, x, axis=0)]


registry.add("Embedding(x, W) -> y", expand=_expand_embedding)


# --- putting -------------------------------------------------------------------------------------


def put_rows(
    call: Call, emit: Emit, updates: Value, rows: Value, target: Value, inner: int, reduction: str = "none"
) -> None:
    """target[rows[r]] = updates[r] (or combined with what is there), rows of ``inner`` elements."""
    if updates.size == 0 or target.size == 0:
        return
    cpu = emit.device.is_cpu
    total = target.size // inner
    part = -(-total // _PARTS[cpu])
    parts = -(-total // part)
    columns = min(inner, _COLUMNS[cpu])
    items = parts * -(-inner // columns)
    combine = _COMBINE[reduction]
    dtype = np.dtype(f"u{target.dtype.itemsize}") if combine is None else target.dtype
    defines = {"PUT": 1} | ({} if combine is None else {"COMBINE": combine})
    arguments = [items, updates, rows, target, rows.size, inner, columns, parts, part]
    local = 1 if cpu else 64
    whole = -(-items // local) * local
    emit.launch("indexing.cl", "put_rows", arguments, (whole,), (local,), {"X": dtype}, defines)


def _reduction(call: Call) -> str:
    if call.a.reduction not in _COMBINE:
        raise call.fail(f"reduction is {call.a.reduction!r}; it must be one of {', '.join(_COMBINE)}")
    return call.a.reduction


def _third(call: Call) -> Value:
    updates = call.inputs[2]
    assert updates is not None
    if updates.dtype != first(call).dtype:
        raise call.fail(f"updates are {updates.dtype.name}, the data is {first(call).dtype.name}")
    return updates


def _infer_scatter_elements(call: Call) -> list[Value]:
    x, indices, updates = first(call), second(call), _third(call)
    _reduction(call)
    _check_elements(call, x, indices)
    if updates.shape != indices.shape:
        raise call.fail(f"updates {list(updates.shape)} and indices {list(indices.shape)} differ in shape")
    return [Value(x.dtype, x.shape)]


def _lower_scatter_elements(call: Call, emit: Emit) -> None:
    x, indices, y = first(call), second(call), call.outputs[0]
    emit.copy(x, y)
    if indices.size and y.size:
        rows = _element_rows(call, emit, x, indices)
        put_rows(call, emit, _third(call), rows, y, 1, call.a.reduction)


registry.add(
    "ScatterElements(x, indices, updates; axis: int = 0, reduction: string = 'none') -> y",
    infer=_infer_scatter_elements,
    lower=_lower_scatter_elements,
)


def _infer_scatter_nd(call: Call) -> list[Value]:
    x, indices, updates = first(call), second(call), _third(call)
    _reduction(call)
    _, rest = _tuples(call, x, indices, 0)
    if updates.shape != indices.shape[:-1] + rest:
        raise call.fail(f"updates {list(updates.shape)} are not {list(indices.shape[:-1] + rest)}")
    return [Value(x.dtype, x.shape)]


def _lower_scatter_nd(call: Call, emit: Emit) -> None:
    x, indices, y = first(call), second(call), call.outputs[0]
    emit.copy(x, y)
    if _third(call).size and y.size:
        inner = math.prod(x.shape[indices.shape[-1] :])
        put_rows(call, emit, _third(call), _tuple_rows(emit, x, indices, 0), y, inner, call.a.reduction)


registry.add(
    "ScatterND(x, indices, updates; reduction: string = 'none') -> y",
    infer=_infer_scatter_nd,
    lower=_lower_scatter_nd,
)


def _infer_tensor_scatter(call: Call) -> list[Value]:
    x, update, starts = first(call), second(call), call.inputs[2]
    axis = call.axis(call.a.axis, x.rank)
    if axis == 0:
        raise call.fail("axis is 0, which is the batch's")
    if call.a.mode not in ("linear", "circular"):
        raise call.fail(f"mode is {call.a.mode!r}; it must be linear or circular")
    fits = update.rank == x.rank and update.dtype == x.dtype
    if not fits or update.shape[:axis] + update.shape[axis + 1 :] != x.shape[:axis] + x.shape[axis + 1 :]:
        raise call.fail(f"update {list(update.shape)} does not fit the cache {list(x.shape)}")
    if update.shape[axis] > x.shape[axis]:
        raise call.fail(f"update of length {update.shape[axis]} is longer than the cache, {x.shape[axis]}")
    if starts is not None and starts.shape != x.shape[:1]:
        raise call.fail(f"write_indices {list(starts.shape)} are not one for each of {x.shape[0]} batches")
    return [Value(x.dtype, x.shape)]


def _lower_tensor_scatter(call: Call, emit: Emit) -> None:
    x, update, y = first(call), second(call), call.outputs[0]
    emit.copy(x, y)
    if update.size == 0:
        return
    axis = call.axis(call.a.axis, x.rank)
    starts = call.inputs[2] or emit.constant(np.zeros(x.shape[0], np.int64))
    length, outer = update.shape[axis], math.prod(x.shape[:axis])
    arguments = [length, x.shape[axis], outer // x.shape[0], int(call.a.mode == "circular")]
    rows = row_numbers(emit, "rows_sequence", starts, outer * length, arguments)
    put_rows(call, emit, update, rows, y, math.prod(x.shape[axis + 1 :]))


registry.add(
    "TensorScatter(past_cache, update, write_indices?; axis: int = -2, mode: string = 'linear') -> y",
    infer=_infer_tensor_scatter,
    lower=_lower_tensor_scatter,
)


# --- one-hot -------------------------------------------------------------------------------------


def _infer_one_hot(call: Call) -> list[Value]:
    indices, values = first(call), second(call)
    if values.size != 2:
        raise call.fail(f"values has {values.size} elements; those for off and on are wanted")
    if call.a.depth < 0:
        raise call.fail(f"depth is {call.a.depth}; it must not be negative")
    axis = call.axis(call.a.axis, indices.rank, inclusive=True)
    return [Value(values.dtype, (*indices.shape[:axis], call.a.depth, *indices.shape[axis:]))]


def _lower_one_hot(call: Call, emit: Emit) -> None:
    indices, values, y = first(call), second(call), call.outputs[0]
    axis = call.axis(call.a.axis, indices.rank, inclusive=True)
    inner = math.prod(indices.shape[axis:])
    defines = {"T": UNITS[y.dtype.itemsize]}
    arguments = [indices, values, y, call.a.depth, inner]
    emit.map("indexing.cl", "one_hot", y.size, arguments, {"I": indices.dtype}, defines)


registry.add(
    "OneHot(indices, values; depth: int, axis: int = -1) -> y", infer=_infer_one_hot, lower=_lower_one_hot
)
