"""Opset ranges: every version of a covered operator is imported, every rule exports without a hole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .checker_world import World, ranges
from .errors import Diagnostic, diagnostic
from .syntax import Alternative, Block, Rule

REFUSED = {"Scan": range(8, 9)}
"""Versions that nobody need import: Scan's first had a batch axis of its own, and no exporter wrote it."""


def anchor(alternative: Alternative) -> str:
    """The ONNX operator that an import recognises the alternative by: the last of a block."""
    side = alternative.side
    return side.steps[-1].operator if isinstance(side, Block) else side.operator


def check_ranges(rules: Sequence[Rule], world: World) -> Iterator[Diagnostic]:
    """Holes and unclaimed versions, by ONNX operator on import and by rule on export."""
    importing: dict[str, list[Alternative]] = {}
    for rule in rules:
        for alternative in rule.alternatives:
            single = not isinstance(alternative.side, Block) or len(alternative.side.steps) == 1
            if alternative.arrow != "->" and alternative.producer is None and single:
                importing.setdefault(anchor(alternative), []).append(alternative)
        yield from _export_holes(rule, world)
    for operator, alternatives in importing.items():
        yield from _import_holes(operator, alternatives, world)


def _import_holes(operator: str, alternatives: Sequence[Alternative], world: World) -> Iterator[Diagnostic]:
    versions = [version for version in world.versions(operator) if not version.deprecated]
    needed = [opset for version in versions for opset in range(version.first, version.last + 1)]
    needed = [opset for opset in needed if opset not in REFUSED.get(operator, ())]
    missing = [opset for opset in needed if not any(covers(each, opset) for each in alternatives)]
    if not missing:
        return
    top = max((opset for opset in needed if opset not in missing), default=0)
    last = max(alternatives, key=lambda each: each.opset[1] or world.newest)
    for code, opsets in (
        ("version-hole", [opset for opset in missing if opset < top]),
        ("version-unclaimed", [opset for opset in missing if opset > top]),
    ):
        if opsets:
            text = ranges([(opset, opset) for opset in opsets])
            yield diagnostic(code, last.span, operator=operator, range=text)


def _export_holes(rule: Rule, world: World) -> Iterator[Diagnostic]:
    """Between the first version that a rule exports to and the newest, each must be exported to."""
    exporting = [alternative for alternative in rule.alternatives if alternative.arrow != "<-"]
    there = {
        id(alternative): [
            opset
            for version in world.versions(anchor(alternative))
            if not version.deprecated
            for opset in range(version.first, version.last + 1)
            if covers(alternative, opset)
        ]
        for alternative in exporting
    }
    reached = sorted({opset for opsets in there.values() for opset in opsets})
    if not reached:
        return
    missing = [opset for opset in range(reached[0], world.newest + 1) if opset not in reached]
    if missing:
        text = ranges([(opset, opset) for opset in missing])
        yield diagnostic("export-hole", exporting[-1].span, rule=rule.name, range=text)


def covers(alternative: Alternative, opset: int) -> bool:
    """Whether an alternative claims a version."""
    first, last = alternative.opset
    return first <= opset and (last is None or opset <= last)
