"""Chains of rules that never end: operators that come back larger from every round trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .checker_ranges import anchor
from .errors import Diagnostic, diagnostic
from .syntax import Alternative, Apply, Binding, Block, Expression, Literal, Name, Require, Rule, Side

_Edges = dict[str, list[tuple[str, Alternative, bool]]]


def check_chains(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """Cycles of import and export through an alternative that makes several nodes of one."""
    edges: _Edges = {}
    for rule in rules:
        for alternative in rule.alternatives:
            if alternative.producer is not None:
                continue
            onnx, singa = _operators(alternative.side), _operators(rule.side)
            if alternative.arrow != "->" and len(onnx) == 1:
                for operator in singa:
                    edge = (f"singa {operator}", alternative, len(singa) > 1 and alternative.arrow == "<-")
                    edges.setdefault(f"onnx {anchor(alternative)}", []).append(edge)
            if alternative.arrow != "<-" and len(singa) == 1:
                for operator in onnx:
                    edge = (f"onnx {operator}", alternative, len(onnx) > 1)
                    edges.setdefault(f"singa {singa[0]}", []).append(edge)
    for start in list(edges):
        for target, alternative, grows in edges[start]:
            path = _path(edges, target, start, alternative) if grows else None
            if path:
                chain = " -> ".join(name.split(" ", 1)[1] for name in (start, *path))
                yield diagnostic("endless-chain", alternative.span, chain=chain)


def _operators(side: Side) -> list[str]:
    return [step.operator for step in side.steps] if isinstance(side, Block) else [side.operator]


def _path(edges: _Edges, start: str, goal: str, growing: Alternative) -> list[str] | None:
    """The names from one operator to another, or None where no rules lead there: of alternatives
    for the same versions, the last of which gives what the growing alternative takes."""
    reached: dict[str, list[str]] = {start: [start]}
    pending = [start]
    while pending:
        here = pending.pop()
        if here == goal:
            return reached[here]
        for target, alternative, _ in edges.get(here, ()):
            apart = not _overlap(alternative, growing) or (target == goal and _differ(alternative, growing))
            if target not in reached and not apart:
                reached[target] = [*reached[here], target]
                pending.append(target)
    return None


def _overlap(one: Alternative, other: Alternative) -> bool:
    """Whether two alternatives share a version."""
    (a, b), (c, d) = one.opset, other.opset
    return (d is None or a <= d) and (b is None or c <= b)


def _differ(one: Alternative, other: Alternative) -> bool:
    """Whether two alternatives hold a variable to different literals."""
    left, right = _pinned(one), _pinned(other)
    return any(name in right and right[name] != value for name, value in left.items())


def _pinned(alternative: Alternative) -> dict[str, object]:
    """The variables that a literal binding or a condition holds to one value."""
    pinned: dict[str, object] = {}
    for clause in alternative.clauses:
        if isinstance(clause, Binding) and isinstance(clause.value, Literal):
            pinned.update((target, clause.value.value) for target in clause.targets)
        elif isinstance(clause, Require):
            pinned |= _held(clause.condition)
    return pinned


def _held(condition: Expression) -> dict[str, object]:
    """The equalities with literals in a conjunction."""
    if not isinstance(condition, Apply) or condition.function not in ("and", "=="):
        return {}
    if condition.function == "and":
        held: dict[str, object] = {}
        for argument in condition.arguments:
            held |= _held(argument)
        return held
    left, right = condition.arguments
    return {left.name: right.value} if isinstance(left, Name) and isinstance(right, Literal) else {}
