"""Sides against what the operator has: inputs, attributes and outputs, one by one.

The same checks serve ONNX (a schema in the form of a signature, for each version that an
alternative claims) and SINGA (the runtime's signature).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...runtime.signature import Attribute, Input
from ...runtime.signature import Signature as Facts
from .equations import variables
from .errors import counted, near
from .lowering import constant_value
from .syntax import AttributePort, Expression, Literal, Port, Signature, Span, Step, Subgraph
from .values import Mismatch, same, show


@dataclass(frozen=True)
class Finding:
    """An error before it is known in how many versions it is one: ``{owner}`` is filled in later."""

    code: str
    span: Span
    parts: tuple[tuple[str, object], ...] = ()
    expected: str = ""
    hint: str = ""


def _found(code: str, span: Span, expected: str = "", hint: str = "", **parts: object) -> Finding:
    return Finding(code, span, tuple(parts.items()), expected, hint)


def signature_findings(
    side: Signature, facts: Facts, onnx: bool, ignored: frozenset[str]
) -> Iterator[Finding]:
    """Compare a signature (not bare) with all that its operator has."""
    inputs = side.inputs or ()
    yield from _repeated([(p.name, p.span) for p in inputs] + [(a.name, a.span) for a in side.attributes])
    yield from _repeated(
        [(a.variable, a.span) for a in side.attributes] + [(p.name, p.span) for p in side.outputs]
    )
    yield from _ports("input", side.span, inputs, facts.inputs, frozenset())
    yield from _ports("output", side.span, side.outputs, facts.outputs, ignored)
    if not onnx:
        for port in inputs:
            if port.role == "const":
                yield _found("misplaced-role", port.span, role=port.role)
    for port in inputs:
        if port.default is not None:
            yield from _constant(port.name, port.default)
    for port in side.attributes:
        attribute = facts.attribute(port.name)
        if attribute is None:
            names = [each.name for each in facts.attributes]
            yield _found("unknown-attribute", port.span, hint=near(port.name, names), name=port.name)
            continue
        yield from _attribute(port, attribute, onnx)
    listed = {port.name for port in side.attributes} | ignored
    for attribute in facts.attributes:
        if attribute.name not in listed:
            expected = _form(attribute)
            yield _found("missing-attribute", side.span, f"{expected!r} after ';'", name=attribute.name)


def step_findings(step: Step, facts: Facts) -> Iterator[Finding]:
    """Compare a call with its operator; what it leaves out must have a default."""
    variadic = bool(facts.inputs) and facts.inputs[-1].variadic
    if len(step.arguments) > len(facts.inputs) and not variadic:
        yield _found("too-many-inputs", step.span, count=counted(len(facts.inputs), "input"))
    for place, formal in enumerate(facts.inputs):
        if formal.optional or formal.variadic:
            continue
        if place >= len(step.arguments):
            yield _found("missing-input", step.span, name=formal.name)
        elif step.arguments[place] is None:
            yield _found("absent-input", step.span, name=formal.name)
    many = bool(facts.outputs) and facts.outputs[-1].variadic
    if len(step.outputs) > len(facts.outputs) and not many:
        yield _found("too-many-outputs", step.span, count=counted(len(facts.outputs), "output"))
    yield from _repeated([(name, step.span) for name, _ in step.attributes])
    names = [each.name for each in facts.attributes]
    for name, value in step.attributes:
        attribute = facts.attribute(name)
        if attribute is None:
            yield _found("unknown-attribute", value.span, hint=near(name, names), name=name)
        elif isinstance(value, Literal):
            yield from literal_findings(name, value, attribute)
    given = {name for name, _ in step.attributes}
    for attribute in facts.attributes:
        if attribute.required and attribute.name not in given:
            yield _found("missing-attribute", step.span, name=attribute.name)


def bare_findings(
    side: Signature, other: str, facts: Facts, singa: Facts, ignored: frozenset[str]
) -> Iterator[Finding]:
    """Whether two operators differ in nothing but their name."""
    if _marks(facts.inputs) != _marks(singa.inputs):
        yield _differ(side, other, "their inputs are not alike")
    if _marks([port for port in facts.outputs if port.name not in ignored]) != _marks(singa.outputs):
        yield _differ(side, other, "their outputs are not alike")
    own = {attribute.name for attribute in facts.attributes} - ignored
    for name in sorted(own ^ {attribute.name for attribute in singa.attributes}):
        yield _differ(side, other, f"only one of them has the attribute {name!r}")
    for attribute in facts.attributes:
        counterpart = singa.attribute(attribute.name)
        if counterpart and not same(_plain(counterpart.default), _plain(attribute.default)):
            values = f"{show(_plain(attribute.default))} and {show(_plain(counterpart.default))}"
            yield _differ(side, other, f"the defaults of {attribute.name!r} are {values}")


def _marks(ports: Sequence[Input]) -> list[tuple[bool, bool]]:
    return [(port.optional, port.variadic) for port in ports]


def literal_findings(name: str, value: Literal, attribute: Attribute) -> Iterator[Finding]:
    """Whether a literal is of an attribute's type."""
    if value.value is not None and not _fits(value.value, attribute.type):
        yield _found(
            "wrong-type", value.span, name=name, type=_TYPES[attribute.type], value=show(value.value)
        )


