"""Signatures and blocks as call patterns: names resolved, defaults evaluated, constants found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...runtime.operator import Operator
from ...runtime.signature import Signature as RuntimeSignature
from . import schemas
from .conditions import CONSTANTS
from .equations import evaluator
from .patterns import FROM_DIALECT, REQUIRED, AttributeSlot, CallPattern, InputSlot, OutputSlot
from .syntax import Alternative, Binding, Block, Expression, Literal, Name, Rule, Side, Signature, Step

ONNX, SINGA = "onnx", "singa"


@dataclass(frozen=True)
class SideNames:
    """What the variables of an alternative are: tensors, variadic tensors, attributes with the
    runtime type that the SINGA side gives them."""

    tensors: frozenset[str]
    variadic: frozenset[str]
    attributes: frozenset[str]
    kinds: dict[str, str]
    operators: Mapping[str, Operator]
    bare: RuntimeSignature | None = None

    @classmethod
    def of(cls, rule: Rule, alternative: Alternative, operators: Mapping[str, Operator]) -> SideNames:
        """Read both sides."""
        sides: list[tuple[Side, str]] = [(rule.side, SINGA), (alternative.side, ONNX)]
        attributes: set[str] = set()
        tensors: set[str] = set()
        variadic: set[str] = set()
        for side, _ in sides:
            if isinstance(side, Signature):
                attributes.update(port.variable for port in side.attributes)
                attributes.update(p.name for p in side.inputs or () if p.role == "const")
                tensors.update(port.name for port in (side.inputs or ()) + side.outputs)
                variadic.update(p.name for p in (side.inputs or ()) + side.outputs if p.variadic)
            else:
                for step in side.steps:
                    tensors.update(step.outputs)
                    tensors.update(a.name for a in step.arguments if isinstance(a, Name))
                    attributes.update(v.name for _, v in step.attributes if isinstance(v, Name))
        kinds = _kinds(rule.side, operators)
        bare = None
        if isinstance(rule.side, Signature) and rule.side.inputs is None:
            bare = _bare_signature(rule.side.operator, alternative, operators)
            tensors.update(port.name for port in bare.inputs + bare.outputs)
            variadic.update(port.name for port in bare.inputs + bare.outputs if port.variadic)
            attributes.update(attribute.name for attribute in bare.attributes)
        tensors -= attributes
        return cls(frozenset(tensors), frozenset(variadic), frozenset(attributes), kinds, operators, bare)


def _kinds(side: Side, operators: Mapping[str, Operator]) -> dict[str, str]:
    """The runtime type of each variable that is directly an attribute on the SINGA side."""
    kinds: dict[str, str] = {}
    if isinstance(side, Signature):
        if side.operator in operators:
            signature = operators[side.operator].signature
            for port in side.attributes:
                attribute = signature.attribute(port.name)
                if attribute:
                    kinds[port.variable] = attribute.type
        return kinds
    for step in side.steps:
        if step.operator in operators:
            signature = operators[step.operator].signature
            for name, value in step.attributes:
                attribute = signature.attribute(name)
                if attribute and isinstance(value, Name):
                    kinds[value.name] = attribute.type
    return kinds


def _bare_signature(
    operator: str, alternative: Alternative, operators: Mapping[str, Operator]
) -> RuntimeSignature:
    """The parts that ``renamed ReLU <-> Relu`` leaves out: the runtime's, or ONNX's where the
    runtime has no such operator."""
    if operator in operators:
        return operators[operator].signature
    assert isinstance(alternative.side, Signature)
    domain, name = schemas.split(alternative.side.operator)
    return schemas.as_signature(name, domain, alternative.opset[1])


def lower_signature(side: Signature, dialect: str, names: SideNames, ignored: frozenset[str]) -> CallPattern:
    """One operator with all that it has."""
    domain, operator = schemas.split(side.operator) if dialect == ONNX else ("", side.operator)
    if side.inputs is None:
        return _lower_bare(operator, domain, names, ignored)
    inputs = tuple(
        InputSlot(
            port.name,
            port.name,
            port.name in names.attributes,
            port.optional or port.default is not None,
            port.variadic,
            port.role,
            names.kinds.get(port.name, "any"),
            constant_value(port.default),
        )
        for port in side.inputs
    )
    attributes = tuple(
        AttributeSlot(port.name, port.variable, _default(port.default, port.optional, dialect))
        for port in side.attributes
    )
    outputs = tuple(OutputSlot(p.name, p.name, p.optional, p.variadic) for p in side.outputs)
    listed = frozenset(slot.name for slot in attributes)
    return CallPattern(operator, inputs, attributes, outputs, domain, ignored, listed)


def _lower_bare(operator: str, domain: str, names: SideNames, ignored: frozenset[str]) -> CallPattern:
    bare = names.bare
    assert bare is not None
    inputs = tuple(InputSlot(p.name, p.name, False, p.optional, p.variadic) for p in bare.inputs)
    attributes = tuple(AttributeSlot(a.name, a.name, FROM_DIALECT) for a in bare.attributes)
    outputs = tuple(OutputSlot(p.name, p.name, p.optional, p.variadic) for p in bare.outputs)
    listed = frozenset(slot.name for slot in attributes)
    return CallPattern(operator, inputs, attributes, outputs, domain, ignored, listed)


def _default(default: Expression | None, optional: bool, dialect: str) -> object:
    if default is not None:
        return constant_value(default)
    if optional:
        return None
    return REQUIRED if dialect == ONNX else FROM_DIALECT


def constant_value(expression: Expression | None) -> object:
    """The value of an expression without variables (None for none)."""
    if expression is None:
        return None
    return evaluator(expression, frozenset())(dict(CONSTANTS), None)  # type: ignore[arg-type]


def lower_block(
    side: Block, dialect: str, names: SideNames, ignored: frozenset[str]
) -> tuple[tuple[CallPattern, ...], list[Binding]]:
    """Several calls; an expression in place of a variable becomes a variable bound to it."""
    bindings: list[Binding] = []
    patterns = []
    for number, step in enumerate(side.steps):
        patterns.append(_lower_step(step, f"{dialect}{number}", dialect, names, ignored, bindings))
    return tuple(patterns), bindings


def _lower_step(
    step: Step, prefix: str, dialect: str, names: SideNames, ignored: frozenset[str], bindings: list[Binding]
) -> CallPattern:
    domain, operator = schemas.split(step.operator) if dialect == ONNX else ("", step.operator)

    def variable(expression: Expression, part: str) -> str:
        if isinstance(expression, Name) and expression.name not in CONSTANTS:
            return expression.name
        name = f"{prefix}.{part}"
        bindings.append(Binding((name,), expression, expression.span))
        return name

    inputs = []
    for place, argument in enumerate(step.arguments):
        part = f"input {place}"
        if argument is None:
            inputs.append(InputSlot(part, f"{prefix}.absent", optional=True))
            continue
        name = variable(argument, part)
        inputs.append(
            InputSlot(
                part,
                name,
                name not in names.tensors,
                variadic=name in names.variadic,
                kind=names.kinds.get(name, "any"),
            )
        )
    attributes = tuple(
        AttributeSlot(name, variable(value, name), FROM_DIALECT) for name, value in step.attributes
    )
    outputs = tuple(OutputSlot(name, name, variadic=name in names.variadic) for name in step.outputs)
    listed = frozenset(slot.name for slot in attributes)
    return CallPattern(operator, tuple(inputs), attributes, outputs, domain, ignored, listed)


__all__ = ["ONNX", "SINGA", "Literal", "SideNames", "constant_value", "lower_block", "lower_signature"]
