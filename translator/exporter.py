"""SINGA to ONNX: each node by the first rule alternative that can say it at the wanted opset.

Nodes that one rule made together fold back together.  Names, attributes that were written out at
their default, and the initializers that had become attributes come back as they were, where the
graph still means the same.  Plain onnx protos, for the reason given in ``importer``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..runtime.graph import Graph, Node, Origin, State, ValueInfo
from .dialects import OnnxDialect, SingaDialect, missing_defaults
from .errors import ModelError, TranslationError, UnsupportedError
from .garbage import collection_paused
from .language import schemas
from .language.compile import CompiledAlternative, match_side
from .language.patterns import Application
from .language.values import Mismatch, matches_tensor
from .legalise import casts, make_cast
from .onnx_graph import used_names
from .onnx_types import Types
from .rulebook import Rulebook, load_rulebook
from .writing import make_attributes, make_tensor, make_value_info, new_model, write_model

DEFAULT_OPSET = 21
OLDEST, NEWEST = 9, schemas.NEWEST
APACHE_SINGA = "sonnx"
"""The producer that Apache SINGA's own exporter names."""


def export_model(
    graph: Graph,
    opset: int | None = None,
    rules: Iterable[str | Path] | Rulebook | None = None,
    ir_version: int | None = None,
) -> onnx.ModelProto:
    """Translate a SINGA graph to an ONNX model.

    ``opset``: the version of the default operator set, 9 to the newest that the installed onnx
    knows; by default the source's own where that is in range, else 21.  ``rules``: folders on top
    of the shipped rules, or a rulebook.  ``ir_version``: 3 lists initializers as inputs too.
    Raises UnsupportedError naming each node that cannot be said at that opset.
    """
    model, weights = _export(graph, opset, rules, ir_version)
    model.graph.initializer.extend(make_tensor(name, array) for name, array in weights.items())
    _list_initializers(model)
    return model


def export_file(
    graph: Graph,
    path: str | Path,
    opset: int | None = None,
    rules: Iterable[str | Path] | Rulebook | None = None,
    ir_version: int | None = None,
) -> None:
    """Translate a SINGA graph to an ONNX file, its weights never copied in memory.

    As ``export_model``; above 2 GB the weights go to ``<name>.data`` beside the file.  Raises
    ModelError where the file cannot be written.
    """
    model, weights = _export(graph, opset, rules, ir_version)
    try:
        write_model(model, weights, path)
    except OSError as error:
        raise ModelError(error.strerror or str(error), file=str(path)) from None


