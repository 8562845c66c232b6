"""SINGA's snapshot: parameters written to and read from a file, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .checkpoint import replacing
from .errors import InputError
from .tensor import Tensor, from_numpy, to_numpy


class Snapshot:
    """A file of named parameters (``f`` with ``.npz`` added).

    ``mode``: True or ``"w"`` to write (the file appears when ``close`` or the with-block ends), False or
    ``"r"`` to read.  ``buffer_size`` is SINGA's and has no effect here.
    """

    def __init__(self, f: str, mode: bool | str, buffer_size: int = 10) -> None:
        if mode not in (True, False, "w", "r"):
            raise InputError(f"a snapshot's mode is True or 'w' to write, False or 'r' to read, not {mode!r}")
        self.path = Path(f if str(f).endswith(".npz") else f"{f}.npz")
        self.writing = mode in (True, "w")
        self._written: dict[str, np.ndarray] = {}
        if not self.writing and not self.path.is_file():
            raise InputError(f"there is no snapshot {self.path}")

    def write(self, param_name: str, param_val: Tensor) -> None:
        """Add a parameter; raises InputError where the name was written before."""
        if not self.writing:
            raise InputError(f"{self.path} was opened to read")
        if param_name in self._written:
            raise InputError(f"{self.path}: {param_name!r} is written twice")
        self._written[param_name] = to_numpy(param_val)
        self._store()

    def read(self) -> list[tuple[str, Tensor]]:
        """Every parameter of the file, in the order they were written."""
        if self.writing:
            raise InputError(f"{self.path} was opened to write")
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                return [(name, from_numpy(arrays[name])) for name in arrays.files]
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path} is no snapshot: {error}") from error

    def _store(self) -> None:
        with replacing(self.path) as file:
            np.savez(file, **_named(self._written))


def _named(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return dict(arrays)
