"""Examples of rules as models: the ONNX side, the SINGA side, and inputs to run them on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...runtime.dtypes import BOOL, by_name, is_float
from ...runtime.graph import Graph, Node, State, ValueInfo
from ...runtime.operators import registry
from . import schemas
from .conditions import CONSTANTS
from .equations import evaluator
from .patterns import as_array
from .syntax import Example, Expression, Given, Name, Step, Subgraph
from .values import Mismatch


class ExampleError(ValueError):
    """An example that describes no model."""


def versions(example: Example) -> list[int]:
    """The opsets in which an example is tested: the ends of its range, from where all of its ONNX
    operators are there, and both sides of every change of a schema that it uses."""
    there = [schemas.versions(operator) for operator in (step.operator for step in example.onnx)]
    first = max([example.opset[0], *(since[0] for since in there if since)])
    last = example.opset[1]
    last = min(last or schemas.NEWEST, schemas.NEWEST)
    chosen = {first, last}
    for step in example.onnx:
        domain, operator = schemas.split(step.operator)
        for since in schemas.versions(operator, domain):
            chosen.update(v for v in (since - 1, since) if first <= v <= last)
    return sorted(chosen)


def input_arrays(example: Example, seed: int = 0) -> dict[str, np.ndarray]:
    """Values for the tensors that the example is given, reproducibly."""
    random = np.random.default_rng(seed)
    return {given.name: _array(given, random) for given in example.given}


def _array(given: Given, random: np.random.Generator) -> np.ndarray:
    dtype = by_name(given.dtype)
    if given.value is not None:
        listed = np.array(given.value, dtype)
        if listed.size == math.prod(given.shape):
            return listed.reshape(given.shape)
        return np.broadcast_to(listed, given.shape).copy()
    if dtype == BOOL:
        return random.integers(0, 2, given.shape).astype(bool)
    low, high = -1.0 if given.low is None else given.low, 1.0 if given.high is None else given.high
    if is_float(dtype):
        return random.uniform(low, high, given.shape).astype(dtype)
    return random.integers(int(low), int(high) + 1, given.shape).astype(dtype)


def value_infos(example: Example) -> list[ValueInfo]:
    """The example's tensors as graph inputs."""
    return [ValueInfo(given.name, by_name(given.dtype), given.shape) for given in example.given]


def results(steps: Sequence[Step]) -> list[str]:
    """The outputs of a side that no later step reads."""
    read = {a.name for step in steps for a in step.arguments if isinstance(a, Name)}
    return [name for step in steps for name in step.outputs if name and name not in read]


def _constant(expression: Expression) -> Any:
    """The value of an expression in an example: it has no variables."""
    try:
        return evaluator(expression, frozenset())(dict(CONSTANTS), None)  # type: ignore[arg-type]
    except (KeyError, Mismatch, TypeError) as error:
        raise ExampleError(f"{expression.span}: {error}") from None


def _as_tensor(value: Any) -> np.ndarray:
    """A positional constant: whole numbers are int64, others float32."""
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f" or not array.size:
        return as_array(value, np.dtype(np.float32 if array.size else np.int64))
    return array if array.dtype == BOOL else as_array(value, np.dtype(np.int64))


# --- the ONNX side -----------------------------------------------------------------------------


def onnx_model(example: Example, opset: int) -> onnx.ModelProto:
    """The example's ONNX nodes as a model; raises ExampleError."""
    inputs = [
        helper.make_tensor_value_info(
            given.name, helper.np_dtype_to_tensor_dtype(by_name(given.dtype)), given.shape
        )
        for given in example.given
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in results(example.onnx)]
    graph = helper.make_graph([], "example", inputs, outputs)
    _onnx_steps(graph, example.onnx, opset)
    domains = {schemas.split(step.operator)[0] for step in example.onnx} | {""}
    opsets = [helper.make_opsetid(domain, 1 if domain else opset) for domain in sorted(domains)]
    ir_version = max(8, helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    model.producer_name = example.producer or "example"
    return model


def _onnx_steps(graph: onnx.GraphProto, steps: Iterable[Step], opset: int) -> None:
    for number, step in enumerate(steps):
        domain, operator = schemas.split(step.operator)
        types = schemas.attribute_types(operator, opset, domain)
        node = graph.node.add(op_type=operator, domain=domain, name=f"{operator}_{number}")
        for place, argument in enumerate(step.arguments):
            node.input.append(_onnx_argument(graph, argument, f"{operator}_{number}_{place}"))
        node.output.extend(step.outputs)
        for name, expression in step.attributes:
            node.attribute.append(_onnx_attribute(name, expression, types.get(name), opset))


def _onnx_argument(graph: onnx.GraphProto, argument: Expression | None, name: str) -> str:
    if argument is None:
        return ""
    if isinstance(argument, Name):
        return argument.name
    graph.initializer.append(numpy_helper.from_array(_as_tensor(_constant(argument)), name))
    return name


def _onnx_attribute(name: str, expression: Expression, kind: int | None, opset: int) -> onnx.AttributeProto:
    value = _constant(expression)
    if isinstance(value, Subgraph):
        return onnx.AttributeProto(
            name=name, type=onnx.AttributeProto.GRAPH, g=_onnx_subgraph(name, value, opset)
        )
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if kind == onnx.AttributeProto.FLOAT and isinstance(value, int):
        value = float(value)
    if kind == onnx.AttributeProto.FLOATS:
        value = [float(item) for item in value]
    return helper.make_attribute(name, list(value) if isinstance(value, tuple) else value, attr_type=kind)


def _onnx_subgraph(name: str, value: Subgraph, opset: int) -> onnx.GraphProto:
    inputs = [helper.make_empty_tensor_value_info(i) for i in value.inputs]
    outputs = [helper.make_empty_tensor_value_info(o) for o in value.outputs]
    graph = helper.make_graph([], name, inputs, outputs)
    _onnx_steps(graph, value.steps, opset)
    return graph


# --- the SINGA side ----------------------------------------------------------------------------


def singa_graph(example: Example) -> Graph:
    """The example's SINGA nodes as a graph; raises ExampleError."""
    graph = Graph("example", value_infos(example), [ValueInfo(n) for n in results(example.singa)])
    _singa_steps(graph, example.singa)
    return graph


def _singa_steps(graph: Graph, steps: Iterable[Step]) -> None:
    for number, step in enumerate(steps):
        name = f"{step.operator}_{number}"
        inputs = [_singa_argument(graph, a, f"{name}_{place}") for place, a in enumerate(step.arguments)]
        attributes = {key: _singa_attribute(step.operator, key, value) for key, value in step.attributes}
        graph.nodes.append(Node(step.operator, inputs, list(step.outputs), attributes, name))


def _singa_argument(graph: Graph, argument: Expression | None, name: str) -> str:
    if argument is None:
        return ""
    if isinstance(argument, Name):
        return argument.name
    graph.states[name] = State(_as_tensor(_constant(argument)))
    return name


def _singa_attribute(operator: str, name: str, expression: Expression) -> Any:
    signature = registry[operator].signature if operator in registry else None
    attribute = signature.attribute(name) if signature else None
    if isinstance(expression, Name) and expression.name not in CONSTANTS:
        from ...runtime.graph import Ref

        return Ref(expression.name)
    value = _constant(expression)
    if isinstance(value, Subgraph):
        graph = Graph(name, [ValueInfo(i) for i in value.inputs], [ValueInfo(o) for o in value.outputs])
        _singa_steps(graph, value.steps)
        return graph
    if attribute is not None and attribute.type == "dtype" and isinstance(value, str):
        return by_name(value)
    return value