def _export(
    graph: Graph,
    opset: int | None,
    rules: Iterable[str | Path] | Rulebook | None,
    ir_version: int | None,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The model, and the initializers that it still lacks."""
    rulebook = rules if isinstance(rules, Rulebook) else load_rulebook(rules or ())
    source_opsets: dict[str, int] = graph.metadata.get("opset", {})
    target = opset if opset is not None else max(source_opsets.get("", DEFAULT_OPSET), OLDEST)
    if not OLDEST <= target <= NEWEST:
        raise TranslationError(f"opset {target} is outside of what can be written, {OLDEST} to {NEWEST}")
    exporter = Exporter(graph, rulebook, {**source_opsets, "": target})
    model = onnx.ModelProto()
    with collection_paused():
        weights = exporter.run(model.graph)
    model.MergeFrom(new_model(graph, exporter.used_opsets(), ir_version))
    return model, weights


def _list_initializers(model: onnx.ModelProto) -> None:
    """Up to IR version 3 an initializer is an input too."""
    if model.ir_version > 3:
        return
    listed = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in listed:
            value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            model.graph.input.append(value)


class Exporter:
    """A whole model being written; ``problems`` gathers the nodes that cannot be said."""

    def __init__(self, graph: Graph, rulebook: Rulebook, opsets: dict[str, int]) -> None:
        self.graph = graph
        self.rulebook = rulebook
        self.opsets = opsets
        self.problems: list[str] = []
        self.domains: set[str] = {""}
        self.names: set[str] = set(_all_names(graph))

    def run(self, proto: onnx.GraphProto) -> dict[str, np.ndarray]:
        """Write the graph into ``proto``; the initializers, which it lacks.  Raises
        UnsupportedError."""
        weights = GraphExporter(self, self.graph, None, proto).run()
        if self.problems:
            source = self.graph.metadata.get("opset", {}).get("")
            was = f" (the source is opset {source})" if source else ""
            raise UnsupportedError(
                f"{len(self.problems)} node(s) cannot be written at opset {self.opsets['']}{was}:\n"
                + "\n".join(self.problems)
            )
        return weights

    def used_opsets(self) -> dict[str, int]:
        """The version of each operator set that the written nodes are from."""
        return {domain: self.opsets.get(domain, 1) for domain in sorted(self.domains)}

    def fresh(self, hint: str) -> str:
        name, number = hint, 1
        while name in self.names:
            number += 1
            name = f"{hint}_{number}"
        self.names.add(name)
        return name


class GraphExporter:
    """One graph or subgraph being written: the ``Context`` in which its nodes are matched."""

    def __init__(
        self, exporter: Exporter, graph: Graph, outer: GraphExporter | None, proto: onnx.GraphProto
    ) -> None:
        self.exporter = exporter
        self.graph = graph
        self.outer = outer
        self.proto = proto
        proto.name = graph.name or "sonnx"
        self.onnx, self.singa = OnnxDialect(), SingaDialect()
        self.types = Types(self)
        self.initializers: dict[str, np.ndarray] = {}
        self._origin: Origin | None = None
        self._written: set[str] = set()
        self._constant_nodes: dict[str, str] = graph.metadata.get("constant_nodes", {})
        self._folded: dict[str, np.ndarray] = graph.metadata.get("folded", {})

    # --- the context that patterns see -----------------------------------------------------------

    def opset(self, domain: str) -> int:
        return self.exporter.opsets.get(domain, 1)

    def info(self, name: str) -> ValueInfo | None:
        return self.types.info(name)

    def constant(self, name: str) -> np.ndarray | None:
        state = self.state(name)
        return state.array if state is not None and state.kind == "const" else None

    def add_constant(self, array: np.ndarray, hint: str) -> str:
        name = self.fresh(hint)
        self.initializers[name] = array
        return name

    def fresh(self, hint: str) -> str:
        return self.exporter.fresh(hint)

    def array(self, name: str) -> np.ndarray | None:
        """The content of an initializer to be, new or from the graph."""
        found = self.initializers.get(name)
        if found is None:
            state = self.state(name)
            found = state.array if state is not None else None
        return found

    def state(self, name: str) -> State | None:
        """A state of this graph or of one around it."""
        found = self.graph.states.get(name)
        return self.outer.state(name) if found is None and self.outer else found

    # --- the walk --------------------------------------------------------------------------------

    def run(self) -> dict[str, np.ndarray]:
        """Write every node; the initializers that they read."""
        groups = self._groups()
        done: set[int] = set()
        for node in self.graph.nodes:
            if id(node) in done:
                continue
            members = groups.get(node.origin.group, []) if node.origin else []
            if len(members) > 1 and members[0] is node and self._fold(members):
                done.update(map(id, members))
            else:
                self._write(node)
        self.proto.input.extend(make_value_info(info) for info in self.graph.inputs)
        for info in self.graph.outputs:
            self._cast_output(info)
            self.proto.output.append(make_value_info(self._typed(info)))
        self._gather_initializers()
        return self.initializers

    def _cast_output(self, info: ValueInfo) -> None:
        """Give an output the type that the graph declares where ONNX's operator gives another."""
        dtype = self.types.dtype(info.name)
        if info.dtype is None or dtype is None or dtype == info.dtype:
            return
        for node in reversed(self.proto.node):
            if info.name in node.output:
                inner = self.fresh(f"{info.name}/{dtype.name}")
                for names in (node.output, *(other.input for other in self.proto.node)):
                    for place, name in enumerate(names):
                        if name == info.name:
                            names[place] = inner
                self.proto.node.append(make_cast(inner, info.name, info.dtype))
                return

    def _typed(self, info: ValueInfo) -> ValueInfo:
        """An output's declaration, completed by inference: ONNX wants its type and rank.  What Apache
        SINGA declared gives way to what is inferred: its own shapes follow its own reading of pads."""
        declared = info.dtype is not None and info.shape is not None
        if declared and self.graph.metadata.get("producer") != APACHE_SINGA:
            return info
        found = self.types.info(info.name)
        if found is None or found.shape is None:
            return ValueInfo(info.name, info.dtype or self.types.dtype(info.name), info.shape)
        return ValueInfo(info.name, info.dtype or found.dtype, found.shape)

    def _groups(self) -> dict[int, list[Node]]:
        groups: dict[int, list[Node]] = {}
        for node in self.graph.nodes:
            if node.origin and node.origin.group:
                groups.setdefault(node.origin.group, []).append(node)
        return groups

    def _fold(self, nodes: list[Node]) -> bool:
        """Write nodes that one rule made together as what it made them from, where it still can."""
        origin = nodes[0].origin
        assert origin is not None
        opset = self.opset("")
        for compiled in self.exporter.rulebook.folding(origin.rule, opset):
            try:
                self._apply(compiled, nodes, origin)
                return True
            except Mismatch:
                continue
        return False

    def _write(self, node: Node) -> None:
        candidates = self.exporter.rulebook.exporting(node.operator, self.opset(""))
        reasons = []
        for compiled in candidates:
            try:
                self._apply(compiled, [node], node.origin)
                return
            except Mismatch as mismatch:
                reasons.append(f"    {compiled.describe()}: {mismatch}")
        self.exporter.problems.append(self._problem(node, reasons))

    def _problem(self, node: Node, reasons: list[str]) -> str:
        line = f"  {node.describe()}"
        if node.origin and node.origin.operator:
            line += f", which was {node.origin.operator} at opset {node.origin.opset}"
        if not reasons:
            others = self.exporter.rulebook.exports_of(node.operator)
            ranges = ", ".join(sorted({f"{c.first_opset}..{c.last_opset or ''}" for c in others}))
            reasons = [f"    the rules write it at opset {ranges}" if ranges else "    no rule writes it"]
        return "\n".join([line, *reasons])

    # --- one application of a rule ---------------------------------------------------------------

    def _apply(self, compiled: CompiledAlternative, nodes: Sequence[Node], origin: Origin | None) -> None:
        """Match SINGA nodes against a rule and write what it makes of them; raises Mismatch."""
        applications = [_application(node) for node in nodes]
        env = match_side(compiled.singa, applications, self, self.singa)
        assert compiled.exporting is not None
        compiled.exporting.run(env, self)
        same_rule = origin is not None and origin.rule == compiled.rule.name
        self._origin = origin if same_rule else None
        written = origin.written if origin and same_rule else ()
        name = self._name(nodes, origin)
        before = dict(self.initializers)
        try:
            built = [
                pattern.build(env, self, self.onnx, name if index == 0 else f"{name}/{index}", written)
                for index, pattern in enumerate(compiled.onnx)
            ]
            protos = [self._proto(application, written) for application in built]
        except Mismatch:
            self.initializers = before
            raise
        for proto in protos:
            self._add(proto)

    def _name(self, nodes: Sequence[Node], origin: Origin | None) -> str:
        if origin and len(origin.nodes) == 1 and origin.nodes[0] and origin.group:
            return origin.nodes[0]
        return nodes[-1].name

    def source_constant(self, port: str, value: Any) -> str | None:
        """The initializer that an attribute was in the source, where it still holds that value."""
        name = self._origin.names.get(port, "") if self._origin else ""
        state = self.state(name)
        array = state.array if state is not None else self._folded.get(name)
        return name if array is not None and matches_tensor(value, array) else None

    def _proto(self, application: Application, written: Sequence[str]) -> onnx.NodeProto:
        self.exporter.domains.add(application.domain)
        opset = self.opset(application.domain)
        found = schemas.schema(application.operator, opset, application.domain)
        if found is None and not application.domain:
            raise Mismatch(f"ONNX has no {application.operator} at opset {opset}")
        if found is not None and found.deprecated:
            raise Mismatch(f"ONNX's {application.operator} is deprecated at opset {opset}")
        if written:
            application.attributes |= missing_defaults(application, tuple(written), self)
            order = {name: place for place, name in enumerate(written)}
            entries = sorted(application.attributes.items(), key=lambda e: order.get(e[0], len(order)))
            application.attributes = dict(entries)
        proto = onnx.NodeProto(op_type=application.operator, name=application.name)
        if application.domain:
            proto.domain = application.domain
        proto.input.extend(application.inputs)
        proto.output.extend(application.outputs)
        proto.attribute.extend(make_attributes(application, opset, self._subgraph))
        return proto

    def _subgraph(self, graph: Graph) -> onnx.GraphProto:
        proto = onnx.GraphProto()
        weights = GraphExporter(self.exporter, graph, self, proto).run()
        proto.initializer.extend(make_tensor(name, array) for name, array in weights.items())
        return proto

    def _add(self, proto: onnx.NodeProto) -> None:
        for name in used_names(proto):
            if name in self._constant_nodes and name not in self._written:
                self._add_constant_node(name)
        for node in (*casts(self, proto), proto):
            self.proto.node.append(node)
            self.types.added(node)

    def _add_constant_node(self, name: str) -> None:
        """A constant that was a node in the source is one again."""
        tensor = onnx.numpy_helper.from_array(self.graph.states[name].array, name)
        node = onnx.helper.make_node("Constant", [], [name], self._constant_nodes[name], value=tensor)
        self._written.add(name)
        self.proto.node.append(node)

    def _gather_initializers(self) -> None:
        """Add what the written nodes read of the graph's states, and weights that none reads."""
        used = {name for node in self.proto.node for name in used_names(node)}
        used |= {info.name for info in self.graph.outputs}
        for name, state in self.graph.states.items():
            if name in self._written:
                continue
            if name in used or state.kind != "const":
                self.initializers[name] = state.array
        produced = {name for node in self.proto.node for name in node.output}
        for name, array in self._folded.items():
            if name in used and name not in produced:
                self.initializers.setdefault(name, array)


def _application(node: Node) -> Application:
    return Application(node.operator, list(node.inputs), list(node.outputs), node.attributes, "", node.name)


def _all_names(graph: Graph) -> Iterable[str]:
    yield from (info.name for info in graph.inputs)
    yield from graph.states
    yield from graph.metadata.get("folded", ())
    for node in graph.nodes:
        yield from node.outputs
        for inner in node.subgraphs():
            yield from _all_names(inner)
