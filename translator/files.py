"""Model files: which are models, reading either kind, writing either kind whole or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelError, TranslationError

if TYPE_CHECKING:
    from ..runtime.graph import Graph

ONNX, SINGA = ".onnx", ".singa"


@dataclass(frozen=True)
class Found:
    """A model file, and its place relative to the source it was found under."""

    path: Path
    relative: Path


def find_models(
    sources: Iterable[str | Path], suffixes: Sequence[str], without: Path | None = None
) -> Iterator[Found]:
    """The files that the sources name and those in the directories they name, in a stable order.

    A file that is named counts whatever its suffix.  ``without``: a directory that is passed over.
    """
    hidden = without.resolve() if without else None
    for source in map(Path, sources):
        if not source.is_dir():
            yield Found(source, Path(source.name))
            continue
        for folder, folders, names in os.walk(source):
            here = Path(folder)
            folders[:] = sorted(f for f in folders if f[0] != "." and (here / f).resolve() != hidden)
            for name in sorted(names):
                path = here / name
                if path.suffix.lower() in suffixes and not name.startswith("."):
                    yield Found(path, path.relative_to(source))


def is_singa(path: Path) -> bool:
    """Whether a file is an archive rather than an ONNX model, by its suffix, else by its first bytes."""
    if path.suffix.lower() in (ONNX, SINGA):
        return path.suffix.lower() == SINGA
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def read_graph(path: str | Path, rules: Iterable[str | Path] = ()) -> Graph:
    """A model of either kind as a SINGA graph.  Raises TranslationError."""
    path = Path(path)
    if is_singa(path):
        from .archive import load

        return load(path)
    from .importer import import_model

    return import_model(path, tuple(rules))


def write_graph(graph: Graph, path: Path, opset: int | None = None, rules: Iterable[str | Path] = ()) -> None:
    """A SINGA graph as an archive or as an ONNX model, as the suffix says; whole or not at all.

    Raises TranslationError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"its folder cannot be made: {error.strerror}", file=str(path)) from None
    if path.suffix == SINGA:
        from .archive import save

        save(graph, path)
    else:
        from .exporter import export_file

        export_file(graph, path, opset, tuple(rules))


def remove_unfinished(path: Path) -> None:
    """Remove what a process that was killed left of a file that it was writing."""
    for rest in path.parent.glob(f".{glob.escape(path.name)}.*"):
        rest.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    hasher = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                hasher.update(chunk)
    except OSError as error:
        raise TranslationError(error.strerror or str(error), file=str(path)) from None
    return hasher.hexdigest()
