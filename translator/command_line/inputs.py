"""Reading what a command line says of inputs: arrays from files, sizes of dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..errors import TranslationError
from .output import wrong_usage

ONLY = ""
"""The name of an input that is given without one: the model's only input."""


def read_sizes(options: Iterable[str]) -> dict[str, int]:
    """``NAME=SIZE`` options."""
    sizes = {}
    for option in options:
        name, _, size = option.rpartition("=")
        if not name or not size.isdigit():
            wrong_usage(f"--dim {option}: it is NAME=SIZE, for example batch=4")
        sizes[name] = int(size)
    return sizes


def read_inputs(options: Iterable[str]) -> dict[str, np.ndarray]:
    """``[NAME=]FILE`` options; an .npz without a name gives all that it holds, by name.

    Raises TranslationError for a file that cannot be read.
    """
    arrays: dict[str, np.ndarray] = {}
    for option in options:
        name, _, file = option.rpartition("=")
        if not name and Path(option).is_file():
            file = option
        found = read_arrays(Path(file))
        if name and len(found) > 1:
            if name not in found:
                wrong_usage(f"-i {option}: the file holds {', '.join(sorted(found))}")
            found = {name: found[name]}
        elif name:
            found = {name: next(iter(found.values()))}
        arrays.update(found)
    return arrays


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npy, .npz or .pb (TensorProto) file; ``ONLY`` for one with no name."""
    try:
        if path.suffix == ".npy":
            return {ONLY: np.load(path, allow_pickle=False)}
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        if path.suffix == ".pb":
            return _read_tensor(path)
    except OSError as error:
        raise TranslationError(error.strerror or str(error), file=str(path)) from None
    except Exception as error:  # numpy, zipfile, zlib and protobuf each have errors of their own
        raise TranslationError(f"it is damaged, or no {path.suffix} file ({error})", file=str(path)) from None
    wrong_usage(f"-i {path}: an input is an .npy, .npz or .pb file")


def _read_tensor(path: Path) -> dict[str, np.ndarray]:
    from onnx import TensorProto, numpy_helper

    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return {tensor.name or ONLY: numpy_helper.to_array(tensor)}
