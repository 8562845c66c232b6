"""ONNX's backend interface: ``prepare`` a model, ``run`` it; and SINGA's ``prepare`` with it.

``SingaRep.run`` takes arrays in the order of the model's inputs, or by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ..runtime import opencl
from ..runtime.executor import Executor
from ..runtime.graph import Graph, ValueInfo
from .importer import import_model


class SingaRep(BackendRep):
    """A model on a device, ready to run."""

    def __init__(self, graph: Graph, device: Any = None) -> None:
        self.graph = graph
        self.executor = Executor(graph, device)
        self._parts: dict[tuple, Executor] = {}

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """Compute the model's outputs.

        ``inputs``: one array (where the model has one input), a sequence in the order of the
        inputs, or a mapping by name.  ``last_layers=-1`` leaves the last layer out and gives what
        would feed it (a layer is what one ONNX node became); ``aux_output`` names values to give
        as well.  Returns the outputs in order, also by name.
        """
        key = (kwargs.get("last_layers"), tuple(kwargs.get("aux_output") or ()))
        results = self._executor(*key).run(self._by_name(inputs))
        names = list(results)
        return namedtupledict("Outputs", names)(*results.values())

    def _executor(self, last_layers: int | None, auxiliary: tuple[str, ...]) -> Executor:
        if last_layers is None and not auxiliary:
            return self.executor
        key = (last_layers, auxiliary)
        if key not in self._parts:
            self._parts[key] = Executor(part(self.graph, last_layers, auxiliary), self.executor.device)
        return self._parts[key]

    def _by_name(self, inputs: Any) -> dict[str, np.ndarray]:
        if isinstance(inputs, Mapping):
            return {name: np.asarray(array) for name, array in inputs.items()}
        names = [info.name for info in self.graph.inputs]
        arrays = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(arrays) != len(names):
            raise ValueError(f"the model takes {len(names)} inputs ({', '.join(names)}), got {len(arrays)}")
        return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def part(graph: Graph, last_layers: int | None, auxiliary: Sequence[str] = ()) -> Graph:
    """The graph with its layers up to ``last_layers`` (as a slice's end) and more outputs.

    Where layers are left out, the outputs are those of the last that stays.  Raises ValueError for
    a value that is not computed.
    """
    found = graph.layers()
    kept = found if last_layers is None else found[:last_layers]
    nodes = [node for layer in kept for node in layer]
    outputs = list(graph.outputs)
    if len(kept) < len(found):
        outputs = [ValueInfo(name) for name in (nodes[-1].outputs if nodes else []) if name]
    made = {name for node in nodes for name in node.outputs} | {info.name for info in graph.inputs}
    for name in auxiliary:
        if name not in made and name not in graph.states:
            raise ValueError(f"no value {name!r} is computed; it cannot be an output")
        outputs.append(ValueInfo(name))
    return replace(graph, nodes=nodes, outputs=outputs)


class SingaBackend(Backend):
    """Every model by way of SINGA's operators on an OpenCL device."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> SingaRep:
        """Translate a model (proto, bytes or path) and put it on a device."""
        rules = kwargs.get("rules")
        return SingaRep(import_model(model, rules), opencl_device(device))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """Prepare and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run one node as a model of its own (``opset_version`` among the keywords: its opset)."""
        return cls.run_model(_node_model(node, inputs, kwargs.get("opset_version")), inputs, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is a device of that kind (``CPU``, ``CUDA``: a GPU, or a device's own name)."""
        try:
            opencl_device(device)
        except Exception:  # whatever keeps a device from being had means that it is not supported
            return False
        return True


def opencl_device(device: Any) -> Any:
    """ONNX's names of devices as this runtime's: ``CUDA`` asks for a GPU, ``CPU`` for what is there."""
    if not isinstance(device, str):
        return device
    kind = device.split(":")[0].upper()
    if kind == "CPU":
        return opencl.choose(None)
    return opencl.choose("gpu" if kind in ("CUDA", "GPU") else device)


def _node_model(node: onnx.NodeProto, inputs: Any, opset: int | None) -> onnx.ModelProto:
    names = [name for name in node.input if name]
    arrays = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
    infos = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), np.shape(array)
        )
        for name, array in zip(names, arrays, strict=True)
    ]
    results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", infos, results)
    version = opset or onnx.defs.onnx_opset_version()
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])


def prepare(onnx_model: Any, device: Any = "CPU", rules: Any = None, **kwargs: Any) -> SingaRep:
    """A model (proto, bytes or path) on a device: SINGA's ``sonnx.prepare``."""
    return SingaBackend.prepare(onnx_model, device, rules=rules, **kwargs)


prepare_model = SingaBackend.prepare
run_model = SingaBackend.run_model
run_node = SingaBackend.run_node
supports_device = SingaBackend.supports_device
