"""Why each node of a model was translated as it was: ``sonnx rules explain MODEL [--node NAME]``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from ..runtime.graph import Graph, Node
from .errors import TranslationError
from .importer import Attempt, Importer
from .language.compile import CompiledAlternative
from .onnx_graph import describe_node
from .reading import read_model
from .rulebook import Rulebook, load_rulebook


@dataclass(frozen=True)
class Tried:
    """An alternative that was tried and does not match, and why."""

    rule: str
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.rule} ({self.file}:{self.line}): {self.reason}"


@dataclass(frozen=True)
class Explanation:
    """What became of one ONNX node.

    ``rule`` is the rule that fired, at ``file`` and ``line``, and ``singa`` the operators it made;
    ``rule`` is empty where none matched: then ``expanded`` says that the operator's function body
    took its place, or ``nearest`` names rules of similar operators.  ``tried`` are the alternatives
    that came before.
    """

    node: str
    operator: str
    domain: str
    opset: int
    rule: str = ""
    file: str = ""
    line: int = 0
    singa: tuple[str, ...] = ()
    expanded: bool = False
    tried: tuple[Tried, ...] = ()
    nearest: tuple[str, ...] = field(default=())

    @property
    def matched(self) -> bool:
        """Whether the node was translated."""
        return bool(self.rule) or self.expanded

    def __str__(self) -> str:
        if self.rule:
            what = f"-> {' '.join(self.singa)}, by {self.rule} ({self.file}:{self.line})"
        elif self.expanded:
            what = "replaced by its function body"
        else:
            what = f"no rule matches (domain {self.domain or 'ai.onnx'}, opset {self.opset})"
        lines = [f"{self.node}: {what}", *(f"  not {tried}" for tried in self.tried)]
        if self.nearest:
            lines.append(f"  nearest: {'; '.join(self.nearest)}")
        return "\n".join(lines)


def explain(
    model: str | Path | bytes | onnx.ModelProto,
    rules: Iterable[str | Path] | Rulebook | None = None,
    node: str | None = None,
) -> list[Explanation]:
    """What became of each node of a model, in order; of those named ``node`` where it is given.

    Nodes that no rule covers are explained, not raised.  Raises ModelError for what is no model,
    and TranslationError where no node has that name.
    """
    rulebook = rules if isinstance(rules, Rulebook) else load_rulebook(rules or ())
    source = read_model(model)
    importer = Importer(source, rulebook, attempts=[])
    try:
        graph = importer.translate()
    except TranslationError as error:
        raise error.at(file=source.file) from error.__cause__
    assert importer.attempts is not None
    made = _made(graph)
    found = [
        _explanation(attempt, made, rulebook)
        for attempt in importer.attempts
        if node is None or node in (attempt.node.name, *attempt.node.output)
    ]
    if node is not None and not found:
        names = [attempt.node.name for attempt in importer.attempts]
        near = difflib.get_close_matches(node, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        raise TranslationError(f"the model has no node {node!r}", file=source.file, hint=hint)
    return found


def _made(graph: Graph) -> dict[str, list[Node]]:
    """The SINGA nodes by each value that they give."""
    groups: dict[int, list[Node]] = {}
    made: dict[str, list[Node]] = {}
    for node in _all_nodes(graph):
        group = [node]
        if node.origin and node.origin.group:
            group = groups.setdefault(node.origin.group, [])
            group.append(node)
        for name in node.outputs:
            made[name] = group
    return made


def _all_nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for inner in node.subgraphs():
            yield from _all_nodes(inner)


def _explanation(attempt: Attempt, made: dict[str, list[Node]], rulebook: Rulebook) -> Explanation:
    node, used = attempt.node, attempt.used
    tried = tuple(_tried(compiled, reason) for compiled, reason in attempt.reasons)
    parts = (describe_node(node), node.op_type, node.domain, attempt.opset)
    if used is not None:
        span = used.alternative.span
        singa = next((made[name] for name in node.output if name in made), [])
        operators = tuple(each.operator for each in singa)
        return Explanation(*parts, used.rule.name, span.file, span.line, operators, tried=tried)
    if attempt.expanded:
        return Explanation(*parts, expanded=True, tried=tried)
    return Explanation(*parts, tried=tried, nearest=tuple(nearest(rulebook, node.domain, node.op_type)))


def _tried(compiled: CompiledAlternative, reason: str) -> Tried:
    span = compiled.alternative.span
    return Tried(compiled.rule.name, span.file, span.line, reason)


def nearest(rulebook: Rulebook, domain: str, operator: str) -> list[str]:
    """Rules that a person may have meant: the operator at other opsets, or similar names."""
    same = rulebook.imports_of(domain, operator)
    if same:
        return [compiled.describe() for compiled in same]
    names = {name: compiled for name in rulebook.onnx_operators() for compiled in rulebook.imports_of(*name)}
    close = difflib.get_close_matches(operator, [name for _, name in names], 3)
    return [names[d, name].describe() for d, name in names if name in close]
