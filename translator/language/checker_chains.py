"""Chains of rules that never end: operators that come back larger from every round trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .checker_ranges import anchor
from .errors import Diagnostic, diagnostic
from .syntax import Alternative, Block, Rule, Side


def check_chains(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """Cycles of import and export through an alternative that makes several nodes of one."""
    edges: dict[str, list[tuple[str, Alternative, bool]]] = {}
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
            path = _path(edges, target, start) if grows else None
            if path:
                chain = " -> ".join(name.split(" ", 1)[1] for name in (start, *path))
                yield diagnostic("endless-chain", alternative.span, chain=chain)


def _operators(side: Side) -> list[str]:
    return [step.operator for step in side.steps] if isinstance(side, Block) else [side.operator]


def _path(edges: dict[str, list[tuple[str, Alternative, bool]]], start: str, goal: str) -> list[str] | None:
    """The names from one operator to another, or None where no rules lead there."""
    reached: dict[str, list[str]] = {start: [start]}
    pending = [start]
    while pending:
        here = pending.pop()
        if here == goal:
            return reached[here]
        for target, _, _ in edges.get(here, ()):
            if target not in reached:
                reached[target] = [*reached[here], target]
                pending.append(target)
    return None
