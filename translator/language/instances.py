"""Instances of rules generated from their examples: one attribute changed at a time.

A variant need not be a meaningful operator (an axis may be out of range): it is for the laws of
translation alone, which must hold for every value that a rule accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...runtime.graph import Graph, Node
from ...runtime.operators import registry


def variants(graph: Graph) -> Iterator[Graph]:
    """The graph with one attribute of one node at its default, or at another value."""
    for place, node in enumerate(graph.nodes):
        for name, value in node.attributes.items():
            if not _required(node.operator, name):
                yield _changed(graph, place, name, None)
            for other in _others(value):
                yield _changed(graph, place, name, other)


def _required(operator: str, name: str) -> bool:
    found = registry.get(operator)
    attribute = found.signature.attribute(name) if found else None
    return attribute is None or attribute.required


def _others(value: Any) -> Iterator[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield -value - 1
    elif isinstance(value, float):
        yield value * 1.5 + 0.125
        yield 0.0
    elif isinstance(value, tuple) and value and all(type(item) is int for item in value):
        yield tuple(item + 1 for item in value)
        yield value[::-1]
    elif isinstance(value, tuple) and value and all(isinstance(item, float) for item in value):
        yield tuple(item * 1.5 + 0.125 for item in value)
    elif isinstance(value, np.ndarray) and value.size and value.dtype.kind == "f":
        yield value * value.dtype.type(1.5)


def _changed(graph: Graph, place: int, name: str, value: Any) -> Graph:
    """A copy with one attribute replaced, or left out where ``value`` is None."""
    node = graph.nodes[place]
    attributes = {key: old for key, old in node.attributes.items() if key != name}
    if value is not None:
        attributes[name] = value
    changed = Node(node.operator, node.inputs, node.outputs, attributes, node.name)
    nodes = [*graph.nodes[:place], changed, *graph.nodes[place + 1 :]]
    return replace(graph, nodes=nodes)
