"""Initializers as arrays: views of the model's file or of its external data, read when used."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from .errors import ModelError
from .language import schemas
from .wire import Content

_PACKED = frozenset(
    {TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.INT2, TensorProto.UINT2}
)
"""Types that share bytes in a file; each element has its own in an array."""


class Weights:
    """The tensors of one model: ``content`` is its file, ``cut`` where the larger ones lie in it,
    ``folder`` where its external data is."""

    def __init__(
        self,
        content: memoryview | None = None,
        cut: dict[int, Content] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._content = content
        self._cut = cut or {}
        self._folder = folder
        self._files: dict[str, memoryview] = {}

    def initializers(self, graph: onnx.GraphProto, top: bool) -> dict[str, np.ndarray]:
        """A graph's initializers by name; raises ModelError naming the one that is damaged."""
        arrays: dict[str, np.ndarray] = {}
        for index, tensor in enumerate(graph.initializer):
            if tensor.name in arrays:
                raise ModelError(f"initializer {tensor.name!r} is defined twice")
            cut = self._cut.get(index) if top else None
            arrays[tensor.name] = self.array(tensor, f"initializer {tensor.name!r}", cut)
        for sparse in graph.sparse_initializer:
            arrays[sparse.values.name] = dense(sparse)
        return arrays

    def array(self, tensor: TensorProto, where: str, cut: Content | None = None) -> np.ndarray:
        """A tensor's content; ``where`` names it in messages.  Raises ModelError."""
        dtype = schemas.numpy_dtype(tensor.data_type)
        if dtype is None:
            kind = "strings" if tensor.data_type == TensorProto.STRING else f"type {tensor.data_type}"
            raise ModelError(f"{where} holds {kind}; only numbers and bool are translated")
        if any(size < 0 for size in tensor.dims):
            raise ModelError(f"{where} has a negative size: {list(tensor.dims)}")
        if cut is not None:
            assert self._content is not None
            return _view(self._content[cut.offset : cut.offset + cut.length], tensor, dtype, where)
        if tensor.data_location == TensorProto.EXTERNAL:
            return _view(self._external(tensor, where), tensor, dtype, where)
        if tensor.HasField("raw_data"):
            return _view(memoryview(tensor.raw_data), tensor, dtype, where)
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ModelError(f"{where} is damaged: {error}") from None

    def _external(self, tensor: TensorProto, where: str) -> memoryview:
        """The part of a data file that a tensor names, without reading it."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        if self._folder is None:
            raise ModelError(
                f"{where} is in external data ({location!r}), whose folder is not known",
                hint="give the model's path instead of its content",
            )
        content = self._file(location, where)
        try:
            offset = int(entries.get("offset") or 0)
            length = int(entries.get("length") or len(content) - offset)
        except ValueError:
            raise ModelError(f"{where}: its place in {location!r} is no number") from None
        if offset < 0 or length < 0 or offset + length > len(content):
            raise ModelError(
                f"{where} is at bytes {offset} to {offset + length} of {location!r}, which has {len(content)}"
            )
        return content[offset : offset + length]

    def _file(self, location: str, where: str) -> memoryview:
        if location in self._files:
            return self._files[location]
        assert self._folder is not None
        folder = os.path.realpath(self._folder)
        path = os.path.realpath(os.path.join(folder, location))
        if not location or os.path.isabs(location) or os.path.commonpath([folder, path]) != folder:
            raise ModelError(f"{where}: external data {location!r} is outside of the model's folder")
        if not os.path.isfile(path):
            raise ModelError(f"{where}: external data {location!r} is missing")
        self._files[location] = map_file(path)
        return self._files[location]


def map_file(path: str | Path) -> memoryview:
    """A file's bytes, read when they are used; raises OSError."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _view(content: memoryview, tensor: TensorProto, dtype: np.dtype, where: str) -> np.ndarray:
    """A tensor's bytes under its type and shape."""
    shape = tuple(tensor.dims)
    count = math.prod(shape)
    if tensor.data_type in _PACKED:
        whole = TensorProto(data_type=tensor.data_type, dims=shape, raw_data=bytes(content))
        try:
            return numpy_helper.to_array(whole)
        except (ValueError, TypeError) as error:
            raise ModelError(f"{where} is damaged: {error}") from None
    if len(content) != count * dtype.itemsize:
        raise ModelError(
            f"{where} has {len(content)} bytes where {dtype.name}{list(shape)} takes {count * dtype.itemsize}"
        )
    return np.frombuffer(content, dtype, count).reshape(shape)


def dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """A sparse tensor with its zeros; raises ModelError."""
    try:
        values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
        array = np.zeros(tuple(sparse.dims), values.dtype)
        if indices.ndim == 1:
            array.reshape(-1)[indices] = values
        else:
            array[tuple(indices.T)] = values
    except (ValueError, IndexError, TypeError, MemoryError) as error:
        raise ModelError(f"sparse tensor {sparse.values.name!r} is damaged: {error}") from None
    return array
