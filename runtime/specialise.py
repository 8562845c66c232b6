"""From a graph and its inputs' shapes to a flat list of calls on values of known shape.

Walks the nodes in order, infers types and shapes, computes shape arithmetic on the host, expands
composite operators, and inlines the branch that a condition takes.  Where a node needs a number
that only the device has (a computed shape, a condition), the walk stops there: what came before
runs, the number is read, and the walk goes on from a copy of its state, once per number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from .control_flow import VISITS, Frame, ReadRequest
from .errors import OperatorError, RuntimeFault
from .graph import Graph, Node, Ref
from .operator import Call, Operator
from .operators import registry
from .value import Value

HOST_LIMIT = 1024
"""Elements that shape arithmetic on the host handles at most; more goes to the device."""


@dataclass
class Walk:
    """Where the specialisation of a graph stands; copied where it branches on a read value."""

    graph: Graph
    environment: dict[str, Value]
    frames: list[Frame]
    replay: list[list[Value]] = field(default_factory=list)
    inlined: int = 0

    @classmethod
    def begin(cls, graph: Graph, values: dict[str, Value]) -> Walk:
        """Start at the graph's first node; ``values`` are its inputs and states."""
        return cls(graph, dict(values), [Frame(graph.nodes)])

    def copy(self) -> Walk:
        frames = [Frame(f.nodes, f.position, f.prefix, f.rename) for f in self.frames]
        return Walk(self.graph, dict(self.environment), frames, list(self.replay), self.inlined)

    def resolve(self, read: dict[int, np.ndarray]) -> None:
        """Make values, by identity, known to the host."""
        for name, value in self.environment.items():
            if id(value) in read:
                self.environment[name] = value.with_host(read[id(value)])
        self.replay = [
            [v.with_host(read[id(v)]) if id(v) in read else v for v in values] for values in self.replay
        ]

    def needed(self) -> set[str]:
        """Names that the rest of the walk, the outputs and the updates still read."""
        names = {info.name for info in self.graph.outputs} | set(self.graph.updates.values())
        for frame in self.frames:
            for node in frame.nodes[frame.position :]:
                names.update(frame.name(name) for name in node.uses())
                names.update(name for output in node.outputs if (name := frame.name(output)))
        return names

    def advance(self) -> tuple[list[Call], list[Value] | None]:
        """Walk as far as is known: the calls, and the values to read before going on (or None)."""
        calls: list[Call] = []
        while self.frames:
            frame = self.frames[-1]
            if frame.position >= len(frame.nodes):
                self.frames.pop()
                continue
            builder = Builder(calls, self.replay)
            try:
                self._visit(frame, frame.nodes[frame.position], builder)
            except ReadRequest as request:
                self.replay = builder.built
                return calls, request.values
            self.replay = []
            frame.position += 1
        return calls, None

    def _visit(self, frame: Frame, node: Node, builder: Builder) -> None:
        visit = VISITS.get(node.operator)
        if visit is not None:
            visit(self, frame, node, builder)
            return
        inputs = [self._value(frame, node, name) for name in node.inputs]
        attributes = self._attributes(frame, node)
        builder.label = node.describe()
        outputs = builder.apply(node.operator, inputs, attributes, [bool(name) for name in node.outputs])
        for name, value in zip(node.outputs, outputs, strict=False):
            if name:
                value.name = value.name or frame.name(name)
                self.environment[frame.name(name)] = value

    def _value(self, frame: Frame, node: Node, name: str) -> Value | None:
        return self.value(frame, node, name) if name else None

    def value(self, frame: Frame, node: Node, name: str) -> Value:
        """The value of a name in a frame; raises OperatorError where it has none."""
        try:
            return self.environment[frame.name(name)]
        except KeyError:
            raise OperatorError(f"{node.describe()}: input {name!r} is not defined") from None

    def _attributes(self, frame: Frame, node: Node) -> dict[str, Any]:
        """The attributes with computed ones read; one request asks for all that are missing."""
        resolved, missing = dict(node.attributes), []
        for name, attribute in node.attributes.items():
            if isinstance(attribute, Ref):
                value = self._value(frame, node, attribute.name)
                assert value is not None
                if value.host is None:
                    missing.append(value)
                resolved[name] = value.host
        if missing:
            raise ReadRequest(missing)
        return resolved


