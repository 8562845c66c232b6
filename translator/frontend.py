"""SINGA's ``to_onnx``: from tensors that autograd computed to an ONNX model.

What was applied is gone through again while it is recorded, outside of training, so that the graph
holds the operators of evaluation: dropout passes, normalisation reads its running statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path

import onnx

from ..runtime import eager
from ..runtime.differentiation import Dummy, Operator, evaluating
from ..runtime.graph import Graph, State, ValueInfo
from ..runtime.tensor import Tensor, to_numpy
from .errors import TranslationError
from .exporter import export_model

BATCH = "batch"
"""The name of a batch size that is left open."""


class SingaFrontend:
    """SINGA's exporter by its names; each takes what a script calls ``to_onnx`` with."""

    @classmethod
    def singa_to_onnx_graph(
        cls, inputs: Sequence[Tensor], y: Sequence[Tensor], model_name: str = "sonnx"
    ) -> onnx.GraphProto:
        """The graph of ``singa_to_onnx_model``."""
        return cls.singa_to_onnx_model(inputs, y, model_name).graph

    @classmethod
    def singa_to_onnx_model(
        cls, inputs: Sequence[Tensor], y: Sequence[Tensor], model_name: str = "sonnx"
    ) -> onnx.ModelProto:
        """As ``to_onnx``."""
        return to_onnx(inputs, y, model_name)


def to_onnx(
    inputs: Sequence[Tensor],
    y: Sequence[Tensor] | Tensor,
    model_name: str = "sonnx",
    *,
    opset: int | None = None,
    dynamic_batch: bool = False,
    rules: Iterable[str | Path] | None = None,
) -> onnx.ModelProto:
    """The ONNX model that computes ``y`` from ``inputs``: any number of each, in the order given.

    ``y`` must have been computed while ``autograd.training`` was on.  Parameters keep their dotted
    names; ``dynamic_batch`` leaves the inputs' first size open; ``opset`` is 21 by default.
    Raises TranslationError for a ``y`` that no operator made, UnsupportedError naming each operator
    that no rule covers.
    """
    graph = singa_graph(inputs, y, model_name)
    if dynamic_batch:
        graph.inputs = [_open_batch(info) for info in graph.inputs]
        # How the batch size reaches an output is not known: every size of it is left open.
        graph.outputs = [ValueInfo(i.name, i.dtype, (None,) * len(i.shape or ())) for i in graph.outputs]
    return export_model(graph, opset, rules)


def singa_graph(inputs: Sequence[Tensor], y: Sequence[Tensor] | Tensor, name: str = "sonnx") -> Graph:
    """The SINGA graph between tensors, as it is in evaluation.  Raises TranslationError as ``to_onnx``."""
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    outputs = [y] if isinstance(y, Tensor) else list(y)
    for place, tensor in enumerate(outputs):
        if tensor.creator is None or isinstance(tensor.creator, Dummy):
            raise TranslationError(
                f"output {place} was not computed by an operator: compute it while autograd.training is on"
            )
    trace = _Retrace(inputs)
    with evaluating(), eager.tracing(trace):
        names = [trace.output(tensor) for tensor in outputs]
    graph = Graph(name, nodes=trace.nodes, states=_states(trace))
    graph.inputs = [ValueInfo(trace.name(t), t.data_type, tuple(t.shape)) for t in inputs]
    graph.outputs = [ValueInfo(n, t.data_type, tuple(t.shape)) for n, t in zip(names, outputs, strict=True)]
    _name_by_layer(graph)
    return graph


class _Retrace(eager.Trace):
    """Records an application again when its result is first needed, the ones before it first."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__()
        self._done: set[int] = set()
        for place, tensor in enumerate(inputs):
            wanted = self._unique(tensor.name or f"input{place}")
            self.leaves[wanted] = tensor
            self._bind(tensor, wanted)
        self.input_ids = {id(tensor) for tensor in inputs}
        self._outputs: set[str] = set()

    def output(self, tensor: Tensor) -> str:
        """The name of an output: a tensor that is one already is given a second name."""
        name = self.name(tensor)
        if name in self._outputs or id(tensor) in self.input_ids:
            name = self.name(eager.apply("Identity", [tensor])[0])
        self._outputs.add(name)
        return name

    def name(self, tensor: Tensor) -> str:
        creator = tensor.creator
        if id(tensor) not in self._current and creator is not None and not isinstance(creator, Dummy):
            for op in self._order(creator):
                self._again(op)
        return super().name(tensor)

    def _order(self, last: Operator) -> list[Operator]:
        """The applications that ``last`` builds on and that are not recorded, first ones first."""
        ordered: list[Operator] = []
        stack = [(last, False)]
        while stack:
            op, ready = stack.pop()
            if ready:
                ordered.append(op)
            elif id(op) not in self._done and not isinstance(op, Dummy) and not self._given(op):
                self._done.add(id(op))
                stack.append((op, True))
                stack.extend((source, False) for source, *_ in reversed(op.src))
        return ordered

    def _given(self, op: Operator) -> bool:
        """Whether all that an operator gives are inputs of the model."""
        return bool(op.outputs) and all(id(tensor) in self.input_ids for tensor in op.outputs)

    def _again(self, op: Operator) -> None:
        # A copy: what the operator keeps for backward stays as training left it.
        result = copy(op).forward(*op.inputs)
        results = result if isinstance(result, tuple) else (result,)
        for known, made in zip(op.outputs, results, strict=False):
            if id(known) not in self.input_ids:
                self._bind(known, self.name(made))


def _states(trace: _Retrace) -> dict[str, State]:
    """What the model holds: trained parameters, named states, and constants."""
    states: dict[str, State] = {}
    for name, tensor in trace.leaves.items():
        if id(tensor) in trace.input_ids:
            continue
        kind = "param" if tensor.stores_grad else "state" if tensor.name else "const"
        states[name] = State(to_numpy(tensor), kind)
    return states


def _name_by_layer(graph: Graph) -> None:
    """Name nodes that read parameters after the layer that owns them (``conv1`` for ``conv1.W``)."""
    taken: set[str] = set()
    for node in graph.nodes:
        owners = [name.rpartition(".")[0] for name in node.inputs if name in graph.states]
        owner = next(filter(None, owners), "")
        if owner:
            node.name = owner if owner not in taken else f"{owner}/{node.operator}"
        while node.name in taken:
            node.name += "_"
        taken.add(node.name)


def _open_batch(info: ValueInfo) -> ValueInfo:
    return ValueInfo(info.name, info.dtype, (BATCH, *info.shape[1:]) if info.shape else info.shape)
