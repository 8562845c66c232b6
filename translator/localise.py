"""Finds the first node whose result differs, once a whole model's result does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from .comparison import Difference, Tolerance, compare
from .references import ReferenceFailure, open_reference

if TYPE_CHECKING:
    from ..runtime.graph import Graph


@dataclass(frozen=True)
class Suspect:
    """The first ONNX node with a wrong result, the SINGA node and the rule that stand for it."""

    node: str
    rule: str
    difference: Difference

    def __str__(self) -> str:
        by = f", by rule {self.rule}" if self.rule else ""
        return f"{self.node}{by}: {self.difference.name!r} has {self.difference.problem}"


def first_difference(
    model: onnx.ModelProto,
    graph: Graph,
    inputs: Mapping[str, np.ndarray],
    device: Any,
    tolerance: Tolerance,
    against: str | None = None,
) -> Suspect | str:
    """The first node, in the model's order, whose result differs from the reference's; where there
    is none, what that means.

    Every value that both sides name is made an output of both; what only fails as part of a larger
    whole (fused, sharing memory) may then not fail.
    """
    from ..runtime.executor import Executor

    computed = {name: node for node in graph.nodes for name in node.outputs if name}
    shared = [(node, name) for node in model.graph.node for name in node.output if name in computed]
    names = [name for _, name in shared]
    try:
        expected = open_reference(against, with_outputs(model, names), plain=True).run(inputs)
    except ReferenceFailure as failure:
        return f"the reference cannot give every node's result: {failure}"
    values = [graph.values.get(name) or _info(name) for name in names]
    actual = Executor(replace(graph, outputs=values), device).run(dict(inputs))
    for node, name in shared:
        difference = compare(name, expected[name], actual[name], tolerance)
        if difference.problem:
            origin = computed[name].origin
            rule = f"{origin.rule} ({origin.file}:{origin.line})" if origin else ""
            return Suspect(f"{node.op_type} {node.name or name!r}", rule, difference)
    return "no single node differs when each one's result is kept"


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """A copy of a model that gives these values, and nothing else."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    declared = {value.name: value for value in (*model.graph.output, *model.graph.value_info)}
    del copy.graph.output[:]
    copy.graph.output.extend(declared.get(name) or onnx.ValueInfoProto(name=name) for name in names)
    return copy


def _info(name: str) -> Any:
    from ..runtime.graph import ValueInfo

    return ValueInfo(name)
