"""Data types: numpy's dtype is a type's identity; this says how OpenCL stores and computes it.

A kernel names its types by roles.  For each role ``X`` it uses four macros that ``definitions``
writes: ``X_T`` (storage), ``X_C`` (the type it is computed in), ``X_LOAD(pointer, index)`` and
``X_STORE(pointer, index, value)``.  Types that OpenCL C does not compute in are converted as they
are read and written, rounding to nearest even as ONNX does; sub-byte types take a byte each.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DataType:
    """How one numpy dtype lives on a device.

    ``kind``: ``f`` float, ``i`` signed, ``u`` unsigned, ``b`` bool.  ``conversion``: the suffix
    of the ``load_``/``store_`` functions in ``types.cl``, or None where OpenCL has the type.
    ``lowest`` and ``highest`` are the finite bounds as Python numbers.
    """

    numpy: np.dtype
    kind: str
    storage: str
    compute: str
    conversion: str | None = None

    @property
    def name(self) -> str:
        return self.numpy.name

    @property
    def itemsize(self) -> int:
        """Bytes an element takes on the device."""
        return self.numpy.itemsize

    @property
    def lowest(self) -> int | float:
        return _bounds(self.numpy)[0]

    @property
    def highest(self) -> int | float:
        return _bounds(self.numpy)[1]


def _rows() -> list[tuple[type, str, str, str, str | None]]:
    return [
        (np.float32, "f", "float", "float", None),
        (np.float64, "f", "double", "double", None),
        (np.float16, "f", "half", "float", "float16"),
        (ml_dtypes.bfloat16, "f", "ushort", "float", "bfloat16"),
        (ml_dtypes.float8_e4m3fn, "f", "uchar", "float", "float8_e4m3fn"),
        (ml_dtypes.float8_e4m3fnuz, "f", "uchar", "float", "float8_e4m3fnuz"),
        (ml_dtypes.float8_e5m2, "f", "uchar", "float", "float8_e5m2"),
        (ml_dtypes.float8_e5m2fnuz, "f", "uchar", "float", "float8_e5m2fnuz"),
        (ml_dtypes.float8_e8m0fnu, "f", "uchar", "float", "float8_e8m0fnu"),
        (ml_dtypes.float6_e2m3fn, "f", "uchar", "float", "float6_e2m3fn"),
        (ml_dtypes.float6_e3m2fn, "f", "uchar", "float", "float6_e3m2fn"),
        (ml_dtypes.float4_e2m1fn, "f", "uchar", "float", "float4_e2m1fn"),
        (np.int8, "i", "char", "char", None),
        (np.int16, "i", "short", "short", None),
        (np.int32, "i", "int", "int", None),
        (np.int64, "i", "long", "long", None),
        (np.uint8, "u", "uchar", "uchar", None),
        (np.uint16, "u", "ushort", "ushort", None),
        (np.uint32, "u", "uint", "uint", None),
        (np.uint64, "u", "ulong", "ulong", None),
        (ml_dtypes.int4, "i", "char", "char", "int4"),
        (ml_dtypes.uint4, "u", "uchar", "uchar", "uint4"),
        (ml_dtypes.int2, "i", "char", "char", "int2"),
        (ml_dtypes.uint2, "u", "uchar", "uchar", "uint2"),
        (np.bool_, "b", "uchar", "uchar", "bool"),
    ]


_TYPES = {np.dtype(row[0]): DataType(np.dtype(row[0]), *row[1:]) for row in _rows()}
_BY_NAME = {info.name: info for info in _TYPES.values()}

FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)
INT32 = np.dtype(np.int32)
BOOL = np.dtype(np.bool_)


def data_type(dtype: np.dtype | type) -> DataType:
    """The device's side of a numpy dtype; raises TypeError for one that no device holds."""
    try:
        return _TYPES[np.dtype(dtype)]
    except KeyError:
        raise TypeError(
            f"{np.dtype(dtype)} has no form on an OpenCL device; known are {', '.join(sorted(_BY_NAME))}"
        ) from None


def by_name(name: str) -> np.dtype:
    """The numpy dtype of that name (``float32``, ``bfloat16``, ``bool`` ...); raises TypeError."""
    if name not in _BY_NAME:
        raise TypeError(f"unknown data type {name!r}; known are {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name].numpy


def is_float(dtype: np.dtype) -> bool:
    """Whether the type is a floating-point type of any width."""
    return data_type(dtype).kind == "f"


def promote(*dtypes: np.dtype) -> np.dtype:
    """The type in which mixed operands are computed.

    ONNX wants equal types; SINGA lets its 0/1 results meet floats: there the widest float wins.
    """
    first = dtypes[0]
    if all(dtype == first for dtype in dtypes):
        return first
    floats = [dtype for dtype in dtypes if is_float(dtype)]
    if floats:
        return max(floats, key=lambda dtype: dtype.itemsize)
    return np.result_type(*dtypes)


def definitions(roles: dict[str, np.dtype]) -> str:
    """The macros of each role, as OpenCL C source."""
    lines = []
    for role, dtype in roles.items():
        info = data_type(dtype)
        lines += [f"#define {role}_T {info.storage}", f"#define {role}_C {info.compute}"]
        lines.append(f"#define {role}_IS_{'FLOAT' if info.kind == 'f' else 'INTEGER'} 1")
        if info.conversion:
            lines.append(f"#define {role}_LOAD(p, i) load_{info.conversion}(p, i)")
            lines.append(f"#define {role}_STORE(p, i, v) store_{info.conversion}(p, i, v)")
        else:
            lines.append(f"#define {role}_LOAD(p, i) ((p)[i])")
            lines.append(f"#define {role}_STORE(p, i, v) ((p)[i] = ({info.storage})(v))")
    return "\n".join(lines) + "\n"


def conversions(roles: dict[str, np.dtype]) -> list[str]:
    """The conversion functions that the roles need, by name, for the prelude to include."""
    names = {data_type(dtype).conversion for dtype in roles.values()}
    return sorted(name for name in names if name)


def _bounds(dtype: np.dtype) -> tuple[int | float, int | float]:
    if dtype == BOOL:
        return 0, 1
    if is_float(dtype):
        info = ml_dtypes.finfo(dtype)
        return float(info.min), float(info.max)
    whole = ml_dtypes.iinfo(dtype)
    return int(whole.min), int(whole.max)
