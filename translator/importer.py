"""ONNX to SINGA: each node by the first rule alternative that matches it, in time linear in nodes.

``import_model`` reads a model and gives a ``runtime.graph.Graph``.  Initializers and Constant nodes
become states; what a rule takes as an attribute is read from them, and stays a ``Ref`` where only a
run can tell.  All nodes that no rule covers are reported in one error.

Plain onnx protos are used rather than onnx-graphsurgeon: its import copies every node into objects
of its own and loses what a faithful way back needs (attribute order, node metadata, value_info).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..runtime.graph import Graph, Node, Origin, State, ValueInfo
from .dialects import OnnxDialect, SingaDialect
from .errors import ModelError, TranslationError
from .garbage import collection_paused
from .inlining import Body, Expander
from .language import schemas
from .language.compile import CompiledAlternative, match_side
from .language.equations import Environment
from .language.patterns import Application, InputSlot
from .language.values import Mismatch
from .onnx_graph import OnnxGraph, Source, describe_node
from .reading import read_model
from .rulebook import Rulebook, load_rulebook
from .unsupported import Unsupported

FLOAT_ROLES = {"param": "param", "state": "state"}


def import_model(
    model: str | Path | bytes | onnx.ModelProto,
    rules: Iterable[str | Path] | Rulebook | None = None,
) -> Graph:
    """Translate an ONNX model to a SINGA graph.

    ``model``: a path, the file's bytes, or a loaded model.  ``rules``: folders on top of the
    shipped rules, or a rulebook.  Raises ModelError, UnsupportedError or RuleError.
    """
    rulebook = rules if isinstance(rules, Rulebook) else load_rulebook(rules or ())
    source = read_model(model)
    try:
        with collection_paused():
            return Importer(source, rulebook).run()
    except TranslationError as error:
        raise error.at(file=source.file) from error.__cause__


@dataclass
class Attempt:
    """How one node was translated: which alternatives do not match and why, and which does."""

    node: onnx.NodeProto
    opset: int
    reasons: list[tuple[CompiledAlternative, str]] = field(default_factory=list)
    used: CompiledAlternative | None = None
    expanded: bool = False


class Importer:
    """One model being translated.

    ``unsupported`` gathers the nodes that no rule covers; ``attempts``, where it is a list, how
    every node was translated.
    """

    def __init__(self, source: Source, rulebook: Rulebook, attempts: list[Attempt] | None = None) -> None:
        self.source = source
        self.attempts = attempts
        self.rulebook = rulebook
        self.unsupported = Unsupported(rulebook)
        self.expander = Expander(source)
        self.groups = 0
        self.expanded: dict[str, int] = {}

    def run(self) -> Graph:
        """The whole model; raises UnsupportedError naming all nodes that no rule covers."""
        graph = self.translate()
        self.unsupported.report()
        return graph

    def translate(self) -> Graph:
        """The whole model, without the nodes that no rule covers."""
        proto = self.source.model
        graph = self.graph(OnnxGraph(self.source, proto.graph, None))
        graph.metadata |= {
            "opset": dict(self.source.opsets),
            "ir_version": proto.ir_version,
            "producer": proto.producer_name,
            "producer_version": proto.producer_version,
        }
        if proto.metadata_props:
            graph.metadata["properties"] = {p.key: p.value for p in proto.metadata_props}
        if self.expanded:
            graph.metadata["expanded"] = dict(self.expanded)
        return graph

    def graph(self, onnx_graph: OnnxGraph) -> Graph:
        """One graph or subgraph."""
        return GraphImporter(self, onnx_graph).run()


_CONVERTIBLE = {
    getattr(onnx.AttributeProto, name) for name in ("INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS")
}


class GraphImporter:
    """One graph being translated: the ``Context`` in which its nodes are matched."""

    def __init__(self, importer: Importer, onnx_graph: OnnxGraph) -> None:
        self.importer = importer
        self.source = onnx_graph
        self.graph = Graph(onnx_graph.proto.name)
        self.onnx, self.singa = OnnxDialect(), SingaDialect()
        self._opsets = importer.source.opsets
        self._names: set[str] = set()

    # --- the context that patterns see -----------------------------------------------------------

    def opset(self, domain: str) -> int:
        return self._opsets.get(domain, 1)

    def info(self, name: str) -> ValueInfo | None:
        state = self.graph.states.get(name)
        if state is not None:
            return ValueInfo(name, state.array.dtype, state.array.shape)
        return self.source.info(name)

    def constant(self, name: str) -> np.ndarray | None:
        return self.source.constant(name)

    def add_constant(self, array: np.ndarray, hint: str) -> str:
        name = self.fresh(hint)
        self.graph.states[name] = State(array)
        return name

    def source_constant(self, port: str, value: Any) -> str | None:
        return None

    def fresh(self, hint: str) -> str:
        return self.source.fresh(hint)

    # --- the walk --------------------------------------------------------------------------------

    def run(self) -> Graph:
        """Translate every node, in an order in which each follows what it uses."""
        graph, source = self.graph, self.source
        graph.inputs = source.inputs()
        for name, array in source.initializers.items():
            graph.states[name] = State(array)
        claims = self._claims()
        for node in source.ordered():
            claim = claims.get(id(node))
            if claim is None:
                self._translate(node)
            elif claim[1][-1] is node:
                self._apply(*claim)
                self._note(*claim)
        graph.outputs = source.outputs()
        graph.values = source.value_infos()
        if source.constant_nodes:
            graph.metadata["constant_nodes"] = dict(source.constant_nodes)
        if source.folded:
            graph.metadata["folded"] = dict(source.folded)
        return graph

    def _note(self, compiled: CompiledAlternative, nodes: list[onnx.NodeProto]) -> None:
        if self.importer.attempts is not None:
            opset = self.opset(compiled.anchor.domain)
            self.importer.attempts += [Attempt(node, opset, used=compiled) for node in nodes]

    def _translate(self, node: onnx.NodeProto) -> None:
        domain = "" if node.domain in schemas.DEFAULT_DOMAINS else node.domain
        if domain == "" and node.op_type == "Constant":
            name, array = self.source.add_constant_node(node)
            self.graph.states[name] = State(array)
            return
        branch = self.importer.expander.branch(node, self.source)
        if branch is not None:
            self._translate_body(branch)
            return
        attempt = Attempt(node, self.opset(domain))
        if self.importer.attempts is not None:
            self.importer.attempts.append(attempt)
        if self.importer.expander.is_local(node) or not self._by_rule(node, domain, attempt):
            self._expand(node, attempt)

    def _by_rule(self, node: onnx.NodeProto, domain: str, attempt: Attempt) -> bool:
        """Translate a node by the first alternative that matches it."""
        importer = self.importer
        for candidate in importer.rulebook.importing(
            domain, node.op_type, attempt.opset, importer.source.producer
        ):
            if len(candidate.onnx) > 1:
                continue
            try:
                self._apply(candidate, [node])
            except Mismatch as mismatch:
                attempt.reasons.append((candidate, str(mismatch)))
            else:
                attempt.used = candidate
                return True
        return False

    def _expand(self, node: onnx.NodeProto, attempt: Attempt) -> None:
        """Translate the nodes of the operator's function body in its place, where it has one."""
        importer, unsupported = self.importer, self.importer.unsupported
        body = importer.expander.expand(node, self.source)
        if body is None:
            unsupported.add(node, attempt.opset, attempt.reasons)
            return
        attempt.expanded = True
        importer.expanded[node.op_type] = importer.expanded.get(node.op_type, 0) + 1
        if importer.expander.is_local(node):
            self._translate_body(body)
            return
        importer.unsupported = Unsupported(importer.rulebook)
        self._translate_body(body)
        needs, importer.unsupported = importer.unsupported.operators(), unsupported
        if needs:
            attempt.expanded = False
            unsupported.add(node, attempt.opset, attempt.reasons, needs)

    def _translate_body(self, body: Body) -> None:
        for name, array in body.initializers.items():
            self.graph.states[name] = State(array)
            self.source.remember(name, array)
        self.source.add_expanded(body.nodes, body.opsets)
        outer, self._opsets = self._opsets, body.opsets
        for inner in body.nodes:
            self._translate(inner)
        self._opsets = outer

    # --- one application of a rule ---------------------------------------------------------------

    def _apply(self, compiled: CompiledAlternative, nodes: Sequence[onnx.NodeProto]) -> None:
        """Match nodes against a rule and add what it makes of them; raises Mismatch."""
        applications = [self._application(node) for node in nodes]
        env = match_side(compiled.onnx, applications, self, self.onnx)
        assert compiled.importing is not None
        compiled.importing.run(env, self)
        group = 0
        if len(compiled.singa) > 1 or len(nodes) > 1:
            self.importer.groups += 1
            group = self.importer.groups
        origin = _origin(compiled, applications, env, self.opset(compiled.anchor.domain), group)
        built = [pattern.build(env, self, self.singa) for pattern in compiled.singa]
        for pattern, made in zip(compiled.singa, built, strict=True):
            self._mark_states(pattern.inputs, env)
            name = self._node_name(applications[-1].name or made.operator)
            self.graph.nodes.append(
                Node(made.operator, made.inputs, made.outputs, made.attributes, name, origin)
            )

    def _application(self, node: onnx.NodeProto) -> Application:
        domain = "" if node.domain in schemas.DEFAULT_DOMAINS else node.domain
        declared = schemas.attribute_types(node.op_type, self.opset(domain), domain)
        attributes = {a.name: self._attribute(node, a, declared.get(a.name, a.type)) for a in node.attribute}
        return Application(node.op_type, list(node.input), list(node.output), attributes, domain, node.name)

    def _attribute(self, node: onnx.NodeProto, attribute: onnx.AttributeProto, declared: int) -> Any:
        where = f"attribute {attribute.name!r} of {describe_node(node)}"
        if not _may_be(attribute.type, declared):
            raise ModelError(
                f"{where} is of type {_type_name(attribute.type)}, and ONNX declares {_type_name(declared)}"
            )
        if attribute.type == onnx.AttributeProto.GRAPH:
            inner = OnnxGraph(self.importer.source, attribute.g, self.source)
            return self.importer.graph(inner)
        if attribute.type == onnx.AttributeProto.TENSOR:
            return self.importer.source.weights.array(attribute.t, where)
        try:
            return schemas.attribute_value(attribute)
        except (ValueError, TypeError) as error:
            raise ModelError(f"{where}: {error}") from None

    def _mark_states(self, slots: Sequence[InputSlot], env: Environment) -> None:
        """Initializers that nodes read as tensors are trained where they are floats, or what the
        rule calls them."""
        for slot in slots:
            value = env.get(slot.variable)
            for name in value if isinstance(value, tuple) else (value,):
                state = self.graph.states.get(name) if isinstance(name, str) else None
                if state is None or slot.attribute or name in self.source.constant_nodes:
                    continue
                if slot.role in FLOAT_ROLES:
                    state.kind = FLOAT_ROLES[slot.role]  # type: ignore[assignment]
                elif state.kind == "const" and state.array.dtype.kind not in "biu":
                    state.kind = "param"

    def _node_name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._names:
            number += 1
            name = f"{wanted}_{len(self.graph.nodes)}" if number == 1 else f"{name}_{number}"
        self._names.add(name)
        return name

    # --- patterns of several nodes ---------------------------------------------------------------

    def _claims(self) -> dict[int, tuple[CompiledAlternative, list[onnx.NodeProto]]]:
        """Which nodes a rule takes several at a time."""
        rulebook = self.importer.rulebook
        claims: dict[int, tuple[CompiledAlternative, list[onnx.NodeProto]]] = {}
        for node in self.source.proto.node:
            domain = "" if node.domain in schemas.DEFAULT_DOMAINS else node.domain
            candidates = rulebook.importing(
                domain, node.op_type, self.opset(domain), self.importer.source.producer
            )
            for candidate in candidates:
                if len(candidate.onnx) < 2:
                    break
                nodes = self._trace(candidate, node)
                if nodes and not any(id(n) in claims for n in nodes) and self._holds(candidate, nodes):
                    claims.update((id(n), (candidate, nodes)) for n in nodes)
                    break
        return claims

    def _trace(self, compiled: CompiledAlternative, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
        """The nodes that feed ``node`` as the pattern's calls feed one another, or None."""
        patterns = compiled.onnx
        made_by = {
            slot.variable: (index, place)
            for index, pattern in enumerate(patterns)
            for place, slot in enumerate(pattern.outputs)
        }
        found: list[onnx.NodeProto | None] = [None] * len(patterns)
        found[-1] = node
        for index in range(len(patterns) - 1, -1, -1):
            at = found[index]
            if at is None or at.op_type != patterns[index].operator:
                return None
            for place, slot in enumerate(patterns[index].inputs):
                if slot.variable not in made_by or place >= len(at.input):
                    continue
                producer = self.source.producers.get(at.input[place])
                earlier = made_by[slot.variable][0]
                if producer is None or found[earlier] not in (None, producer):
                    return None
                found[earlier] = producer
        return [n for n in found if n is not None] if None not in found else None

    def _holds(self, compiled: CompiledAlternative, nodes: list[onnx.NodeProto]) -> bool:
        """Whether the nodes match, and nothing else reads what they pass to one another."""
        own = {id(node) for node in nodes}
        for node in nodes[:-1]:
            for name in node.output:
                if name and not self.source.used_only_by(name, own):
                    return False
        try:
            applications = [self._application(node) for node in nodes]
            env = match_side(compiled.onnx, applications, self, self.onnx)
            assert compiled.importing is not None
            compiled.importing.run(env, self)
        except Mismatch:
            return False
        return True


def _may_be(written: int, declared: int) -> bool:
    """Whether an attribute may be written as a type: numbers, lists and texts convert (old exporters
    wrote one for another), what is a message of its own does not."""
    return written == declared or {written, declared} <= _CONVERTIBLE


def _type_name(kind: int) -> str:
    return onnx.AttributeProto.AttributeType.Name(kind)


def _origin(
    compiled: CompiledAlternative, applications: list[Application], env: Environment, opset: int, group: int
) -> Origin:
    """Where a node comes from, for traces and the way back."""
    last, span = applications[-1], compiled.alternative.span
    names: dict[str, str] = {}
    for pattern, application in zip(compiled.onnx, applications, strict=True):
        for slot, name in zip(pattern.inputs, application.inputs, strict=False):
            if slot.attribute and name:
                names[slot.name] = name
    return Origin(
        rule=compiled.rule.name,
        file=span.file,
        line=span.line,
        operator=f"{last.domain}::{last.operator}" if last.domain else last.operator,
        opset=opset,
        nodes=tuple(application.name for application in applications),
        group=group,
        written=tuple(last.attributes),
        names=names,
    )
