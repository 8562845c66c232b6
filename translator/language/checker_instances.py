"""Concrete nodes without a model: an example's steps, or generated ones, as patterns see them.

Nothing is computed here: this is enough to ask which alternative matches a node, and why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.dtypes import by_name
from ...runtime.graph import Ref, ValueInfo
from . import schemas
from .checker_world import World
from .compile import CompiledAlternative, match_side
from .conditions import CONSTANTS
from .lowering import constant_value
from .patterns import REQUIRED, Application, CallPattern
from .syntax import Example, Expression, Name, Step
from .values import Mismatch, same, show


@dataclass
class Instance:
    """Nodes of one side and the graph around them, as far as a condition may ask."""

    versions: int
    nodes: list[Application] = field(default_factory=list)
    tensors: dict[str, ValueInfo] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def opset(self, domain: str) -> int:
        return 1 if domain else self.versions

    def info(self, name: str) -> ValueInfo | None:
        if name in self.constants:
            array = self.constants[name]
            return ValueInfo(name, array.dtype, array.shape)
        return self.tensors.get(name)

    def constant(self, name: str) -> np.ndarray | None:
        return self.constants.get(name)

    def add_constant(self, array: np.ndarray, hint: str) -> str:
        name = self.fresh(hint)
        self.constants[name] = array
        return name

    def source_constant(self, port: str, value: Any) -> str | None:
        return None

    def fresh(self, hint: str) -> str:
        return f"{hint}#{len(self.constants)}"

    def describe(self) -> str:
        """The nodes as the language writes them."""
        return ", ".join(map(self._describe, self.nodes)) + f" at opset {self.versions}"

    def _describe(self, node: Application) -> str:
        inputs = [self._argument(name) for name in node.inputs]
        attributes = [f"{name} = {show(value)}" for name, value in node.attributes.items()]
        inside = ", ".join(inputs) + ("; " + ", ".join(attributes) if attributes else "")
        return f"{node.operator}({inside})"

    def _argument(self, name: str) -> str:
        if not name:
            return "-"
        return str(self.constants[name].tolist()) if name in self.constants else name


@dataclass(frozen=True)
class Defaults:
    """A dialect, as far as matching needs it: the defaults of attributes, the names of outputs."""

    world: World
    onnx: bool

    def default(self, application: Application, attribute: str, context: Any) -> Any:
        if self.onnx:
            opset = context.opset(application.domain)
            known = schemas.attribute_defaults(application.operator, opset, application.domain)
            return known.get(attribute, REQUIRED)
        signature = self.world.singa(application.operator)
        found = signature.attribute(attribute) if signature else None
        if found is None or found.required:
            return REQUIRED
        return tuple(found.default) if isinstance(found.default, list) else found.default

    def output_name(self, application: Application, place: int, context: Any) -> str:
        if self.onnx:
            opset = context.opset(application.domain)
            schema = schemas.schema(application.operator, opset, application.domain)
            formal = schemas.formal(schema.outputs, place) if schema else None
            return formal.name if formal else f"output {place}"
        signature = self.world.singa(application.operator)
        outputs = signature.outputs if signature else ()
        return outputs[place].name if place < len(outputs) else f"output {place}"

    def constant(
        self, value: Any, pattern: CallPattern, place: int, application: Application, context: Any
    ) -> str:
        raise Mismatch("an instance is only matched, never built")


def mismatch(
    compiled: CompiledAlternative, instance: Instance, world: World, onnx: bool = True
) -> str | None:
    """Why an alternative does not match nodes of the ONNX (or SINGA) side; None where it does."""
    direction = compiled.importing if onnx else compiled.exporting
    if direction is None:
        return "it does not go this way"
    try:
        pattern = compiled.onnx if onnx else compiled.singa
        env = match_side(pattern, instance.nodes, instance, Defaults(world, onnx))
        direction.run(env, instance)
    except Mismatch as reason:
        return str(reason)
    return None


def of_example(example: Example, opset: int, world: World, onnx: bool) -> Instance:
    """One side of an example.  Raises Mismatch or ValueError for a value that cannot be."""
    instance = Instance(opset)
    for given in example.given:
        dtype = None if given.dtype == "string" else by_name(given.dtype)
        instance.tensors[given.name] = ValueInfo(given.name, dtype, given.shape)
    for step in example.onnx if onnx else example.singa:
        instance.nodes.append(_application(step, instance, world, onnx))
    return instance


def _application(step: Step, instance: Instance, world: World, onnx: bool) -> Application:
    domain, operator = schemas.split(step.operator) if onnx else ("", step.operator)
    inputs = []
    for argument in step.arguments:
        if argument is None:
            inputs.append("")
        elif isinstance(argument, Name):
            inputs.append(argument.name)
        else:
            inputs.append(instance.add_constant(_tensor(argument), "constant"))
    signature = None if onnx else world.singa(operator)
    kinds = {each.name: each.type for each in signature.attributes} if signature else {}
    attributes = {name: _attribute(value, kinds.get(name, "")) for name, value in step.attributes}
    return Application(operator, inputs, list(step.outputs), attributes, domain)


def _tensor(expression: Expression) -> np.ndarray:
    """A literal argument as a constant: integers are int64, other numbers float32, unless typed."""
    value = _value(expression)
    if isinstance(value, np.ndarray):
        return value
    array = np.array(value)
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    return array.astype(np.int64) if array.dtype.kind in "iu" or not array.size else array


def _attribute(expression: Expression, kind: str) -> Any:
    """An attribute's value in an example; ``kind`` is its runtime type on the SINGA side."""
    if isinstance(expression, Name) and expression.name not in CONSTANTS:
        return Ref(expression.name)
    value = _value(expression)
    return by_name(value) if kind == "dtype" and isinstance(value, str) else value


def _value(expression: Expression) -> Any:
    try:
        return constant_value(expression)
    except KeyError as error:
        raise Mismatch(f"{error} has no value in an example") from None


def is_dtype(name: str) -> bool:
    """Whether a name is an element type of numpy or ml_dtypes."""
    try:
        by_name(name)
    except TypeError:
        return False
    return True


def non_default(values: Mapping[str, Any], name: str, default: Any) -> bool:
    """Whether an attribute is set, and not to its default."""
    return values.get(name) is not None and not same(values[name], default)
