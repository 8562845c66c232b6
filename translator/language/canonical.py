"""Graphs in a form in which equal meaning is equality: names replaced by where values come from,
attributes completed with their defaults, constants by content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ...runtime.graph import Graph, Ref
from ...runtime.operators import registry
from . import schemas
from .lenses import LENSES
from .values import Mismatch, same, show


@dataclass(frozen=True)
class Constant:
    """A constant input, compared by type, shape and content."""

    array: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and same(self.array, other.array)

    def __hash__(self) -> int:
        return hash(self.array.shape)

    def __repr__(self) -> str:
        return f"{self.array.dtype.name}{self.array.tolist()}"


@dataclass(frozen=True)
class Line:
    """One node: ``inputs`` are places (``"2.0"``: output 0 of node 2), graph inputs, constants."""

    operator: str
    inputs: tuple[Any, ...]
    outputs: int
    attributes: dict[str, Any]


class _Places:
    """Names as where their values come from."""

    def __init__(self, constants: Callable[[str], np.ndarray | None]) -> None:
        self._constants = constants
        self._places: dict[str, str] = {}

    def __getitem__(self, name: str) -> Any:
        array = self._constants(name) if name else None
        return Constant(array) if array is not None else self._places.get(name, name)

    def inputs(self, names: Iterable[str]) -> tuple[Any, ...]:
        found = [self[name] for name in names]
        while found and found[-1] == "":
            found.pop()
        return tuple(found)

    def outputs(self, number: int, names: Iterable[str]) -> int:
        used = 0
        for place, name in enumerate(names):
            if name:
                self._places[name] = f"{number}.{place}"
                used = place + 1
        return used


def of_singa(graph: Graph) -> list[Line]:
    """A SINGA graph's nodes."""
    places = _Places(lambda name: graph.states[name].array if name in graph.states else None)
    lines = []
    for number, node in enumerate(graph.nodes):
        operator = registry.get(node.operator)
        attributes = {a.name: a.default for a in operator.signature.attributes} if operator else {}
        attributes |= {name: _attribute(value, places) for name, value in node.attributes.items()}
        _normalise_padding(attributes)
        present = {name: value for name, value in attributes.items() if value is not None}
        inputs = places.inputs(node.inputs)
        lines.append(Line(node.operator, inputs, places.outputs(number, node.outputs), present))
    return lines


def _normalise_padding(attributes: dict[str, Any]) -> None:
    """Padding and odd padding have many forms of one meaning: take the one that an import gives."""
    if "odd_padding" not in attributes:
        return
    lens = LENSES["split_pads"]
    with suppress(Mismatch):
        pads = lens.put(attributes["padding"], attributes["odd_padding"])
        attributes["padding"], attributes["odd_padding"] = lens.get(*pads)


def _attribute(value: Any, places: _Places) -> Any:
    if isinstance(value, Ref):
        return Ref(str(places[value.name]))
    return of_singa(value) if isinstance(value, Graph) else value


def of_model(model: onnx.ModelProto) -> list[Line]:
    """An ONNX model's nodes."""
    opsets = {schemas.split(f"{o.domain}::")[0]: o.version for o in model.opset_import}
    return _of_onnx(model.graph, opsets)


def _of_onnx(graph: onnx.GraphProto, opsets: dict[str, int]) -> list[Line]:
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    places = _Places(arrays.get)
    lines = []
    for number, node in enumerate(graph.node):
        defaults = schemas.attribute_defaults(node.op_type, opsets.get(node.domain, 1), node.domain)
        attributes = dict(defaults)
        for attribute in node.attribute:
            nested = attribute.type == onnx.AttributeProto.GRAPH
            value = _of_onnx(attribute.g, opsets) if nested else schemas.attribute_value(attribute)
            attributes[attribute.name] = value
        present = {name: value for name, value in attributes.items() if value is not None}
        operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        inputs = places.inputs(node.input)
        lines.append(Line(operator, inputs, places.outputs(number, node.output), present))
    return lines


def difference(expected: list[Line], found: list[Line]) -> str | None:
    """The first difference, for a message; None where there is none."""
    if [line.operator for line in expected] != [line.operator for line in found]:
        return f"{_operators(found)} where {_operators(expected)} is expected"
    for want, got in zip(expected, found, strict=True):
        if want.inputs != got.inputs:
            return f"inputs of {want.operator}: {list(got.inputs)} where {list(want.inputs)} is expected"
        if want.outputs != got.outputs:
            return f"{want.operator} has {got.outputs} outputs where {want.outputs} are expected"
        for name in sorted(want.attributes.keys() | got.attributes.keys()):
            a, b = want.attributes.get(name), got.attributes.get(name)
            if not _equal(a, b):
                return f"{name} of {want.operator} is {_show(b)} where {_show(a)} is expected"
    return None


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list) and (not a or isinstance(a[0], Line)):
        return difference(a, b) is None
    return same(tuple(a) if isinstance(a, list) else a, tuple(b) if isinstance(b, list) else b)


def _show(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], Line):
        return _operators(value)
    return f"[{', '.join(map(str, value.reshape(-1)[:8]))}]" if isinstance(value, np.ndarray) else show(value)


def _operators(lines: list[Line]) -> str:
    return " ".join(line.operator for line in lines) or "nothing"
