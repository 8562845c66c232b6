"""SINGA's ``SONNXModel``: an ONNX model as a SINGA model, to be run, trained on and extended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..runtime import model
from ..runtime.device import Device, wrap
from ..runtime.graph_layer import GraphLayer
from ..runtime.tensor import Tensor
from .backend import opencl_device
from .importer import import_model


class SONNXModel(model.Model):
    """Subclasses call ``super().forward`` and add layers and ``train_one_batch`` of their own.

    ``onnx_model``: a ModelProto, its bytes or a path.  ``device``: one of ``device``'s, or ONNX's name
    of one.  Every float weight trains and keeps its own name in ``get_states``.  Raises ModelError for
    a model that cannot be read, UnsupportedError for operators that no rule covers.
    """

    def __init__(
        self, onnx_model: Any, device: Device | str = "CPU", rules: Iterable[str | Path] | None = None
    ) -> None:
        super().__init__()
        place = device if isinstance(device, Device) else wrap(opencl_device(device))
        self.sg_ir = GraphLayer(import_model(onnx_model, rules), place)

    def forward(
        self, *input: Tensor, aux_output: Sequence[str] = (), last_layers: int | None = None, **kwargs: Any
    ) -> list[Tensor]:
        """The outputs, then the values named in ``aux_output``.

        ``last_layers=-k`` leaves the last k layers out (a layer is what one ONNX node became) and
        gives what would feed them.  Raises InputError where there are not so many.
        """
        return self.sg_ir.forward(*input, last_layers=last_layers, aux_output=aux_output)

    def get_params(self) -> dict[str, Tensor]:
        """The imported weights under their own names, then those of layers that were added."""
        return self.sg_ir.get_params() | _added(super().get_params())

    def get_states(self) -> dict[str, Tensor]:
        """As ``get_params``, with running statistics."""
        return self.sg_ir.get_states() | _added(super().get_states())


def _added(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if not name.startswith("sg_ir.")}