def _differ(side: Signature, other: str, difference: str) -> Finding:
    return _found("not-only-renamed", side.span, operator=side.operator, other=other, difference=difference)


def _repeated(names: Sequence[tuple[str, Span]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            yield _found("repeated-item", span, item=name)
        seen.add(name)


def _ports(
    what: str, span: Span, ports: Sequence[Port], formals: Sequence[Input], ignored: frozenset[str]
) -> Iterator[Finding]:
    """Positional inputs or outputs, their number and their marks."""
    if len(ports) > len(formals):
        yield _found(f"too-many-{what}s", ports[len(formals)].span, count=counted(len(formals), what))
    for port, formal in zip(ports, formals, strict=False):
        optional = port.optional or port.default is not None
        if port.variadic != formal.variadic or (optional != formal.optional and not formal.variadic):
            wanted = formal.name + _mark(formal)
            yield _found(f"{what}-mark", port.span, repr(wanted), name=port.name, formal=_describe(formal))
    for formal in formals[len(ports) :]:
        if formal.name not in ignored:
            yield _found(f"missing-{what}", span, repr(formal.name + _mark(formal)), name=formal.name)


def _mark(formal: Input) -> str:
    return "..." if formal.variadic else "?" if formal.optional else ""


def _describe(formal: Input) -> str:
    return "variadic" if formal.variadic else "optional" if formal.optional else "required"


def _form(attribute: Attribute) -> str:
    """How a signature declares an attribute."""
    if attribute.required:
        return attribute.name
    if attribute.default is None:
        return f"{attribute.name}?"
    return f"{attribute.name} = {_text(_plain(attribute.default))}"


def _text(value: object) -> str:
    """A value as the language writes it."""
    if isinstance(value, str):
        return f'"{value}"'
    return show(value).replace("'", '"') if isinstance(value, tuple) else str(value)


def _attribute(port: AttributePort, attribute: Attribute, onnx: bool) -> Iterator[Finding]:
    """One declared attribute: its mark and its default.  On the SINGA side a plain name stands for
    whatever the signature says."""
    if port.default is not None:
        failed = list(_constant(port.name, port.default))
        yield from failed
        if failed:
            return
    written = constant_value(port.default)
    default = _plain(attribute.default)
    if port.default is not None and default is not None:
        if not same(written, default):
            expected = _form(attribute)
            yield _found("wrong-default", port.span, repr(expected), name=port.name, default=_text(default),
                         written=_text(written))  # fmt: skip
        return
    optional = port.optional if onnx else port.optional or (attribute.optional and port.default is None)
    if default is not None:
        if onnx or port.optional:
            yield _found(
                "missing-default", port.span, repr(_form(attribute)), name=port.name, default=_text(default)
            )
    elif optional != attribute.optional or (attribute.required and port.default is not None):
        formal = "required" if attribute.required else "optional, without a default"
        yield _found("attribute-mark", port.span, repr(_form(attribute)), name=port.name, formal=formal)
    elif isinstance(port.default, Literal):
        yield from literal_findings(port.name, port.default, attribute)


def _constant(name: str, default: Expression) -> Iterator[Finding]:
    if variables(default):
        try:
            constant_value(default)
        except (KeyError, Mismatch):
            yield _found("default-not-constant", default.span, name=name)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


_TYPES = {
    "int": "an integer",
    "ints": "a list of integers",
    "float": "a number",
    "floats": "a list of numbers",
    "string": "a string",
    "strings": "a list of strings",
    "number": "a number",
    "bool": "true or false",
    "dtype": "the name of an element type",
    "tensor": "a tensor",
    "graph": "a graph",
    "any": "anything",
}


def _fits(value: object, kind: str) -> bool:
    if kind.endswith("s"):
        return isinstance(value, tuple) and all(_fits(item, kind[:-1]) for item in value)
    if kind == "int":
        return isinstance(value, int)
    if kind in ("float", "number"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in ("string", "dtype"):
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool) or value in (0, 1)
    if kind == "graph":
        return isinstance(value, Subgraph)
    return not isinstance(value, Subgraph)
