"""An ONNX graph as the importer reads it: order, names, types, and what is constant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx
from onnx import numpy_helper

from ..runtime.graph import ValueInfo
from .errors import ModelError
from .language import schemas
from .weights import Weights, dense
from .wire import KEPT_BYTES


@dataclass
class Source:
    """A model, the file it came from ("" for none), its weights, and its operator sets."""

    model: onnx.ModelProto
    file: str
    weights: Weights
    opsets: dict[str, int]

    @property
    def producer(self) -> str:
        return self.model.producer_name

    @cached_property
    def inferred(self) -> dict[str, onnx.TypeProto]:
        """The types that ONNX's shape inference finds, by value name (nothing where it fails)."""
        return infer_types(self.model)


def infer_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """ONNX's shape inference; an empty result where the model is too odd for it."""
    try:
        inferred = onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True)
    except Exception:  # onnx raises RuntimeError, ValueError and its own InferenceError here
        return {}
    types: dict[str, onnx.TypeProto] = {}
    _collect(inferred.graph, types)
    return types


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its larger weights alone, so that no content is copied."""
    if sum(len(tensor.raw_data) for tensor in model.graph.initializer) < KEPT_BYTES:
        return model
    small = onnx.ModelProto(ir_version=model.ir_version)
    small.opset_import.extend(model.opset_import)
    small.functions.extend(model.functions)
    for field in ("node", "input", "output", "value_info"):
        getattr(small.graph, field).extend(getattr(model.graph, field))
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= KEPT_BYTES // 8:
            small.graph.initializer.append(tensor)
        else:
            small.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    return small


def _collect(graph: onnx.GraphProto, types: dict[str, onnx.TypeProto]) -> None:
    for value in graph.value_info:
        types.setdefault(value.name, value.type)
    for value in graph.output:
        types.setdefault(value.name, value.type)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _collect(attribute.g, types)


def describe_node(node: onnx.NodeProto) -> str:
    """How a message names an ONNX node."""
    if node.name:
        return f"{node.op_type} {node.name!r}"
    return f"{node.op_type} -> {node.output[0]!r}" if node.output else node.op_type


def value_info(name: str, proto: onnx.TypeProto) -> ValueInfo:
    """Type and shape of a tensor as the SINGA graph holds them."""
    tensor = proto.tensor_type
    dtype = schemas.numpy_dtype(tensor.elem_type)
    if not tensor.HasField("shape"):
        return ValueInfo(name, dtype, None)
    shape = tuple(d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in tensor.shape.dim)
    return ValueInfo(name, dtype, shape)


class OnnxGraph:
    """A graph or a subgraph; ``outer`` is the graph around it."""

    def __init__(self, source: Source, proto: onnx.GraphProto, outer: OnnxGraph | None) -> None:
        self.source = source
        self.proto = proto
        self.outer = outer
        check_text(proto.node)
        values = (*proto.input, *proto.output, *proto.value_info, *proto.initializer, proto)
        if not all(isinstance(value.name, str) for value in values):
            raise ModelError("the name of a value is not UTF-8 text")
        self.initializers = source.weights.initializers(proto, top=outer is None)
        self.constant_nodes: dict[str, str] = {}
        self.folded: dict[str, np.ndarray] = {}
        self.producers: dict[str, onnx.NodeProto] = {
            name: node for node in proto.node for name in node.output if name
        }
        self.expanded: dict[int, dict[str, int]] = {}
        self._constants: dict[str, np.ndarray] = dict(self.initializers)
        self._types = {v.name: v.type for v in (*proto.input, *proto.value_info, *proto.output)}
        self._taken: set[str] | None = None

    # --- structure -------------------------------------------------------------------------------

    def inputs(self) -> list[ValueInfo]:
        """The inputs that are no initializers."""
        for value in self.proto.input:
            if value.name not in self.initializers and value.type.WhichOneof("value") not in (
                None,
                "tensor_type",
            ):
                kind = value.type.WhichOneof("value")
                raise ModelError(f"input {value.name!r} is a {kind}; only tensors are translated")
        return [value_info(v.name, v.type) for v in self.proto.input if v.name not in self.initializers]

    def outputs(self) -> list[ValueInfo]:
        return [value_info(v.name, v.type) for v in self.proto.output]

    def value_infos(self) -> dict[str, ValueInfo]:
        """What the model itself says of its intermediate values."""
        return {v.name: value_info(v.name, v.type) for v in self.proto.value_info}

    def ordered(self) -> list[onnx.NodeProto]:
        """The nodes so that each follows what it uses; raises ModelError for a cycle, an undefined
        input, or a name defined twice."""
        from .ordering import ordered

        return ordered(self)

    def defines(self, name: str) -> bool:
        """Whether this graph or one around it gives a value of that name."""
        if name in self.initializers or name in self.producers or name in self._input_names:
            return True
        return self.outer.defines(name) if self.outer else False

    @cached_property
    def _input_names(self) -> set[str]:
        return {value.name for value in self.proto.input}

    @cached_property
    def _uses(self) -> dict[str, list[int]]:
        uses: dict[str, list[int]] = {value.name: [-1] for value in self.proto.output}
        for node in self.proto.node:
            for name in used_names(node):
                uses.setdefault(name, []).append(id(node))
        return uses

    def used_only_by(self, name: str, nodes: set[int]) -> bool:
        """Whether only those nodes (by identity) read a value."""
        return all(user in nodes for user in self._uses.get(name, ()))

    def fresh(self, hint: str) -> str:
        """A name that no value of this graph or those around and inside it has."""
        root = self
        while root.outer:
            root = root.outer
        if root._taken is None:
            root._taken = set(_all_names(root.proto))
        name, number = hint, 1
        while name in root._taken:
            number += 1
            name = f"{hint}_{number}"
        root._taken.add(name)
        return name

    def add_expanded(self, nodes: list[onnx.NodeProto], opsets: dict[str, int]) -> None:
        """Nodes of a function body that takes a node's place, with their own operator sets."""
        for node in nodes:
            self.expanded[id(node)] = opsets
            self.producers.update((name, node) for name in node.output if name)

    def opset_of(self, node: onnx.NodeProto) -> int:
        """The version of the operator set that a node is from."""
        domain = "" if node.domain in schemas.DEFAULT_DOMAINS else node.domain
        return self.opsets_of(node).get(domain, 1)

    def opsets_of(self, node: onnx.NodeProto) -> dict[str, int]:
        """The operator sets in force for a node."""
        return self.expanded.get(id(node), self.source.opsets)

    # --- what is known of values -----------------------------------------------------------------

    def info(self, name: str) -> ValueInfo | None:
        """Type and shape, from the model or from shape inference."""
        proto = self.type(name)
        return value_info(name, proto) if proto else None

    def type(self, name: str) -> onnx.TypeProto | None:
        """The ONNX type of a value, or None."""
        array = self._constants.get(name)
        if array is not None:
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            return onnx.helper.make_tensor_type_proto(kind, array.shape)
        known = self._types.get(name)
        if known is None or not (known.tensor_type.elem_type and known.tensor_type.HasField("shape")):
            known = self.source.inferred.get(name, known)
        if known is None and id(self.producers.get(name)) in self.expanded:
            known = self._infer(self.producers[name]).get(name)
        if known is None and self.outer:
            return self.outer.type(name)
        return known

    def _infer(self, node: onnx.NodeProto) -> dict[str, onnx.TypeProto]:
        """The types of an expanded node's outputs, which the model's own inference has not seen."""
        opset = self.opset_of(node)
        found = schemas.schema(node.op_type, opset, node.domain)
        types = {name: self.type(name) for name in node.input if name}
        if found is None or any(proto is None for proto in types.values()):
            return {}
        arrays = {name: self._constants.get(name) for name in types}
        data = {n: numpy_helper.from_array(a) for n, a in arrays.items() if a is not None and a.size <= 64}
        opsets = [onnx.helper.make_opsetid(node.domain, opset)]
        try:
            results = onnx.shape_inference.infer_node_outputs(
                found, node, types, data, opset_imports=opsets, ir_version=onnx.IR_VERSION
            )
        except Exception:  # onnx raises several kinds; the values then stay unknown
            results = {}
        self._types.update(results)
        return results

    def type_bytes(self, name: str) -> bytes | None:
        """The ONNX type of a value in serialized form (empty for an absent input)."""
        if not name:
            return b""
        proto = self.type(name)
        return proto.SerializeToString() if proto else None

    def constant(self, name: str) -> np.ndarray | None:
        """The content of a value that is an initializer, a Constant, or computed from those."""
        found = self._constants.get(name)
        if found is not None:
            return found
        node = self.producers.get(name)
        if node is not None:
            from .folding import fold

            return fold(self, name)
        return self.outer.constant(name) if self.outer and name not in self._input_names else None

    def constant_now(self, name: str) -> np.ndarray | None:
        """The content of a value already known to be constant."""
        found = self._constants.get(name)
        if found is None and self.outer and name not in self._input_names and name not in self.producers:
            return self.outer.constant(name)
        return found

    def remember(self, name: str, array: np.ndarray, folded: bool = False) -> None:
        """Note that a value is constant."""
        self._constants[name] = array
        if folded:
            self.folded[name] = array

    def add_constant_node(self, node: onnx.NodeProto) -> tuple[str, np.ndarray]:
        """The name and the content of a Constant node."""
        name = node.output[0]
        array = self._constants.get(name)
        if array is None:
            array = constant_value(node, self.source.weights)
            self._constants[name] = array
        self.constant_nodes[name] = node.name
        return name, array


