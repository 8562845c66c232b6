"""Function bodies in place of the nodes that call them: model-local functions, and ONNX operators
whose schema is a function and that no rule covers; the branch of an If whose condition is constant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx

from .errors import ModelError
from .language import schemas
from .onnx_graph import OnnxGraph, Source, check_text, describe_node


@dataclass(frozen=True)
class Body:
    """The nodes that replace a call, names already those of the graph around it, and the
    initializers that they read."""

    nodes: list[onnx.NodeProto]
    opsets: dict[str, int]
    initializers: dict[str, np.ndarray] = field(default_factory=dict)


class Expander:
    """Instantiates function bodies."""

    def __init__(self, source: Source) -> None:
        self._local = {(f.domain, f.name, getattr(f, "overload", "")): f for f in source.model.functions}
        self._source = source
        for function in source.model.functions:
            check_text(function.node)

    def is_local(self, node: onnx.NodeProto) -> bool:
        """Whether the model defines the operator itself."""
        return bool(self._local) and (node.domain, node.op_type, node.overload) in self._local

    def expand(self, node: onnx.NodeProto, graph: OnnxGraph) -> Body | None:
        """The body of the function that the node calls, or None where there is none."""
        function = self._local.get((node.domain, node.op_type, node.overload))
        if function is None:
            function = self._schema_body(node, graph)
        if function is None:
            return None
        opsets = {
            ("" if o.domain in schemas.DEFAULT_DOMAINS else o.domain): o.version
            for o in function.opset_import
        }
        return Body(_instantiate(function, node, graph), self._source.opsets | opsets)

    def branch(self, node: onnx.NodeProto, graph: OnnxGraph) -> Body | None:
        """The branch that an If takes, where its condition is constant."""
        if node.op_type != "If" or node.domain or len(node.input) != 1:
            return None
        condition = graph.constant(node.input[0])
        if condition is None or condition.size != 1:
            return None
        wanted = "then_branch" if condition.reshape(-1)[0] else "else_branch"
        taken = next((attribute.g for attribute in node.attribute if attribute.name == wanted), None)
        if taken is None:
            raise ModelError(f"it has no {wanted}", node=describe_node(node))
        inner = OnnxGraph(self._source, taken, graph)
        prefix = (node.name or node.output[0]) + "/"
        rename = {name: graph.fresh(prefix + name) for name in inner.initializers}
        nodes = _place(taken.node, rename, [v.name for v in taken.output], node.output, graph, prefix)
        arrays = {rename[name]: array for name, array in inner.initializers.items()}
        return Body(nodes, graph.opsets_of(node), arrays)

    def _schema_body(self, node: onnx.NodeProto, graph: OnnxGraph) -> onnx.FunctionProto | None:
        domain = "" if node.domain in schemas.DEFAULT_DOMAINS else node.domain
        opset = self._source.opsets.get(domain, 1)
        found = schemas.schema(node.op_type, opset, domain)
        if found is None or any(attribute.name not in found.attributes for attribute in node.attribute):
            return None
        function = onnx.FunctionProto()
        if found.has_context_dependent_function:
            types = [graph.type_bytes(name) for name in node.input]
            if any(t is None for t in types):
                return None
            text = found.get_context_dependent_function(node.SerializeToString(), types)
            if not text:
                return None
            function.ParseFromString(text)
        elif found.has_function:
            function.CopyFrom(found.function_body)
        else:
            return None
        defaults = (attribute.default_value for attribute in found.attributes.values())
        function.attribute_proto.extend(default for default in defaults if default.name)
        return function


def _instantiate(
    function: onnx.FunctionProto, call: onnx.NodeProto, graph: OnnxGraph
) -> list[onnx.NodeProto]:
    """The body's nodes with the call's inputs, outputs and attributes in place."""
    rename = {name: "" for name in function.input}
    rename.update(zip(function.input, call.input, strict=False))
    given = {attribute.name: attribute for attribute in function.attribute_proto}
    given.update((attribute.name, attribute) for attribute in call.attribute)
    prefix = (call.name or call.op_type) + "/"
    return _place(function.node, rename, function.output, call.output, graph, prefix, given)


def _place(
    body: Iterable[onnx.NodeProto],
    rename: dict[str, str],
    results: Sequence[str],
    outputs: Sequence[str],
    graph: OnnxGraph,
    prefix: str,
    given: dict[str, onnx.AttributeProto] | None = None,
) -> list[onnx.NodeProto]:
    """Copies of nodes under new names: ``results`` become ``outputs``, other names are prefixed."""
    body = list(body)
    made = {name for node in body for name in node.output}
    for inner, outer in zip(results, outputs, strict=False):
        if outer and inner in made and inner not in rename:
            rename[inner] = outer
    nodes = []
    for original in body:
        node = onnx.NodeProto()
        node.CopyFrom(original)
        for name in node.output:
            if name and name not in rename:
                rename[name] = graph.fresh(prefix + name)
        _rename(node, rename, given or {})
        node.name = prefix + (original.name or original.op_type)
        nodes.append(node)
    for inner, outer in zip(results, outputs, strict=False):
        source = rename.get(inner, inner)
        if outer and source != outer:
            nodes.append(onnx.helper.make_node("Identity", [source], [outer], prefix + outer))
    return nodes


def _rename(node: onnx.NodeProto, rename: dict[str, str], given: dict[str, onnx.AttributeProto]) -> None:
    """Give a node, and the graphs inside it, the names and attributes of the place it goes to."""
    for names in (node.input, node.output):
        for index, name in enumerate(names):
            names[index] = rename.get(name, name)
    for index in range(len(node.attribute) - 1, -1, -1):
        attribute = node.attribute[index]
        if attribute.ref_attr_name:
            source, name = given.get(attribute.ref_attr_name), attribute.name
            if source is None:
                del node.attribute[index]
                continue
            attribute.CopyFrom(source)
            attribute.name = name
        for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
            _rename_graph(inner, rename, given)


def _rename_graph(
    graph: onnx.GraphProto, rename: dict[str, str], given: dict[str, onnx.AttributeProto]
) -> None:
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own.update(name for node in graph.node for name in node.output)
    outer = {inner: name for inner, name in rename.items() if inner not in own}
    for node in graph.node:
        _rename(node, outer, given)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)
