"""The SINGA graph: where the importer, autograd's traces, the exporter and the planner meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Dimension = int | str | None
"""A size, the name of a size known only when the model runs, or nothing known."""

StateKind = Literal["param", "state", "const"]
"""Trained by an optimizer; kept but not trained (running statistics); never changed."""


class GraphError(ValueError):
    """A graph that cannot be: a cycle, an undefined input, a name defined twice."""


@dataclass(frozen=True)
class Ref:
    """An attribute that is computed when the model runs: the name of the value that holds it."""

    name: str


@dataclass(frozen=True)
class ValueInfo:
    """What is known of a value before it is computed: ``shape`` None means not even its rank."""

    name: str
    dtype: np.dtype | None = None
    shape: tuple[Dimension, ...] | None = None


@dataclass(frozen=True)
class Origin:
    """Which rule made a node, from what, so that traces, reports and the way back can read it.

    ``nodes`` are the source's node names; ``group`` numbers one application of a rule, so that
    several nodes made at once fold back at once; ``written`` are the source's attributes in
    order, defaults that were written out included; ``names`` maps an attribute that was an input
    there to that input's name; ``attributes`` keeps what a node is known to mean beyond ONNX.
    """

    rule: str
    file: str = ""
    line: int = 0
    operator: str = ""
    opset: int = 0
    nodes: tuple[str, ...] = ()
    group: int = 0
    written: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


@dataclass
class Node:
    """One SINGA operator applied to named values; an absent optional input is ``""``."""

    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    origin: Origin | None = None

    def uses(self) -> Iterator[str]:
        """Every value the node reads: inputs, computed attributes, what its subgraphs capture."""
        yield from (name for name in self.inputs if name)
        for value in self.attributes.values():
            if isinstance(value, Ref):
                yield value.name
            elif isinstance(value, Graph):
                yield from value.captures()

    def subgraphs(self) -> Iterator[Graph]:
        """The graphs among the node's attributes (branches of If, bodies of Loop and Scan)."""
        yield from (value for value in self.attributes.values() if isinstance(value, Graph))

    def describe(self) -> str:
        """How a message names the node."""
        return f"{self.operator} {self.name!r}" if self.name else f"{self.operator} -> {self.outputs[0]!r}"


@dataclass
class State:
    """A named tensor that the graph holds: a weight, a running statistic, a constant.

    ``array`` may be a view of a memory map: reading it is what loads it.
    """

    array: np.ndarray
    kind: StateKind = "const"


@dataclass
class Graph:
    """Nodes in topological order, between named inputs and outputs.

    ``updates`` maps a state to the value that replaces it after a run (training).
    ``metadata`` keeps what the source said of itself (producer, opset, IR version, properties).
    """

    name: str = ""
    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    values: dict[str, ValueInfo] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def captures(self) -> set[str]:
        """The values that a subgraph reads from the graphs around it."""
        own = {info.name for info in self.inputs} | set(self.states)
        used = {info.name for info in self.outputs}
        for node in self.nodes:
            own.update(node.outputs)
            used.update(node.uses())
        return used - own

    def layers(self) -> list[list[Node]]:
        """The nodes, those together that one ONNX node became."""
        found: list[list[Node]] = []
        for node in self.nodes:
            group = node.origin.group if node.origin else 0
            last = found[-1][0].origin if found else None
            if group and last is not None and last.group == group:
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def check(self, outer: frozenset[str] = frozenset()) -> None:
        """Raise GraphError where a value is used before it is defined, or defined twice."""
        defined = set(outer) | set(self.states)
        for info in self.inputs:
            defined.add(info.name)
        for node in self.nodes:
            for name in node.uses():
                if name not in defined:
                    raise GraphError(f"{node.describe()}: input {name!r} is not defined before it is used")
            for graph in node.subgraphs():
                graph.check(frozenset(defined))
            for name in node.outputs:
                if name and name in defined:
                    raise GraphError(f"{node.describe()}: output {name!r} is defined twice")
                if name:
                    defined.add(name)
        for info in self.outputs:
            if info.name not in defined:
                raise GraphError(f"graph output {info.name!r} is not computed by any node")
