"""From the syntax tree of a rule to what the importer and the exporter apply.

Each alternative becomes two sides of call patterns, and for each direction a list of actions that
computes the variables of the side to build from those of the side that matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...runtime.operator import Operator
from ...runtime.operators import registry
from .conditions import CONSTANTS, Context
from .equations import Action, Environment, arrange, evaluator, variables
from .lowering import ONNX, SINGA, SideNames, lower_block, lower_signature
from .patterns import Application, CallPattern, Dialect
from .syntax import Alternative, Binding, Block, Ignore, Require, Rule, RuleFile, Side, Signature
from .values import Mismatch, Unknown


class CompileError(ValueError):
    """A rule that cannot be applied in a direction it claims; ``rule`` and ``where`` locate it."""

    def __init__(self, alternative: Alternative, reason: str) -> None:
        super().__init__(f"{alternative.span}: {reason}")
        self.span = alternative.span
        self.reason = reason


@dataclass(frozen=True)
class Direction:
    """What an alternative does in one direction, after its source side matched."""

    actions: tuple[Action, ...]
    conditions: tuple[Action, ...]

    def run(self, env: Environment, context: Context) -> None:
        """Compute the target side's variables, then test the conditions; raises Mismatch."""
        for action in self.actions:
            action(env, context)
        for condition in self.conditions:
            condition(env, context)


@dataclass(frozen=True)
class CompiledAlternative:
    """One arrow of a rule, ready to be applied.

    ``onnx`` and ``singa`` are the patterns of the two sides (several for a block); ``importing``
    and ``exporting`` are None where the arrow does not go that way.
    """

    rule: Rule
    alternative: Alternative
    onnx: tuple[CallPattern, ...]
    singa: tuple[CallPattern, ...]
    importing: Direction | None
    exporting: Direction | None

    @property
    def first_opset(self) -> int:
        return self.alternative.opset[0]

    @property
    def last_opset(self) -> int | None:
        return self.alternative.opset[1]

    def covers(self, opset: int) -> bool:
        """Whether the alternative is for that version of its operator set."""
        last = self.last_opset
        return self.first_opset <= opset and (last is None or opset <= last)

    @property
    def anchor(self) -> CallPattern:
        """The ONNX call that an import recognises the alternative by: the last."""
        return self.onnx[-1]

    def describe(self) -> str:
        """How a message names it."""
        first, last = self.alternative.opset
        until = "" if last is None else last
        span = self.alternative.span
        return f"{self.rule.name} ({span.file}:{span.line}, opset {first}..{until})"


def compile_file(file: RuleFile) -> list[CompiledAlternative]:
    """Every alternative of a file's rules; raises CompileError."""
    return [compiled for rule in file.rules for compiled in compile_rule(rule)]


def compile_rule(rule: Rule, operators: Mapping[str, Operator] = registry) -> list[CompiledAlternative]:
    """The alternatives of one rule, in order; raises CompileError."""
    return [compile_alternative(rule, alternative, operators) for alternative in rule.alternatives]


def compile_alternative(
    rule: Rule, alternative: Alternative, operators: Mapping[str, Operator] = registry
) -> CompiledAlternative:
    """One alternative; raises CompileError where a variable of the target side stays unknown."""
    clauses = rule.clauses + alternative.clauses
    bindings = [clause for clause in clauses if isinstance(clause, Binding)]
    requires = [clause for clause in clauses if isinstance(clause, Require)]
    ignored = frozenset(clause.name for clause in clauses if isinstance(clause, Ignore))
    names = SideNames.of(rule, alternative, operators)
    singa, singa_bindings = _lower(rule.side, SINGA, names, frozenset())
    onnx, onnx_bindings = _lower(alternative.side, ONNX, names, ignored)
    bindings += singa_bindings + onnx_bindings
    used = _used(bindings, requires)
    onnx = _close(onnx, singa, used)
    singa = _close(singa, onnx, used)
    compiled = _Sides(alternative, bindings, requires, names.tensors)
    importing = compiled.direction(onnx, singa, "import") if alternative.arrow != "->" else None
    exporting = compiled.direction(singa, onnx, "export") if alternative.arrow != "<-" else None
    return CompiledAlternative(rule, alternative, onnx, singa, importing, exporting)


