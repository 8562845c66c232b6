"""Types and shapes of the values of an ONNX graph while it is being written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from ..runtime.graph import ValueInfo
from .language import schemas
from .onnx_graph import value_info

if TYPE_CHECKING:
    from .exporter import GraphExporter


UNTYPED = frozenset({"string", "complex64", "complex128"})
"""Element types that no SINGA tensor has."""


class Types:
    """What is known of each value.

    Element types follow from the schemas' type variables and are kept for every value; shapes
    are inferred node by node when first asked about.
    """

    def __init__(self, exporter: GraphExporter) -> None:
        self._exporter = exporter
        self._pending: list[onnx.NodeProto] = []
        self._known: dict[str, ValueInfo] = {info.name: info for info in exporter.graph.inputs}
        self._dtypes: dict[str, np.dtype | None] = {info.name: info.dtype for info in exporter.graph.inputs}

    def added(self, node: onnx.NodeProto) -> None:
        """A node was written: note its outputs' element types."""
        self._pending.append(node)
        opset = self._exporter.opset(node.domain)
        for place, name in enumerate(node.output):
            if name:
                self._dtypes[name] = self._output_dtype(node, opset, place)

    def _output_dtype(self, node: onnx.NodeProto, opset: int, place: int) -> np.dtype | None:
        source = output_type(node.op_type, opset, node.domain, place)
        if isinstance(source, np.dtype):
            return source
        if isinstance(source, int):
            return self.dtype(node.input[source]) if source < len(node.input) else None
        info = self.info(node.output[place])
        return info.dtype if info else None

    def dtype(self, name: str) -> np.dtype | None:
        """The element type of a value, or None."""
        if name in self._dtypes:
            return self._dtypes[name]
        exporter = self._exporter
        array = exporter.array(name)
        if array is not None:
            return array.dtype
        return exporter.outer.types.dtype(name) if exporter.outer else None

    def info(self, name: str) -> ValueInfo | None:
        """Type and shape of a value, as far as they can be known."""
        exporter = self._exporter
        array = exporter.array(name)
        if array is not None:
            return ValueInfo(name, array.dtype, array.shape)
        declared = exporter.graph.values.get(name)
        if declared is not None and declared.dtype is not None and declared.shape is not None:
            return declared
        if name not in self._known and self._pending:
            pending, self._pending = self._pending, []
            for node in pending:
                self._infer(node)
        found = self._known.get(name)
        return exporter.outer.info(name) if found is None and exporter.outer else found

    def _infer(self, node: onnx.NodeProto) -> None:
        opset = self._exporter.opset(node.domain)
        found = schemas.schema(node.op_type, opset, node.domain)
        if found is None:
            return
        types, data = {}, {}
        for name in node.input:
            info = self.info(name) if name else None
            if info is not None and info.dtype is not None:
                kind = helper.np_dtype_to_tensor_dtype(info.dtype)
                types[name] = helper.make_tensor_type_proto(kind, info.shape)
            array = self._exporter.array(name) if name else None
            if array is not None and array.size <= 64 and array.dtype.isbuiltin == 1:
                data[name] = onnx.numpy_helper.from_array(array)
        opsets = [helper.make_opsetid(node.domain, opset)]
        try:
            results = onnx.shape_inference.infer_node_outputs(
                found, node, types, data, opset_imports=opsets, ir_version=onnx.IR_VERSION
            )
        except Exception:  # onnx raises several kinds; the value then stays unknown
            return
        for name, proto in results.items():
            if proto.HasField("tensor_type"):
                self._known[name] = value_info(name, proto)


@cache
def input_types(operator: str, opset: int, domain: str, place: int) -> tuple[str, frozenset[np.dtype]]:
    """The type variable of an input and the element types it allows; both empty where each of
    several inputs may have its own type, or the schema is unknown."""
    found = schemas.schema(operator, opset, domain)
    formal = schemas.formal(found.inputs, place) if found else None
    if formal is None or not formal.is_homogeneous:
        return "", frozenset()
    variable, names = schemas.element_types(operator, opset, domain, place)
    return variable, frozenset(np.dtype(schemas.dtype_name(name)) for name in names - UNTYPED)


@cache
def output_type(operator: str, opset: int, domain: str, place: int) -> np.dtype | int | None:
    """An output's element type: fixed, that of an input (its place), or None where only inference
    can tell."""
    found = schemas.schema(operator, opset, domain)
    formal = schemas.formal(found.outputs, place) if found else None
    if found is None or formal is None or not formal.is_homogeneous:
        return None
    for index, parameter in enumerate(found.inputs):
        if parameter.type_str == formal.type_str and parameter.is_homogeneous:
            return index
    types: Sequence[str] = [formal.type_str]
    for constraint in found.type_constraints:
        if constraint.type_param_str == formal.type_str:
            types = constraint.allowed_type_strs
    if len(types) == 1 and types[0].startswith("tensor("):
        name = schemas.dtype_name(types[0][len("tensor(") : -1])
        return None if name in UNTYPED else np.dtype(name)
    return None
