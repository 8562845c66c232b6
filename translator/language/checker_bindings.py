"""Names and bindings of each alternative: bound and used, known functions, computable both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature

from .checker_world import World
from .compile import CompileError, compile_alternative
from .conditions import CONSTANTS, TENSOR_CONDITIONS, VALUE_CONDITIONS
from .equations import variables
from .errors import Diagnostic, counted, diagnostic, near
from .lenses import LENSES
from .syntax import (
    Alternative,
    Apply,
    Binding,
    Block,
    Clause,
    Expression,
    Name,
    Require,
    Rule,
    Side,
    Signature,
    Span,
)

_OPERATORS = frozenset("+ - * / neg == != < <= > >= in and or not list".split())  # noqa: SIM905
_CONDITIONS = {**TENSOR_CONDITIONS, **VALUE_CONDITIONS}


@dataclass
class _Names:
    """Where an alternative's names occur; ``given`` are those that a side or a target binds."""

    given: dict[str, Span] = field(default_factory=dict)
    used: dict[str, Span] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def give(self, name: str, span: Span) -> None:
        self.given.setdefault(name, span)
        self.counts[name] = self.counts.get(name, 0) + 1

    def use(self, expression: Expression) -> None:
        for name in occurrences(expression):
            self.used.setdefault(name.name, name.span)
            self.counts[name.name] = self.counts.get(name.name, 0) + 1

    def side(self, side: Side) -> None:
        """Everything that a side names."""
        if isinstance(side, Signature):
            for port in (*(side.inputs or ()), *side.outputs):
                self.give(port.name, port.span)
            for attribute in side.attributes:
                self.give(attribute.variable, attribute.span)
            return
        for step in side.steps:
            for name in step.outputs:
                if name:
                    self.give(name, step.span)
            for value in (*step.arguments, *(value for _, value in step.attributes)):
                if isinstance(value, Name) and value.name not in CONSTANTS:
                    self.give(value.name, value.span)
                elif value is not None:
                    self.use(value)


def check_bindings(rule: Rule) -> Iterator[Diagnostic]:
    """Every alternative's names and functions."""
    yield from _functions(rule.clauses)
    for alternative in rule.alternatives:
        yield from _functions(alternative.clauses)
        yield from _side_functions(alternative.side)
        yield from _names(rule, alternative)


def occurrences(expression: Expression) -> Iterator[Name]:
    """Every place where an expression reads a name."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from occurrences(argument)


# --- names -------------------------------------------------------------------------------------


def _names(rule: Rule, alternative: Alternative) -> Iterator[Diagnostic]:
    if any(isinstance(side, Signature) and side.inputs is None for side in (rule.side, alternative.side)):
        return
    names = _Names()
    names.side(rule.side)
    own = set(names.given)
    names.side(alternative.side)
    for clause in (*rule.clauses, *alternative.clauses):
        if isinstance(clause, Binding):
            for target in clause.targets:
                if target:
                    names.give(target, clause.span)
            names.use(clause.value)
        elif isinstance(clause, Require):
            names.use(clause.condition)
    known = set(names.given)
    for name, span in names.used.items():
        if name not in known and name not in CONSTANTS:
            yield diagnostic("unbound-name", span, hint=near(name, known), name=name)
    for name, span in names.given.items():
        if names.counts[name] == 1:
            others = sorted(known - {name})
            related = (("this alternative does not mention it", alternative.span),) if name in own else ()
            yield diagnostic("unused-name", span, hint=near(name, others), related=related, name=name)
    yield from _constants(rule, alternative, names)


def _constants(rule: Rule, alternative: Alternative, names: _Names) -> Iterator[Diagnostic]:
    """A ``const`` input must be an attribute on the SINGA side, directly or by a binding."""
    side = alternative.side
    if not isinstance(side, Signature):
        return
    taken = set(names.used)
    for clause in (*rule.clauses, *alternative.clauses):
        if isinstance(clause, Binding):
            taken.update(clause.targets)
    if isinstance(rule.side, Signature):
        taken.update(attribute.variable for attribute in rule.side.attributes)
    else:
        for step in rule.side.steps:
            for _, value in step.attributes:
                taken |= variables(value)
    for port in side.inputs or ():
        if port.role == "const" and port.name not in taken and names.counts[port.name] > 1:
            yield diagnostic(
                "const-without-attribute", port.span, hint=near(port.name, taken), name=port.name
            )


# --- functions ---------------------------------------------------------------------------------


def _functions(clauses: Sequence[Clause]) -> Iterator[Diagnostic]:
    for clause in clauses:
        if isinstance(clause, Binding):
            value = clause.value
            gives = (
                LENSES[value.function].targets if isinstance(value, Apply) and value.function in LENSES else 1
            )
            if gives != len(clause.targets):
                name = repr(value.function) if isinstance(value, Apply) else "the right side"
                yield diagnostic(
                    "target-count",
                    clause.span,
                    name=name,
                    wanted=counted(gives, "value"),
                    count=len(clause.targets),
                )
            yield from _calls(value)
        elif isinstance(clause, Require):
            yield from _calls(clause.condition)


def _side_functions(side: Side) -> Iterator[Diagnostic]:
    if isinstance(side, Block):
        for step in side.steps:
            for value in (*step.arguments, *(value for _, value in step.attributes)):
                if value is not None:
                    yield from _calls(value)


def _calls(expression: Expression) -> Iterator[Diagnostic]:
    if not isinstance(expression, Apply):
        return
    for argument in expression.arguments:
        yield from _calls(argument)
    name = expression.function
    if name in _OPERATORS:
        return
    expected = _arity(name)
    if expected is None:
        hint = near(name, (*LENSES, *_CONDITIONS))
        yield diagnostic("unknown-function", expression.span, hint=hint, name=name)
    elif expected != len(expression.arguments):
        yield diagnostic(
            "argument-count",
            expression.span,
            name=repr(name),
            wanted=counted(expected, "argument"),
            count=len(expression.arguments),
        )


def _arity(name: str) -> int | None:
    """How many arguments a function takes; None where there is no such function."""
    if name in LENSES:
        return LENSES[name].sources + LENSES[name].context
    if name not in _CONDITIONS:
        return None
    parameters = signature(_CONDITIONS[name]).parameters
    return len(parameters) - (name in TENSOR_CONDITIONS)  # the graph is no argument in the text


# --- directions --------------------------------------------------------------------------------


def check_directions(rule: Rule, world: World) -> Iterator[Diagnostic]:
    """Whether each direction that an arrow claims can be computed; for a rule without other errors."""
    for alternative in rule.alternatives:
        try:
            compile_alternative(rule, alternative, world.operators)
        except CompileError as error:
            yield diagnostic("not-invertible", error.span, reason=error.reason)
