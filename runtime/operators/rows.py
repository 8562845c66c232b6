"""What kernels that give a work-item a whole row have in common: types, vectors, launch sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import FLOAT32, INT64, data_type
from ..operator import Call
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit

FLOAT64 = np.dtype(np.float64)
UINT64 = np.dtype(np.uint64)

_VECTOR_BYTES = 64
"""A vector register of the widest CPUs; narrower ones take several."""

_MOST_LANES = 16
"""The longest vector that OpenCL has."""

_GROUPS = 64
"""Work-groups that keep every core of a CPU busy; Intel's driver may put fewer on one thread."""

_STORED_AS_READ = frozenset({None, "bool", "int4", "uint4", "int2", "uint2"})
"""Conversions under which a stored number is also the number that it means."""


def accumulator(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of ``dtype`` are added up: float32 for the narrower floats, the
    64-bit integer of the same sign for integers."""
    info = data_type(dtype)
    if info.kind == "f":
        return FLOAT64 if dtype == FLOAT64 else FLOAT32
    return INT64 if info.kind == "i" else UINT64


def row_defines(dtype: np.dtype, accumulate: np.dtype, out: np.dtype | None = None) -> dict[str, object]:
    """The constants of ``row.cl``: rows of ``dtype`` computed in ``accumulate``; where vectors are
    written too, ``out`` is their type."""
    lanes = min(_VECTOR_BYTES // accumulate.itemsize, _MOST_LANES)
    defines: dict[str, object] = {"LANES": lanes}
    conversion = data_type(dtype).conversion
    if conversion in _STORED_AS_READ:
        defines["NATIVE"] = 1
    elif conversion in ("float16", "bfloat16"):
        defines["HALF" if conversion == "float16" else "BFLOAT16"] = 1
    if out is not None:
        defines["ROW_STORE"] = 1
        if out == accumulate:
            defines["STORE_NATIVE"] = 1
        elif out == np.float16 and accumulate == FLOAT32:
            defines["STORE_HALF"] = 1
    return defines


def launch_rows(
    emit: Emit,
    source: str,
    kernel: str,
    items: int,
    arguments: Sequence[Value | np.generic | int | float],
    types: Mapping[str, np.dtype],
    defines: Mapping[str, object],
) -> None:
    """Launch a kernel whose first parameter is the number of work-items, each of which does much.

    On a CPU groups are kept small, so that all cores have some.
    """
    local = 64
    if emit.device.is_cpu:
        local = next((size for size in (256, 16) if items >= size * _GROUPS), 1)
    whole = -(-items // local) * local
    emit.launch(source, kernel, [items, *arguments], (whole,), (local,), types, defines)


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """A shape as [outer, length, inner] about one axis (0..rank-1)."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def around_axis(call: Call) -> tuple[int, int, int]:
    """The first input as [outer, length, inner] about attribute ``axis``; where attribute ``flatten``
    is set, as the matrix whose rows hold everything from ``axis`` on."""
    x = call.inputs[0]
    assert x is not None
    axis = call.a.axis
    if getattr(call.a, "flatten", 0):
        split = call.axis(axis, x.rank, inclusive=axis >= 0)
        return math.prod(x.shape[:split]), math.prod(x.shape[split:]), 1
    return around(x.shape, call.axis(axis, x.rank))
