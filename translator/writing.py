"""From what the exporter decided to onnx protos: attributes, types, initializers, the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from ..runtime.checkpoint import replacing
from ..runtime.graph import Graph, ValueInfo
from .language import schemas
from .language.patterns import Application
from .language.values import Mismatch
from .wire import GRAPH, INITIALIZER, RAW_DATA, length_delimited

PRODUCER = "sonnx.translator"
"""Not ``sonnx``: that is Apache SINGA's own exporter, whose files mean other things in places."""

PROTOBUF_LIMIT = (1 << 31) - (1 << 20)
"""Bytes of a file that protobuf reads at most, less what surrounds the weights."""

EXTERNAL_ALIGNMENT = 4096
"""Where a tensor starts in an external data file: at a page, so that it can be mapped by itself."""

PACKED = frozenset({"int4", "uint4", "float4_e2m1fn", "int2", "uint2"})
"""Types whose elements share bytes in a file."""


def make_attributes(
    application: Application, opset: int, subgraph: Callable[[Graph], onnx.GraphProto]
) -> Iterator[AttributeProto]:
    """The attributes, each in the type that the schema declares; raises Mismatch where it cannot be."""
    types = schemas.attribute_types(application.operator, opset, application.domain)
    for name, value in application.attributes.items():
        kind = types.get(name)
        if kind is None and types and not application.domain:
            raise Mismatch(f"ONNX's {application.operator} has no attribute {name!r} at opset {opset}")
        try:
            yield _attribute(name, value, kind, subgraph)
        except (ValueError, TypeError) as error:
            raise Mismatch(f"attribute {name!r}: {error}") from None


def _attribute(
    name: str, value: Any, kind: int | None, subgraph: Callable[[Graph], onnx.GraphProto]
) -> AttributeProto:
    if isinstance(value, Graph):
        return AttributeProto(name=name, type=AttributeProto.GRAPH, g=subgraph(value))
    if kind == AttributeProto.TENSOR or isinstance(value, np.ndarray):
        tensor = numpy_helper.from_array(np.asarray(value))
        return AttributeProto(name=name, type=AttributeProto.TENSOR, t=tensor)
    if kind == AttributeProto.FLOAT:
        value = float(value)
    elif kind == AttributeProto.INT:
        value = int(value)
    elif kind == AttributeProto.FLOATS:
        value = [float(item) for item in value]
    elif kind == AttributeProto.INTS:
        value = [int(item) for item in value]
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return helper.make_attribute(name, value, attr_type=kind)


def make_tensor(name: str, array: np.ndarray) -> onnx.TensorProto:
    """An initializer."""
    return numpy_helper.from_array(np.asarray(array), name)


def make_value_info(info: ValueInfo) -> onnx.ValueInfoProto:
    """A declared input or output."""
    proto = onnx.ValueInfoProto(name=info.name)
    if info.dtype is not None:
        tensor = proto.type.tensor_type
        tensor.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(info.dtype))
        if info.shape is not None:
            tensor.shape.SetInParent()
            for size in info.shape:
                dimension = tensor.shape.dim.add()
                if isinstance(size, str):
                    dimension.dim_param = size
                elif size is not None:
                    dimension.dim_value = size
    return proto


def new_model(graph: Graph, opsets: dict[str, int], ir_version: int | None) -> onnx.ModelProto:
    """A model without its graph yet."""
    model = onnx.ModelProto(producer_name=PRODUCER)
    model.ir_version = ir_version if ir_version is not None else _ir_version(opsets)
    for domain, version in opsets.items():
        model.opset_import.add(domain=domain, version=version)
    for key, value in graph.metadata.get("properties", {}).items():
        model.metadata_props.add(key=key, value=value)
    return model


def _ir_version(opsets: dict[str, int]) -> int:
    """The oldest IR version from 8 on that knows the operator sets."""
    known = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return max(8, helper.find_min_ir_version_for(known, ignore_unknown=True))


def write_model(
    model: onnx.ModelProto, weights: Mapping[str, np.ndarray], path: str | Path, limit: int = PROTOBUF_LIMIT
) -> None:
    """Write a model whose initializers in ``weights`` are not in it yet, none of them copied.

    Above ``limit`` bytes, which protobuf cannot hold, they go to ``<name>.data`` beside the model.
    Files appear whole or not at all.  Raises OSError.
    """
    path = Path(path)
    small = model.graph.SerializeToString()
    total = len(small) + sum(array.nbytes for array in weights.values())
    external = f"{path.name}.data" if total > limit else None
    fields = [_initializer(name, array) for name, array in weights.items()]
    if external:
        headers = _write_external(weights, path.parent / external)
        fields = [(header, memoryview(b"")) for header in headers]
    length = len(small) + sum(len(header) + len(content) for header, content in fields)
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    rest.ClearField("graph")
    with replacing(path) as file:
        file.write(rest.SerializeToString())
        file.write(length_delimited(GRAPH, length))
        file.write(small)
        for header, content in fields:
            file.write(header)
            file.write(content)


def _initializer(name: str, array: np.ndarray) -> tuple[bytes, memoryview]:
    """An initializer as a field of the graph: all up to its content, and the content."""
    if array.dtype.name in PACKED:
        tensor = make_tensor(name, array).SerializeToString()
        return length_delimited(INITIALIZER, len(tensor)), memoryview(tensor)
    proto = _declared(name, array).SerializeToString()
    content = (
        memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8)) if array.size else memoryview(b"")
    )
    raw = length_delimited(RAW_DATA, len(content))
    return length_delimited(INITIALIZER, len(proto) + len(raw) + len(content)) + proto + raw, content


def _declared(name: str, array: np.ndarray) -> onnx.TensorProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.TensorProto(name=name, data_type=kind, dims=array.shape)


def _write_external(weights: Mapping[str, np.ndarray], path: Path) -> list[bytes]:
    """Write contents one after the other, each aligned; the initializers that name them."""
    headers = []
    with replacing(path) as file:
        for name, array in weights.items():
            file.write(bytes(-file.tell() % EXTERNAL_ALIGNMENT))
            tensor = _declared(name, array)
            content = make_tensor(name, array).raw_data if array.dtype.name in PACKED else array
            start = file.tell()
            file.write(
                content if isinstance(content, bytes) else np.ascontiguousarray(content).view(np.uint8)
            )
            tensor.data_location = onnx.TensorProto.EXTERNAL
            entries = {"location": path.name, "offset": str(start), "length": str(file.tell() - start)}
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)
            proto = tensor.SerializeToString()
            headers.append(length_delimited(INITIALIZER, len(proto)) + proto)
    return headers
