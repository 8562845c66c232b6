"""What a condition may ask about a tensor or an attribute: ``rank(x) == 4``, ``computed(shape)``.

A function about a tensor takes its name and asks the graph that is being translated; where that
does not know, it raises Unknown, and the condition does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...runtime.graph import Ref, ValueInfo
from .values import Mismatch, Unknown

CONSTANTS: dict[str, float] = {
    "inf": float("inf"),
    "nan": float("nan"),
    "lowest": float(np.finfo(np.float32).min),
    "highest": float(np.finfo(np.float32).max),
}
"""Names that stand for a number wherever a rule has no variable of that name."""


class Context(Protocol):
    """The graph that a rule is applied to, as far as patterns and conditions see it."""

    def opset(self, domain: str) -> int:
        """The version of an operator set on the ONNX side."""
        ...

    def info(self, name: str) -> ValueInfo | None:
        """What is known of a value's type and shape."""
        ...

    def constant(self, name: str) -> np.ndarray | None:
        """The content of a value that never changes, or None."""
        ...

    def add_constant(self, array: np.ndarray, hint: str) -> str:
        """Hold a new constant on the side being built; its name."""
        ...

    def source_constant(self, port: str, value: Any) -> str | None:
        """The constant that fed an input of the ONNX node being given back, where it still has
        that value."""
        ...

    def fresh(self, hint: str) -> str:
        """A name that no value has yet."""
        ...


def _info(context: Context, name: str | None, what: str) -> ValueInfo:
    if not name:
        raise Mismatch(f"the {what} of an absent input")
    return context.info(name) or ValueInfo(name)


def rank(context: Context, name: str | None) -> int:
    """``rank(x)``: how many dimensions a tensor has."""
    shape_ = _info(context, name, "rank").shape
    if shape_ is None:
        raise Unknown(f"the rank of {name!r} is not known")
    return len(shape_)


def shape(context: Context, name: str | None) -> tuple[int, ...]:
    """``shape(x)``: a tensor's sizes, where all are known."""
    sizes = _info(context, name, "shape").shape
    if sizes is None or not all(isinstance(size, int) for size in sizes):
        raise Unknown(f"the shape of {name!r} is not known")
    return tuple(size for size in sizes if isinstance(size, int))


def dtype(context: Context, name: str | None) -> str:
    """``dtype(x)``: the name of a tensor's element type, such as ``"float32"``."""
    dtype_ = _info(context, name, "type").dtype
    if dtype_ is None:
        raise Unknown(f"the type of {name!r} is not known")
    return np.dtype(dtype_).name


def constant(context: Context, name: str | None) -> bool:
    """``constant(x)``: whether a tensor is an initializer or computed from those alone."""
    return bool(name) and context.constant(name or "") is not None


TENSOR_CONDITIONS: dict[str, Callable[..., Any]] = {
    "rank": rank,
    "shape": shape,
    "dtype": dtype,
    "constant": constant,
}
"""Functions of a tensor variable."""


def computed(value: Any) -> bool:
    """``computed(a)``: whether an attribute is known only when the model runs."""
    return isinstance(value, Ref)


def size(value: Any) -> int:
    """``size(a)``: how many items a list attribute has, or inputs a variadic one."""
    if isinstance(value, Ref):
        raise Unknown(f"the size of {value.name!r} is known only when the model runs")
    if isinstance(value, np.ndarray):
        return value.size
    if not isinstance(value, (tuple, list)):
        raise Mismatch(f"{value!r} has no size: it is not a list")
    return len(value)


def item(value: Any, index: int) -> Any:
    """``item(a, 0)``: one item of a list attribute."""
    if not isinstance(value, (tuple, list)) or not -len(value) <= index < len(value):
        raise Mismatch(f"{value!r} has no item {index}")
    return value[index]


def every(value: Any, number: Any) -> bool:
    """``every(a, 1)``: whether all items of a list attribute are that number (absent: yes)."""
    if value is None:
        return True
    if not isinstance(value, (tuple, list)):
        raise Mismatch(f"{value!r} is not a list")
    return all(entry == number for entry in value)


VALUE_CONDITIONS: dict[str, Callable[..., Any]] = {
    "computed": computed,
    "size": size,
    "item": item,
    "every": every,
}
"""Functions of attributes."""
