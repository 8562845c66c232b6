"""What a command line says of inputs: arrays from files, sizes of dimensions, random ones."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import TranslationError
from .output import wrong_usage

if TYPE_CHECKING:
    from ...runtime.graph import Graph

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


def named(graph: Graph, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs with the one given without a name under the name of the only one that lacks."""
    inputs = dict(given)
    if ONLY in inputs:
        free = [info.name for info in graph.inputs if info.name not in inputs]
        if len(free) != 1:
            wrong_usage(f"an input without a name is for a model that lacks one; this lacks {len(free)}")
        inputs[free[0]] = inputs.pop(ONLY)
    return inputs


def random_feeds(
    path: Path, graph: Graph, given: Mapping[str, np.ndarray], sizes: Mapping[str, int], seed: int
) -> Iterator[dict[str, np.ndarray]]:
    """The given inputs completed by random ones, for each assignment of sizes worth trying."""
    from ..exporter import export_model
    from ..files import is_singa
    from ..reading import read_model
    from ..samples import assignments, given_sizes, random_inputs

    model = export_model(graph) if is_singa(path) else read_model(path).model
    for assigned in assignments(model, {**given_sizes(model, given), **sizes}):
        yield {**random_inputs(model, assigned, seed, given), **given}


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Write an .npz; the names of the arrays whose type numpy's files do not have."""
    from ...runtime.checkpoint import replacing

    foreign = [name for name, array in arrays.items() if not array.dtype.isbuiltin]
    plain = {n: a.astype(np.float32) if n in foreign else a for n, a in arrays.items()}
    try:
        # Not by numpy.savez, whose keyword arguments an output called ``file`` would clash with.
        with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in plain.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    except OSError as error:
        raise TranslationError(f"cannot be written: {error.strerror}", file=str(path)) from None
    return foreign
