"""An array in a device's memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyopencl as cl


@dataclass(eq=False)
class DeviceArray:
    """A buffer read as elements of ``dtype`` in C order."""

    buffer: cl.Buffer
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize
