"""Patterns of operator calls: matched against the nodes of one side, built as the other.

The same pattern serves both directions.  What differs between ONNX and SINGA is in a ``Dialect``:
what an attribute that a pattern does not list may hold, and whether an attribute is an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...runtime.graph import Ref
from .conditions import Context
from .equations import Environment
from .values import Mismatch, from_tensor, same, show


class Marker:
    """A default that is no value."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


REQUIRED = Marker("REQUIRED")
"""An attribute or input without a default."""

UNKNOWN = Marker("UNKNOWN")
"""What stands for the default of an attribute that the operator does not have."""

FROM_DIALECT = Marker("FROM_DIALECT")
"""The default is what the ONNX schema of the opset at hand, or the runtime's signature, says."""


@dataclass
class Application:
    """One node of either side, apart from how either stores it."""

    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    domain: str = ""
    name: str = ""


class Dialect(Protocol):
    """One side's conventions."""

    def default(self, application: Application, attribute: str, context: Context) -> Any:
        """The default of an attribute: None where it may be absent, REQUIRED where it may not,
        UNKNOWN where the operator has no such attribute."""
        ...

    def constant(
        self, value: Any, pattern: CallPattern, place: int, application: Application, context: Context
    ) -> str:
        """Hold an attribute's value as a constant that feeds input ``place``; its name."""
        ...

    def output_name(self, application: Application, place: int, context: Context) -> str:
        """What the operator calls its output at that place."""
        ...


@dataclass(frozen=True)
class InputSlot:
    """An input of a pattern.  ``attribute``: a constant whose value is an attribute variable, of
    runtime type ``kind``; ``default`` is the variable's value where the input is absent."""

    name: str
    variable: str
    attribute: bool = False
    optional: bool = False
    variadic: bool = False
    role: str = "input"
    kind: str = "any"
    default: Any = None


@dataclass(frozen=True)
class AttributeSlot:
    """An attribute of a pattern; ``default`` is a value, None (may be absent), REQUIRED or
    FROM_DIALECT."""

    name: str
    variable: str
    default: Any = REQUIRED


