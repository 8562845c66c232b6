"""The order of an ONNX graph's nodes, and what must hold for there to be one."""

from __future__ import annotations

import heapq

import onnx

from .errors import ModelError
from .onnx_graph import OnnxGraph, describe_node, used_names


def ordered(graph: OnnxGraph) -> list[onnx.NodeProto]:
    """The nodes so that each follows what it uses: as written where that holds already.

    Raises ModelError for a cycle, an undefined input or output, or a name defined twice.
    """
    nodes = list(graph.proto.node)
    _defined_once(graph, nodes)
    given = set(graph.initializers) | {value.name for value in graph.proto.input}
    defined, in_order = set(given), True
    for node in nodes:
        for name in used_names(node):
            if name in defined:
                continue
            if name in graph.producers:
                in_order = False
            elif not graph.defines(name):
                raise ModelError(f"input {name!r} is not defined", node=describe_node(node))
        defined.update(name for name in node.output if name)
    for value in graph.proto.output:
        if value.name not in defined and not graph.defines(value.name):
            raise ModelError(f"graph output {value.name!r} is not computed by any node")
    return nodes if in_order else _sorted(graph, nodes)


def _sorted(graph: OnnxGraph, nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Nodes after what they use, those that are ready in the order in which they stand."""
    places = {id(node): place for place, node in enumerate(nodes)}
    waiting: dict[int, set[int]] = {}
    followers: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        before = {places[id(graph.producers[n])] for n in used_names(node) if n in graph.producers}
        waiting[place] = before
        for earlier in before:
            followers.setdefault(earlier, []).append(place)
    ready = [place for place, before in waiting.items() if not before]
    heapq.heapify(ready)
    result: list[onnx.NodeProto] = []
    while ready:
        place = heapq.heappop(ready)
        result.append(nodes[place])
        for follower in followers.get(place, ()):
            waiting[follower].discard(place)
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    if len(result) < len(nodes):
        stuck = next(node for place, node in enumerate(nodes) if waiting[place])
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
