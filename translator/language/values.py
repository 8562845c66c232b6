"""Values of attributes while a rule is applied: their equality, and how tensors become attributes.

An attribute is None (absent), a bool, int, float, str, a tuple of those, a numpy array, a numpy
dtype, a graph, or a ``Ref`` (computed when the model runs).  Floats that ONNX stores in 32 bits are
held as the shortest decimal that means the same 32 bits, so that 0.2 reads as 0.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.graph import Ref


class Mismatch(Exception):
    """A pattern or condition that does not hold; the message is the reason a person sees."""


class Unknown(Mismatch):
    """A condition about something that is not known before the model runs."""


def decimal(value: float) -> float:
    """A 32-bit float as the shortest decimal that means the same bits."""
    return float(str(np.float32(value)))


def tidy(value: Any) -> Any:
    """A computed float without the noise of binary arithmetic: ``1 - 0.9`` is ``0.1``."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def same(a: Any, b: Any) -> bool:
    """Whether two attribute values mean the same; floats are compared in 32 bits."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return _same_floats(a, b)
    if type(a) is type(b) or (isinstance(a, int) and isinstance(b, int)):
        return a == b
    if isinstance(a, np.dtype) or isinstance(b, np.dtype):
        return getattr(a, "name", a) == getattr(b, "name", b)
    return False


def _same_floats(a: Any, b: Any) -> bool:
    if not all(isinstance(value, (int, float)) for value in (a, b)):
        return False
    if a == b or (a != a and b != b):
        return True
    with np.errstate(over="ignore"):
        return bool(np.float32(a) == np.float32(b)) and abs(a) < 3.5e38 and abs(b) < 3.5e38


def _same_arrays(a: Any, b: Any) -> bool:
    if a is None or b is None or isinstance(a, (Ref, str)) or isinstance(b, (Ref, str)):
        return False
    left, right = np.asarray(a), np.asarray(b)
    if left.shape != right.shape:
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype != b.dtype:
        return False
    return left.tobytes() == right.tobytes() or bool(
        np.all((left == right) | ((left != left) & (right != right)))
    )


def from_tensor(array: np.ndarray, kind: str = "any") -> Any:
    """A constant tensor as an attribute of a runtime type (``runtime.signature.ATTRIBUTE_TYPES``).

    ``any`` goes by the rank: a scalar, a tuple, an array.  Raises Mismatch where it cannot be.
    """
    if kind in ("tensor", "graph"):
        return array
    if kind in ("ints", "floats", "strings"):
        return tuple(_items(array))
    if kind in ("int", "float", "number", "bool", "string", "dtype"):
        if array.size != 1:
            raise Mismatch(f"a constant of shape {list(array.shape)} where one number is expected")
        return _items(array)[0]
    if array.ndim > 1:
        return array
    return tuple(_items(array)) if array.ndim else _items(array)[0]


def _items(array: np.ndarray) -> list[Any]:
    flat = array.reshape(-1)
    if array.dtype == np.float32:
        return [decimal(value) for value in flat]
    if array.dtype.kind in "biufOU":
        return flat.tolist()
    whole = array.dtype.name.startswith(("int", "uint"))
    return flat.astype(np.int64 if whole else np.float64).tolist()


def matches_tensor(value: Any, array: np.ndarray) -> bool:
    """Whether an attribute's value is what a constant tensor holds, whatever its shape."""
    if value is None or isinstance(value, (Ref, str)):
        return False
    if isinstance(value, np.ndarray):
        return value is array or (value.shape == array.shape and same(value, array))
    return same(tuple(np.asarray(value).reshape(-1).tolist()), tuple(_items(array)))


def show(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, np.ndarray):
        return f"a tensor {value.dtype.name}{list(value.shape)}"
    if isinstance(value, Ref):
        return f"a value computed at run time ({value.name!r})"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(show, value)) + "]"
    if value is None:
        return "absent"
    return str(value) if isinstance(value, np.dtype) else repr(value)