def constant_value(node: onnx.NodeProto, weights: Weights) -> np.ndarray:
    """The tensor that a Constant node gives; raises ModelError where it gives none."""
    if len(node.attribute) != 1:
        raise ModelError("a Constant has exactly one value", node=describe_node(node))
    attribute = node.attribute[0]
    name, kind = attribute.name, attribute.type
    if name == "value" and kind == onnx.AttributeProto.TENSOR:
        return weights.array(attribute.t, f"the value of {describe_node(node)}")
    if name == "sparse_value" and kind == onnx.AttributeProto.SPARSE_TENSOR:
        return dense(attribute.sparse_tensor)
    dtype = _CONSTANT_TYPES.get(name)
    if dtype is None or kind not in _NUMBERS:
        raise ModelError(f"a Constant with {name!r} is no numeric tensor", node=describe_node(node))
    return np.array(onnx.helper.get_attribute_value(attribute), dtype)


_CONSTANT_TYPES = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
_NUMBERS = frozenset(
    {
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.FLOATS,
        onnx.AttributeProto.INT,
        onnx.AttributeProto.INTS,
    }
)


def check_text(nodes: Iterable[onnx.NodeProto]) -> None:
    """Names are UTF-8 text; protobuf hands out what is not as bytes.  Raises ModelError."""
    for node in nodes:
        names = (node.op_type, node.domain, node.name, *node.input, *node.output)
        if not all(isinstance(name, str) for name in (*names, *(a.name for a in node.attribute))):
            raise ModelError("a name is not UTF-8 text", node=f"{node.op_type} -> {list(node.output)}")


def used_names(node: onnx.NodeProto) -> Iterable[str]:
    """Every value that a node reads, those that its subgraphs capture included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from captured_names(attribute.g)


def captured_names(graph: onnx.GraphProto) -> set[str]:
    """What a subgraph reads from around it."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own.update(name for node in graph.node for name in node.output)
    used = {name for node in graph.node for name in used_names(node)}
    used.update(value.name for value in graph.output)
    return used - own


def _all_names(graph: onnx.GraphProto) -> Iterable[str]:
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from node.output
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _all_names(attribute.g)
