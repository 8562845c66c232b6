"""A SINGA graph as a layer: every weight trains, and parts of it can be used.

Nodes are applied one after the other through autograd, so that an imported network is differentiated,
recorded and planned like one that was written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import differentiation, operator_classes
from .device import Device
from .errors import InputError, OperatorError
from .graph import Graph, Node, Ref
from .layer import Layer
from .operators import registry
from .tensor import Tensor, to_numpy


class GraphLayer(Layer):
    """The nodes of a graph, its parameters and states as tensors under their own names.

    ``last_layers`` ends a slice of the graph's layers: -1 leaves the last one out.
    """

    def __init__(self, graph: Graph, device: Device) -> None:
        super().__init__()
        self.graph = graph
        self.device = device
        self.states: dict[str, Tensor] = {}
        self._kinds = {name: state.kind for name, state in graph.states.items()}
        for name, state in graph.states.items():
            trains = state.kind == "param" and state.array.dtype.kind in "fV"
            tensor = Tensor(
                device=device, data=state.array, requires_grad=trains, stores_grad=trains, name=name
            )
            tensor.fixed = state.kind == "const"
            self.states[name] = tensor

    def get_params(self) -> dict[str, Tensor]:
        return {name: tensor for name, tensor in self.states.items() if self._kinds[name] == "param"}

    def get_states(self) -> dict[str, Tensor]:
        return {name: tensor for name, tensor in self.states.items() if self._kinds[name] != "const"}

    def nodes(self, last_layers: int | None = None) -> Sequence[Node]:
        """The nodes that are used; raises InputError where there are not so many."""
        if last_layers is None:
            return self.graph.nodes
        layers = self.graph.layers()
        kept = layers[:last_layers]
        if not kept or last_layers > len(layers):
            raise InputError(f"last_layers is {last_layers}; the model has {len(layers)} layers")
        return [node for layer in kept for node in layer]

    def forward(
        self, *inputs: Tensor, last_layers: int | None = None, aux_output: Sequence[str] = ()
    ) -> list[Tensor]:
        """The graph's outputs (or, with ``last_layers``, the last used node's), then those named."""
        names = [info.name for info in self.graph.inputs]
        if len(inputs) != len(names):
            raise InputError(f"the model takes {len(names)} inputs ({', '.join(names)}), got {len(inputs)}")
        values: dict[str, Tensor | None] = dict(self.states)
        values |= dict(zip(names, inputs, strict=True))
        nodes = self.nodes(last_layers)
        self._run(nodes, values)
        whole = last_layers is None or len(nodes) == len(self.graph.nodes)
        wanted = [info.name for info in self.graph.outputs] if whole else [n for n in nodes[-1].outputs if n]
        unknown = [name for name in aux_output if name not in values]
        if unknown:
            raise InputError(f"the model computes no value {unknown[0]!r}")
        return [_known(values, name) for name in (*wanted, *aux_output)]

    def _run(self, nodes: Sequence[Node], values: dict[str, Tensor | None]) -> None:
        for node in nodes:
            if node.operator == "If":
                self._branch(node, values)
                continue
            inputs = [values[name] if name else None for name in node.inputs]
            outputs = _apply(node, inputs, _attributes(node, values))
            for name, tensor in zip(node.outputs, outputs, strict=False):
                if name:
                    values[name] = tensor

    def _branch(self, node: Node, values: dict[str, Tensor | None]) -> None:
        condition = bool(to_numpy(_known(values, node.inputs[0])).reshape(-1)[0])
        branch: Graph = node.attributes["then_branch" if condition else "else_branch"]
        inner = dict(values)
        for name, state in branch.states.items():
            inner[name] = Tensor(device=self.device, data=state.array, requires_grad=False)
        self._run(branch.nodes, inner)
        for info, name in zip(branch.outputs, node.outputs, strict=True):
            values[name] = inner[info.name]


def _known(values: Mapping[str, Tensor | None], name: str) -> Tensor:
    tensor = values.get(name)
    if tensor is None:
        raise OperatorError(f"the value {name!r} is not computed")
    return tensor


def _attributes(node: Node, values: Mapping[str, Tensor | None]) -> dict[str, Any]:
    """The node's attributes, computed ones read."""
    return {
        name: to_numpy(_known(values, value.name)) if isinstance(value, Ref) else value
        for name, value in node.attributes.items()
    }


class _NodeOperator(differentiation.Builtin):
    """One node of a graph, applied."""

    def __init__(self, node: Node, attributes: dict[str, Any]) -> None:
        super().__init__(node.name or None)
        self.operator, self.given, self._outputs = node.operator, attributes, len(node.outputs)

    def output_count(self) -> int:
        return self._outputs


def _apply(node: Node, inputs: Sequence[Tensor | None], attributes: dict[str, Any]) -> tuple[Tensor, ...]:
    """A node's outputs.  In training, normalisation and dropout are those of SINGA's layers."""
    if node.operator not in registry:
        raise OperatorError(f"{node.describe()}: the runtime has no operator {node.operator!r}")
    if differentiation.recording() and node.operator == "_BatchNorm2d":
        x, scale, bias, mean, var = inputs
        assert mean is not None and var is not None
        handle = operator_classes.BatchNormHandle(
            attributes.get("momentum", 0.9), attributes.get("epsilon", 1e-5)
        )
        return (operator_classes._BatchNorm2d(handle, mean, var)(x, scale, bias),)
    if differentiation.recording() and node.operator == "Dropout":
        ratio = float(np.asarray(attributes.get("ratio", 0.5)).reshape(-1)[0])
        return (operator_classes.Dropout(0, ratio)(inputs[0]),)
    result = _NodeOperator(node, attributes)(*inputs)
    return result if isinstance(result, tuple) else (result,)
