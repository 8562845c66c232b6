"""Which integers an input may hold, from what the graph does with it.

An integer input that ends up as the index of a Gather may not exceed the gathered axis; a TopK's K,
a one-hot's index, a sequence length have bounds too.  ``index_ranges`` follows each integer input
through the operators that only move or cast elements and takes the tightest bound it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

Shape = Sequence[int | None] | None

MOVES = frozenset(
    (
        "Cast", "CastLike", "Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split",
        "Squeeze", "Tile", "Transpose", "Unsqueeze",
    )
)  # fmt: skip
"""Operators whose outputs hold elements of their first input (Concat: of any)."""


@dataclass(frozen=True)
class Range:
    """Integers from ``low`` to ``high - 1``."""

    low: int
    high: int

    def meet(self, other: Range) -> Range:
        """The integers in both."""
        return Range(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class _Use:
    """A node, and what is known of its inputs' shapes and constants."""

    node: onnx.NodeProto
    shapes: Mapping[str, Shape]
    constants: Mapping[str, np.ndarray]

    def attribute(self, name: str, default: int) -> int:
        found = next((a.i for a in self.node.attribute if a.name == name), default)
        return int(found)

    def size(self, port: int, axis: int) -> int | None:
        """The size of an axis of an input, where it is known."""
        shape = self.shapes.get(self.node.input[port]) if port < len(self.node.input) else None
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return shape[axis]


def _gathered(use: _Use) -> Range | None:
    size = use.size(0, use.attribute("axis", 0))
    return Range(0, size) if size else None


def _gathered_nd(use: _Use) -> Range | None:
    shape = use.shapes.get(use.node.input[0])
    sizes = [size for size in (shape or ())[use.attribute("batch_dims", 0) :] if size]
    return Range(0, min(sizes)) if sizes else None


def _one_hot(use: _Use) -> Range | None:
    depth = use.constants.get(use.node.input[1])
    return Range(0, int(depth.reshape(-1)[0])) if depth is not None else None


def _top_k(use: _Use) -> Range | None:
    size = use.size(0, use.attribute("axis", -1))
    return Range(1, size + 1) if size else None


def _lengths(use: _Use) -> Range | None:
    size = use.size(0, use.attribute("time_axis", 0))
    return Range(1, size + 1) if size else None


BOUNDS: dict[tuple[str, int], Callable[[_Use], Range | None]] = {
    ("Gather", 1): _gathered,
    ("GatherElements", 1): _gathered,
    ("GatherND", 1): _gathered_nd,
    ("Scatter", 1): _gathered,
    ("ScatterElements", 1): _gathered,
    ("ScatterND", 1): _gathered_nd,
    ("OneHot", 0): _one_hot,
    ("TopK", 1): _top_k,
    ("LSTM", 4): _lengths,
    ("GRU", 4): _lengths,
    ("RNN", 4): _lengths,
    ("ReverseSequence", 1): _lengths,
}
"""By operator and place of the input: which integers it may hold."""


def index_ranges(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> dict[str, Range]:
    """The range of each input that is used as an index; ``shapes`` are those known of values."""
    found: dict[str, Range] = {}
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in _small(model.graph)}
    readers = _readers(model.graph)
    for value in model.graph.input:
        for use, place in _uses(value.name, readers, shapes, constants):
            bound = BOUNDS.get((use.node.op_type, place))
            limits = bound(use) if bound else None
            if limits is not None:
                found[value.name] = found[value.name].meet(limits) if value.name in found else limits
    return {name: limits for name, limits in found.items() if limits.low < limits.high}


def _small(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The constants of one element; no other is needed."""
    yield from (t for t in graph.initializer if all(size == 1 for size in t.dims) and not t.external_data)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            tensor = onnx.TensorProto()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
            yield tensor


def _readers(graph: onnx.GraphProto) -> dict[str, list[tuple[onnx.NodeProto, int]]]:
    """Who reads a value, and at which place; nodes of subgraphs included."""
    readers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
    waiting = [graph]
    for inner in waiting:
        for node in inner.node:
            for place, name in enumerate(node.input):
                readers.setdefault(name, []).append((node, place))
            waiting.extend(a.g for a in node.attribute if a.HasField("g"))
    return readers


def _uses(
    name: str,
    readers: Mapping[str, list[tuple[onnx.NodeProto, int]]],
    shapes: Mapping[str, Shape],
    constants: Mapping[str, np.ndarray],
) -> Iterator[tuple[_Use, int]]:
    """Every node that an input's elements come to unchanged."""
    seen, waiting = {name}, [name]
    while waiting:
        for node, place in readers.get(waiting.pop(), ()):
            yield _Use(node, shapes, constants), place
            if node.op_type in MOVES and (place == 0 or node.op_type == "Concat"):
                fresh = [output for output in node.output if output not in seen]
                seen.update(fresh)
                waiting.extend(fresh)
