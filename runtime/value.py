"""A value of a plan: a tensor whose type and shape are known before anything runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Value:
    """A tensor of known dtype and shape.

    ``host`` is its content where that is known when the plan is made (shape arithmetic, small
    constants).  ``constant``: it never changes between runs (a weight, when not training).
    ``storage`` says which memory holds it; values that share it are views of one another.
    """

    __slots__ = ("constant", "dtype", "host", "name", "shape", "storage")

    def __init__(
        self,
        dtype: np.dtype | type,
        shape: tuple[int, ...],
        host: np.ndarray | None = None,
        name: str = "",
        constant: bool = False,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(size) for size in shape)
        self.host = host
        self.name = name
        self.constant = constant or host is not None
        self.storage: Any = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes it takes on the device."""
        return self.size * self.dtype.itemsize

    def with_host(self, host: np.ndarray) -> Value:
        """The same memory, its content now known to the planner."""
        known = Value(self.dtype, self.shape, host, self.name)
        known.storage = self.storage
        return known

    def __repr__(self) -> str:
        return f"Value({self.name or '?'}: {self.dtype.name}{list(self.shape)})"
