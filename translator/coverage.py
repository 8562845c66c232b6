"""What the rules cover: ONNX operator by opset by direction, SINGA operator by direction.

``sonnx rules coverage`` prints it, and the documentation's table is generated from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from onnx import defs

from ..runtime.operators import registry
from .language import schemas
from .language.syntax import Block
from .rulebook import Entry, Rulebook

OLDEST_EXPORT = 9
EXPERIMENTAL = "ai.onnx.preview.training"


@dataclass(frozen=True)
class Versions:
    """The opsets ``first`` to ``last`` for which one schema of an operator is in force."""

    first: int
    last: int
    imported: bool
    exported: bool
    function: bool


@dataclass(frozen=True)
class OnnxRow:
    """One ONNX operator: ``singa`` are the SINGA operators that it becomes."""

    operator: str
    singa: tuple[str, ...]
    versions: tuple[Versions, ...]

    @property
    def imported(self) -> bool:
        """Whether every version is, by a rule or by its function body."""
        return all(version.imported or version.function for version in self.versions)

    @property
    def exported(self) -> bool:
        """Whether every version that can be written is."""
        return all(version.exported for version in self.versions if version.last >= OLDEST_EXPORT)


@dataclass(frozen=True)
class SingaRow:
    """One SINGA operator: ``onnx`` are the ONNX operators that it is written as."""

    operator: str
    onnx: tuple[str, ...]
    imported: bool
    exported: bool


@dataclass(frozen=True)
class Coverage:
    """Both tables."""

    onnx: tuple[OnnxRow, ...]
    singa: tuple[SingaRow, ...]

    def missing(self) -> list[str]:
        """Everything that is not covered, a line each."""
        lines = []
        for row in self.onnx:
            for version in row.versions:
                span = f"{row.operator} {version.first}..{version.last}"
                if not version.imported and not version.function:
                    lines.append(f"ONNX {span}: no import")
                if not version.exported and version.last >= OLDEST_EXPORT:
                    lines.append(f"ONNX {span}: no export")
        for operator in self.singa:
            if not operator.imported:
                lines.append(f"SINGA {operator.operator}: no import")
            if not operator.exported:
                lines.append(f"SINGA {operator.operator}: no export")
        return lines

    def as_json(self) -> str:
        """Both tables and what is missing, for machines."""
        content = {"onnx": [asdict(row) for row in self.onnx], "singa": [asdict(row) for row in self.singa]}
        return json.dumps({**content, "missing": self.missing()}, indent=2)

    def as_markdown(self) -> str:
        """Both tables for the documentation."""
        lines = ["| ONNX operator | SINGA operators | imported | exported |", "|---|---|---|---|"]
        for row in self.onnx:
            imported = _ranges((v.first, v.last, v.imported or v.function) for v in row.versions)
            exported = _ranges((max(v.first, OLDEST_EXPORT), v.last, v.exported) for v in row.versions)
            lines.append(f"| {row.operator} | {', '.join(row.singa) or '-'} | {imported} | {exported} |")
        lines += ["", "| SINGA operator | ONNX operators | imported | exported |", "|---|---|---|---|"]
        for operator in self.singa:
            ways = ["yes" if way else "no" for way in (operator.imported, operator.exported)]
            lines.append(f"| {operator.operator} | {', '.join(operator.onnx) or '-'} | {' | '.join(ways)} |")
        return "\n".join(lines) + "\n"


def measure(rulebook: Rulebook, operators: Iterable[str] = ()) -> Coverage:
    """The coverage of the ONNX operators named (by default of all that a rule mentions), and of
    every operator of the runtime."""
    names = sorted(set(operators) or {name for domain, name in rulebook.onnx_operators() if not domain})
    rows = tuple(_onnx_row(rulebook, name) for name in names if schemas.versions(name))
    return Coverage(rows, tuple(_singa_row(rulebook, name) for name in sorted(registry)))


def all_operators() -> list[str]:
    """Every operator of ONNX's default set that is still in force."""
    found = {schema.name for schema in defs.get_all_schemas() if not schema.domain and not schema.deprecated}
    return sorted(found)


def _onnx_row(rulebook: Rulebook, operator: str) -> OnnxRow:
    entries = rulebook.entries_for("", operator)
    starts = schemas.versions(operator)
    versions = []
    for place, first in enumerate(starts):
        found = schemas.schema(operator, first)
        if found is None or found.deprecated:
            continue
        last = starts[place + 1] - 1 if place + 1 < len(starts) else schemas.NEWEST
        within = range(max(first, OLDEST_EXPORT), last + 1)
        versions.append(
            Versions(
                first,
                last,
                _covered(entries, range(first, last + 1), "->"),
                bool(within) and _covered(entries, within, "<-"),
                found.has_function or found.has_context_dependent_function,
            )
        )
    singa = sorted({name for entry in entries for name in _singa_names(entry)})
    return OnnxRow(operator, tuple(singa), tuple(versions))


def _covered(entries: list[Entry], opsets: range, other_way: str) -> bool:
    """Whether each opset has an alternative that does not go the other way alone."""
    usable = [e for e in entries if e.alternative.arrow != other_way and e.alternative.producer is None]
    return all(any(entry.covers(opset) for entry in usable) for opset in opsets)


def _singa_names(entry: Entry) -> list[str]:
    side = entry.rule.side
    return [step.operator for step in side.steps] if isinstance(side, Block) else [side.operator]


def _singa_row(rulebook: Rulebook, operator: str) -> SingaRow:
    entries = [entry for entry in rulebook.entries() if operator in _singa_names(entry)]
    alone = [entry for entry in entries if not isinstance(entry.rule.side, Block)]
    names = sorted({name for entry in alone for name in entry.onnx_names()})
    return SingaRow(
        operator,
        tuple(names),
        any(entry.alternative.arrow != "->" for entry in entries),
        any(entry.alternative.arrow != "<-" for entry in alone),
    )


def _ranges(versions: Iterable[tuple[int, int, bool]]) -> str:
    """The opsets that are covered, neighbours joined: ``1..12, 14..28``."""
    joined: list[list[int]] = []
    for first, last, covered in versions:
        if not covered or first > last:
            continue
        if joined and joined[-1][1] == first - 1:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    return ", ".join(f"{first}..{last}" for first, last in joined) or "-"