@dataclass(frozen=True)
class OutputSlot:
    """An output of a pattern."""

    name: str
    variable: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class CallPattern:
    """One call; ``ignored`` are the attributes and outputs that a rule says have no meaning."""

    operator: str
    inputs: tuple[InputSlot, ...]
    attributes: tuple[AttributeSlot, ...]
    outputs: tuple[OutputSlot, ...]
    domain: str = ""
    ignored: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()

    def match(self, application: Application, env: Environment, context: Context, dialect: Dialect) -> None:
        """Bind the pattern's variables to a node's parts; raises Mismatch with the reason."""
        self._match_inputs(application.inputs, env, context)
        self._match_attributes(application, env, context, dialect)
        self._match_outputs(application, env, context, dialect)

    def build(
        self,
        env: Environment,
        context: Context,
        dialect: Dialect,
        name: str = "",
        written: Sequence[str] = (),
    ) -> Application:
        """The node that the variables describe; attributes named in ``written`` come first and are
        kept at their default too.  Raises Mismatch where a required part is absent."""
        application = Application(self.operator, [], [], {}, self.domain, name)
        application.outputs = self._build_outputs(env, context)
        application.inputs = self._build_inputs(env, application, context, dialect)
        slots = {slot.name: slot for slot in self.attributes}
        order = [slot for slot in map(slots.get, written) if slot] if written else []
        for slot in order + [slot for slot in self.attributes if slot not in order]:
            self._build_attribute(slot, env, application, context, dialect, slot.name in written)
        return application

    # --- matching ------------------------------------------------------------------------------

    def _match_inputs(self, inputs: Sequence[str], env: Environment, context: Context) -> None:
        slots = self.inputs
        fixed = len(slots) - 1 if slots and slots[-1].variadic else len(slots)
        if fixed == len(slots) and any(inputs[fixed:]):
            raise Mismatch(f"{self.operator} has {len(inputs)} inputs where this rule has {fixed}")
        for place in range(fixed):
            self._match_input(slots[place], inputs[place] if place < len(inputs) else "", env, context)
        if fixed < len(slots):
            _bind(env, slots[fixed].variable, tuple(inputs[fixed:]))

    def _match_input(self, slot: InputSlot, name: str, env: Environment, context: Context) -> None:
        if not name:
            if not slot.optional:
                raise Mismatch(f"input {slot.name!r} is absent")
            _bind(env, slot.variable, slot.default)
        elif not slot.attribute:
            _bind(env, slot.variable, name)
        else:
            array = context.constant(name)
            try:
                value = Ref(name) if array is None else from_tensor(array, slot.kind)
            except Mismatch as mismatch:
                raise Mismatch(f"input {slot.name!r}: {mismatch}") from None
            _bind(env, slot.variable, value)

    def _match_attributes(
        self, application: Application, env: Environment, context: Context, dialect: Dialect
    ) -> None:
        given = application.attributes
        for slot in self.attributes:
            value = given.get(slot.name)
            if value is None:
                value = slot.default
                if value is FROM_DIALECT:
                    value = dialect.default(application, slot.name, context)
                if value is UNKNOWN:
                    value = None
                if value is REQUIRED:
                    raise Mismatch(f"attribute {slot.name!r} is absent")
            _bind(env, slot.variable, value, slot.name)
        for name, value in given.items():
            if name in self.listed or name in self.ignored or value is None:
                continue
            default = dialect.default(application, name, context)
            if not same(value, default):
                no_default = default is None or isinstance(default, Marker)
                usual = "" if no_default else f" (only its default {show(default)} is)"
                raise Mismatch(f"attribute {name!r} is {show(value)}, which this rule does not cover{usual}")

    def _match_outputs(
        self, application: Application, env: Environment, context: Context, dialect: Dialect
    ) -> None:
        outputs, slots = application.outputs, self.outputs
        if slots and slots[-1].variadic:
            for slot, name in zip(slots[:-1], outputs, strict=False):
                _bind(env, slot.variable, name or None)
            _bind(env, slots[-1].variable, tuple(outputs[len(slots) - 1 :]))
            return
        for place, slot in enumerate(slots):
            name = outputs[place] if place < len(outputs) else ""
            _bind(env, slot.variable, name or None)
        for place in range(len(slots), len(outputs)):
            if outputs[place]:
                name = dialect.output_name(application, place, context)
                if name not in self.ignored:
                    raise Mismatch(f"output {name!r} is used, which this rule does not give")

    # --- building ------------------------------------------------------------------------------

    def _build_inputs(
        self, env: Environment, application: Application, context: Context, dialect: Dialect
    ) -> list[str]:
        inputs: list[str] = []
        for place, slot in enumerate(self.inputs):
            value = env.get(slot.variable)
            if slot.variadic:
                inputs.extend(value or ())
            elif value is None or _left_out(slot, value, context):
                if not slot.optional:
                    raise Mismatch(f"input {slot.name!r} of {self.operator} is absent")
                inputs.append("")
            elif isinstance(value, Ref):
                inputs.append(value.name)
            elif slot.attribute:
                inputs.append(dialect.constant(value, self, place, application, context))
            else:
                inputs.append(value)
        while inputs and not inputs[-1]:
            inputs.pop()
        return inputs

    def _build_attribute(
        self,
        slot: AttributeSlot,
        env: Environment,
        application: Application,
        context: Context,
        dialect: Dialect,
        written: bool,
    ) -> None:
        value = env.get(slot.variable)
        default = slot.default
        if default is FROM_DIALECT:
            default = dialect.default(application, slot.name, context)
        if value is None:
            if default is REQUIRED:
                raise Mismatch(f"attribute {slot.name!r} of {self.operator} is absent")
            return
        if written or default is REQUIRED or not same(value, default):
            application.attributes[slot.name] = value

    def _build_outputs(self, env: Environment, context: Context) -> list[str]:
        outputs: list[str] = []
        for slot in self.outputs:
            value = env.get(slot.variable)
            if slot.variadic:
                outputs.extend(value or ())
                continue
            if value is None and not slot.optional and slot.variable not in env:
                value = env[slot.variable] = context.fresh(slot.variable)
            outputs.append(value or "")
        while outputs and not outputs[-1]:
            outputs.pop()
        return outputs


def _left_out(slot: InputSlot, value: Any, context: Context) -> bool:
    """Whether a constant is what the input's absence means, and was absent in the source too."""
    if not slot.attribute or not slot.optional or not same(value, slot.default):
        return False
    return context.source_constant(slot.name, value) is None


def _bind(env: Environment, variable: str, value: Any, what: str = "") -> None:
    """Give a variable its value; a variable that has one must mean the same."""
    if variable in env and not same(env[variable], value):
        raise Mismatch(f"{what or variable} is {show(value)} where {show(env[variable])} is expected")
    env[variable] = value


def as_array(value: Any, dtype: np.dtype) -> np.ndarray:
    """An attribute's value as a constant tensor: a scalar of rank 0, a list of rank 1."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.array(value, dtype)
    except (OverflowError, ValueError, TypeError) as error:
        raise Mismatch(f"{show(value)} is no {dtype.name}: {error}") from None
