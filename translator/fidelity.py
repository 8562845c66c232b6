"""What a round trip brought back: the nodes of two ONNX models compared one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

SHOWN = 10
"""How many differences are described."""


@dataclass(frozen=True)
class Fidelity:
    """``same`` of the source's ``nodes`` came back as they were; ``differences`` describe others."""

    nodes: int
    same: int
    differences: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return self.nodes == self.same


def compare_models(before: onnx.ModelProto, after: onnx.ModelProto) -> Fidelity:
    """Compare the nodes that make each value of ``before`` with those of ``after``.

    A node is the same where operator, domain, inputs, outputs and attributes are equal, Constant
    nodes and initializers being one thing: what holds a constant is no part of the meaning.
    """
    made = {name: node for node in after.graph.node for name in node.output if name}
    constants = {tensor.name for tensor in after.graph.initializer}
    nodes = same = 0
    differences = []
    for node in before.graph.node:
        if node.op_type == "Constant":
            continue
        nodes += 1
        partner = next((made[name] for name in node.output if name in made), None)
        if partner is None and all(name in constants for name in node.output if name):
            reason = "became a constant"
        elif partner is None:
            reason = "has no counterpart"
        else:
            reason = _difference(node, partner)
        same += not reason
        if reason and len(differences) < SHOWN:
            differences.append(f"{node.op_type} {node.name or node.output[0]!r}: {reason}")
    return Fidelity(nodes, same, differences)


def _difference(before: onnx.NodeProto, after: onnx.NodeProto) -> str:
    """What differs between two nodes, or nothing."""
    if (before.op_type, before.domain or "ai.onnx") != (after.op_type, after.domain or "ai.onnx"):
        return f"became {after.op_type}"
    if before.name and before.name != after.name:
        return f"is called {after.name!r}"
    for what in ("input", "output"):
        old, new = list(getattr(before, what)), list(getattr(after, what))
        if _trimmed(old) != _trimmed(new):
            return f"has {what}s {new}, had {old}"
    old, new = _attributes(before), _attributes(after)
    for name in old.keys() | new.keys():
        if name not in new:
            return f"lost attribute {name!r}"
        if name not in old:
            return f"gained attribute {name!r}"
        if not _equal(old[name], new[name]):
            return f"attribute {name!r} is {new[name]!r}, was {old[name]!r}"
    return ""


def _trimmed(names: list[str]) -> list[str]:
    """Names without absent ones at the end, which mean nothing."""
    while names and not names[-1]:
        names = names[:-1]
    return names


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: _value(attribute) for attribute in node.attribute}


def _value(attribute: AttributeProto) -> Any:
    """An attribute's value in a form that can be compared; a subgraph as its nodes."""
    if attribute.type == AttributeProto.TENSOR:
        return numpy_helper.to_array(attribute.t)
    if attribute.type == AttributeProto.GRAPH:
        nodes = [node for node in attribute.g.node if node.op_type != "Constant"]
        return [(n.op_type, list(n.input), list(n.output), _attributes(n)) for n in nodes]
    value = onnx.helper.get_attribute_value(attribute)
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        alike = first.dtype == second.dtype and first.shape == second.shape
        return alike and first.tobytes() == second.tobytes()
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_equal(first[key], second[key]) for key in first)
    return type(first) is type(second) and first == second
