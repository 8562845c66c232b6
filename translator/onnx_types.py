"""Types and shapes of the values of an ONNX graph while it is being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import helper

from ..runtime.graph import ValueInfo
from .language import schemas
from .onnx_graph import value_info

if TYPE_CHECKING:
    from .exporter import GraphExporter


class Types:
    """What is known of each value; nodes are inferred one by one, when first asked about."""

    def __init__(self, exporter: GraphExporter) -> None:
        self._exporter = exporter
        self._pending: list[onnx.NodeProto] = []
        self._known: dict[str, ValueInfo] = {info.name: info for info in exporter.graph.inputs}

    def added(self, node: onnx.NodeProto) -> None:
        """A node was written."""
        self._pending.append(node)

    def legalise(self, node: onnx.NodeProto) -> None:
        """Placeholder until types are checked."""

    def info(self, name: str) -> ValueInfo | None:
        """Type and shape of a value, as far as they can be known."""
        exporter = self._exporter
        state = exporter.state(name)
        if state is not None:
            return ValueInfo(name, state.array.dtype, state.array.shape)
        array = exporter.initializers.get(name)
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
        found = schemas.schema(node.op_type, self._exporter.opset(node.domain), node.domain)
        if found is None:
            return
        types = {}
        for name in node.input:
            info = self.info(name) if name else None
            if info is not None and info.dtype is not None:
                kind = helper.np_dtype_to_tensor_dtype(info.dtype)
                types[name] = helper.make_tensor_type_proto(kind, info.shape)
        try:
            results = onnx.shape_inference.infer_node_outputs(
                found,
                node,
                types,
                opset_imports=[helper.make_opsetid(node.domain, self._exporter.opset(node.domain))],
            )
        except Exception:  # onnx raises several kinds; the value then stays unknown
            return
        for name, proto in results.items():
            self._known[name] = value_info(name, proto)
