"""From what the exporter decided to onnx protos: attributes, types, initializers, the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from ..runtime.graph import Graph, ValueInfo
from .language import schemas
from .language.patterns import Application
from .language.values import Mismatch

PRODUCER = "sonnx.translator"
"""Not ``sonnx``: that is Apache SINGA's own exporter, whose files mean other things in places."""


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


def make_model(
    graph: Graph, proto: onnx.GraphProto, opsets: dict[str, int], ir_version: int | None
) -> onnx.ModelProto:
    """The model around a written graph."""
    model = onnx.ModelProto(producer_name=PRODUCER)
    model.ir_version = ir_version if ir_version is not None else _ir_version(opsets)
    for domain, version in opsets.items():
        model.opset_import.add(domain=domain, version=version)
    for key, value in graph.metadata.get("properties", {}).items():
        model.metadata_props.add(key=key, value=value)
    model.graph.CopyFrom(proto)
    return model


def _ir_version(opsets: dict[str, int]) -> int:
    """The oldest IR version from 8 on that knows the operator sets."""
    known = [("" if domain == "" else domain, version) for domain, version in opsets.items()]
    wanted = helper.find_min_ir_version_for(
        [helper.make_opsetid(d, v) for d, v in known], ignore_unknown=True
    )
    return max(8, wanted)