def _lower(
    side: Side, dialect: str, names: SideNames, ignored: frozenset[str]
) -> tuple[tuple[CallPattern, ...], list[Binding]]:
    if isinstance(side, Signature):
        return (lower_signature(side, dialect, names, ignored),), []
    assert isinstance(side, Block)
    return lower_block(side, dialect, names, ignored)


def _used(bindings: Iterable[Binding], requires: Iterable[Require]) -> set[str]:
    used: set[str] = set()
    for binding in bindings:
        used.update(binding.targets, variables(binding.value))
    for require in requires:
        used |= variables(require.condition)
    return used


def slots(patterns: Sequence[CallPattern]) -> Iterable[Any]:
    """Every input, attribute and output slot of a side."""
    for pattern in patterns:
        yield from pattern.inputs
        yield from pattern.attributes
        yield from pattern.outputs


def _close(
    side: tuple[CallPattern, ...], other: tuple[CallPattern, ...], used: set[str]
) -> tuple[CallPattern, ...]:
    """Take out attributes that nothing else in the rule reads, so that they match only at their
    default: a value must not be dropped in silence."""
    elsewhere = {slot.variable for slot in slots(other)} | used
    counts: dict[str, int] = {}
    for slot in slots(side):
        counts[slot.variable] = counts.get(slot.variable, 0) + 1
    closed = []
    for pattern in side:
        kept = tuple(s for s in pattern.attributes if s.variable in elsewhere or counts[s.variable] > 1)
        listed = frozenset(slot.name for slot in kept)
        closed.append(replace(pattern, attributes=kept, listed=listed))
    return tuple(closed)


@dataclass(frozen=True)
class _Sides:
    """What both directions of an alternative are made from."""

    alternative: Alternative
    bindings: list[Binding]
    requires: list[Require]
    tensors: frozenset[str]

    def direction(
        self, source: tuple[CallPattern, ...], target: tuple[CallPattern, ...], way: str
    ) -> Direction:
        known = {slot.variable for slot in slots(source)}
        actions, have, left = arrange(known, self.bindings, self.tensors)
        made = {slot.variable for pattern in target for slot in pattern.outputs}
        for slot in slots(target):
            if slot.variable not in have | made and _needed(slot):
                raise CompileError(
                    self.alternative, f"on {way}, nothing gives {slot.name!r} its value ({slot.variable})"
                )
        if left:
            names = ", ".join(left[0].targets)
            raise CompileError(self.alternative, f"on {way}, {names} = ... can be computed neither way")
        conditions = []
        for require in self.requires:
            if require.direction not in (None, way):
                continue
            missing = variables(require.condition) - have - CONSTANTS.keys()
            if missing:
                name = sorted(missing)[0]
                raise CompileError(self.alternative, f"on {way}, the condition's {name!r} is not known")
            conditions.append(_condition(require, self.tensors))
        return Direction(tuple(actions), tuple(conditions))


def _needed(slot: Any) -> bool:
    """Whether a slot of the target side must have a value."""
    optional = getattr(slot, "optional", None)
    if optional is None:
        from .patterns import REQUIRED

        return slot.default is REQUIRED
    return not optional and not slot.variadic


def _condition(require: Require, tensors: frozenset[str]) -> Action:
    holds = evaluator(require.condition, tensors)

    def run(env: Environment, context: Context) -> None:
        try:
            true = holds(env, context)
        except Unknown as unknown:
            raise Mismatch(f"{require.message} ({unknown})") from None
        if not true:
            raise Mismatch(require.message)

    return run


def match_side(
    patterns: Sequence[CallPattern],
    applications: Sequence[Application],
    context: Context,
    dialect: Dialect,
) -> Environment:
    """Match nodes against a side, pattern by pattern; the variables.  Raises Mismatch."""
    env: Environment = {}
    if len(patterns) != len(applications):
        raise Mismatch(f"{len(applications)} nodes where this rule has {len(patterns)}")
    for pattern, application in zip(patterns, applications, strict=True):
        if pattern.operator != application.operator or pattern.domain != application.domain:
            raise Mismatch(f"{application.operator} where this rule has {pattern.operator}")
        pattern.match(application, env, context, dialect)
    return env