class Builder:
    """Adds calls to a list, expanding and evaluating on the host as it goes.

    Composite operators receive it: ``y = build("Mul", a, b)``, ``build("SoftMax", x, axis=1)``.
    """

    def __init__(self, calls: list[Call], replay: list[list[Value]]) -> None:
        self.calls = calls
        self.label = ""
        self.built: list[list[Value]] = []
        self._replay = list(replay)
        self._depth = 0

    def __call__(self, operator: str, *inputs: Value | None, **attributes: Any) -> Any:
        """Apply an operator: its output, or the list of them where it has several."""
        outputs = self.apply(operator, list(inputs), attributes, None)
        return outputs[0] if len(outputs) == 1 else outputs

    def constant(self, array: np.ndarray | float | int, dtype: np.dtype | type | None = None) -> Value:
        """A value known now."""
        host = np.asarray(array, dtype)
        return Value(host.dtype, host.shape, host)

    def read(self, value: Value) -> np.ndarray:
        """The content of a value, asking for a run where only the device has it."""
        if value.host is None:
            raise ReadRequest([value])
        return value.host

    def apply(
        self, name: str, inputs: list[Value | None], attributes: dict[str, Any], wanted: list[bool] | None
    ) -> list[Value]:
        """Apply an operator to values; its outputs.  Raises OperatorError."""
        operator = registry.get(name)
        if operator is None:
            raise OperatorError(f"{self.label}: the runtime has no operator {name!r}")
        call = make_call(operator, inputs, attributes, wanted, self.label)
        if operator.expand:
            return list(operator.expand(call, self))
        outputs = self._replay.pop(0) if self._replay else self._evaluate(call)
        self.built.append(outputs)
        return outputs

    def _evaluate(self, call: Call) -> list[Value]:
        try:
            call.outputs = _infer(call)
        except RuntimeFault:
            raise
        except (IndexError, ValueError, TypeError) as error:
            raise call.fail(f"cannot be applied to {_listed(call)}: {error}") from error
        if _on_host(call):
            assert call.operator.host is not None
            with np.errstate(all="ignore"):
                results = call.operator.host(call)
            return [
                Value(v.dtype, v.shape, np.asarray(r, v.dtype).reshape(v.shape), v.name)
                for v, r in zip(call.outputs, results, strict=True)
            ]
        self.calls.append(call)
        return call.outputs


def _infer(call: Call) -> list[Value]:
    operator = call.operator
    if operator.infer:
        return operator.infer(call)
    assert operator.pointwise is not None, f"{operator.name} cannot be inferred"
    return operator.pointwise.infer(call)


def _on_host(call: Call) -> bool:
    """Whether this is shape arithmetic: all known, all small."""
    if call.operator.host is None:
        return False
    known = all(value.host is not None and value.size <= HOST_LIMIT for value in call.present)
    return known and all(value.size <= HOST_LIMIT for value in call.outputs)


def _listed(call: Call) -> str:
    return ", ".join(f"{v.dtype.name}{list(v.shape)}" if v is not None else "-" for v in call.inputs)


def make_call(
    operator: Operator,
    inputs: list[Value | None],
    attributes: dict[str, Any],
    wanted: list[bool] | None,
    label: str,
) -> Call:
    """A call with its attributes complete and checked against the signature."""
    signature = operator.signature
    filled = list(inputs) + [None] * (_fixed(operator) - len(inputs))
    call = Call(operator, filled, SimpleNamespace(), tuple(wanted or [True] * len(signature.outputs)), label)
    for index, port in enumerate(signature.inputs):
        if not port.optional and not port.variadic and filled[index] is None:
            raise call.fail(f"input {port.name!r} is missing")
    if len(filled) > len(signature.inputs) and not (signature.inputs and signature.inputs[-1].variadic):
        raise call.fail(f"takes {len(signature.inputs)} inputs, got {len(filled)}")
    unknown = set(attributes) - {a.name for a in signature.attributes}
    if unknown:
        raise call.fail(f"has no attribute {sorted(unknown)[0]!r}")
    for attribute in signature.attributes:
        value = attributes.get(attribute.name)
        value = attribute.default if value is None else value
        if value is None and attribute.required:
            raise call.fail(f"attribute {attribute.name!r} is missing")
        setattr(call.a, attribute.name, _convert(call, attribute.name, attribute.type, value))
    return call


def _fixed(operator: Operator) -> int:
    return sum(not port.variadic for port in operator.signature.inputs)


def _convert(call: Call, name: str, kind: str, value: Any) -> Any:
    """An attribute in the Python form its type says (a computed one arrives as an array)."""
    if value is None:
        return None
    try:
        if kind in ("ints", "floats"):
            flat = np.asarray(value).reshape(-1).tolist()
            return tuple(int(v) if kind == "ints" else float(v) for v in flat)
        if kind in ("int", "float", "number", "bool"):
            scalar = np.asarray(value).reshape(-1)
            if scalar.size != 1:
                raise ValueError(f"has {scalar.size} elements where one is wanted")
            number = scalar[0].item()
            return {"int": int, "float": float, "bool": bool}.get(kind, lambda v: v)(number)
        if kind == "dtype":
            return np.dtype(value)
        if kind == "tensor":
            return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise call.fail(f"attribute {name!r}: {error}") from error
    return value
