"""Gathers every node that no rule covers, for one message about all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx

from .errors import UnsupportedError
from .language.compile import CompiledAlternative
from .onnx_graph import describe_node
from .rulebook import Rulebook


@dataclass
class _Entry:
    """One operator: how many of its nodes are not covered, the first of them, why."""

    operator: str
    domain: str
    opset: int
    first: str
    count: int = 0
    reasons: list[tuple[CompiledAlternative, str]] = field(default_factory=list)
    needs: tuple[str, ...] = ()


class Unsupported:
    """The nodes that no rule covers, by operator and by the reasons why not."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._entries: dict[tuple, _Entry] = {}

    def add(
        self,
        node: onnx.NodeProto,
        opset: int,
        reasons: list[tuple[CompiledAlternative, str]],
        needs: tuple[str, ...] = (),
    ) -> None:
        """One node, with the alternatives that were tried and why each does not match; ``needs``
        are the operators of its function body that no rule covers either."""
        key = (node.domain, node.op_type, opset, tuple(reason for _, reason in reasons), needs)
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(node.op_type, node.domain, opset, describe_node(node), 0, list(reasons), needs)
            self._entries[key] = entry
        entry.count += 1

    def operators(self) -> tuple[str, ...]:
        """The operators gathered."""
        return tuple(sorted({entry.operator for entry in self._entries.values()}))

    def report(self) -> None:
        """Raise UnsupportedError if there are any."""
        if not self._entries:
            return
        entries = list(self._entries.values())
        lines = [line for entry in entries for line in self._lines(entry)]
        count = sum(entry.count for entry in entries)
        nodes = "1 node is" if count == 1 else f"{count} nodes are"
        raise UnsupportedError(
            f"{nodes} covered by no rule:\n" + "\n".join(lines),
            node=entries[0].first,
            hint="add them in a folder of rules and pass it with --rules (docs/writing-rules.md)",
        )

    def _lines(self, entry: _Entry) -> list[str]:
        domain = entry.domain or "ai.onnx"
        times = "1 node" if entry.count == 1 else f"{entry.count} nodes"
        lines = [f"  {entry.operator} (domain {domain}, opset {entry.opset}): {times}, first {entry.first}"]
        for compiled, reason in entry.reasons:
            lines.append(f"    {compiled.describe()} does not match: {reason}")
        if entry.needs:
            needs = ", ".join(entry.needs)
            lines.append(f"    nor can its function body take its place: no rule covers {needs} there")
        if not entry.reasons:
            others = self._rulebook.imports_of(entry.domain, entry.operator)
            if others:
                ranges = ", ".join(_range(other) for other in others)
                lines.append(f"    the rules cover opset {ranges}")
            else:
                name = f"{entry.domain}::{entry.operator}" if entry.domain else entry.operator
                lines.append(f"    to add it, write: renamed {entry.operator} <-> {name}")
        return lines


def _range(compiled: CompiledAlternative) -> str:
    last = compiled.last_opset
    return f"{compiled.first_opset}..{'' if last is None else last}"
