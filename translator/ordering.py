"""The order of an ONNX graph's nodes, and what must hold for there to be one."""

from __future__ import annotations

import onnx

from .errors import ModelError
from .onnx_graph import OnnxGraph, describe_node, used_names


def ordered(graph: OnnxGraph) -> list[onnx.NodeProto]:
    """The nodes so that each follows what it uses: as written where that holds already.

    Raises ModelError for a cycle, an undefined input or output, or a name defined twice.
    """
    nodes = list(graph.proto.node)
    _defined_once(graph, nodes)
    defined = set(graph.initializers) | {value.name for value in graph.proto.input}
    waiting: dict[str, list[int]] = {}
    missing: dict[int, int] = {}
    in_order = True
    for index, node in enumerate(nodes):
        needs = {name for name in used_names(node) if name not in defined and name in graph.producers}
        for name in used_names(node):
            if name not in defined and name not in needs and not graph.defines(name):
                raise ModelError(f"input {name!r} is not defined", node=describe_node(node))
        if needs:
            in_order = False
            missing[index] = len(needs)
            for name in needs:
                waiting.setdefault(name, []).append(index)
        defined.update(name for name in node.output if name)
    for value in graph.proto.output:
        if value.name not in defined and not graph.defines(value.name):
            raise ModelError(f"graph output {value.name!r} is not computed by any node")
    return nodes if in_order else _sorted(nodes, waiting, missing)


def _sorted(
    nodes: list[onnx.NodeProto], waiting: dict[str, list[int]], missing: dict[int, int]
) -> list[onnx.NodeProto]:
    result: list[onnx.NodeProto] = []
    for start in range(len(nodes)):
        ready = [start] if start not in missing else []
        while ready:
            node = nodes[ready.pop()]
            result.append(node)
            for name in node.output:
                for index in waiting.pop(name, ()):
                    missing[index] -= 1
                    if not missing[index]:
                        ready.append(index)
    if len(result) < len(nodes):
        stuck = nodes[min(index for index, count in missing.items() if count)]
        raise ModelError("the graph has a cycle through this node", node=describe_node(stuck))
    return result


def _defined_once(graph: OnnxGraph, nodes: list[onnx.NodeProto]) -> None:
    seen = set(graph.initializers) | {value.name for value in graph.proto.input}
    for node in nodes:
        for name in node.output:
            if name in seen:
                raise ModelError(f"output {name!r} is defined twice", node=describe_node(node))
            if name:
                seen.add(name)
