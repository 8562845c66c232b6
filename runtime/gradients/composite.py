"""Gradients of composite operators: those of the operators that they expand to.

Where an operator is a graph of others (``expand``) and has no gradient of its own, its expansion is
applied to tensors, each part remembered, and the parts are taken backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import eager
from ..operator import Call
from ..operators import registry
from ..specialise import make_call
from ..tensor import Tensor, to_numpy
from ..value import Value
from .gradient import Applied, applied, gradients


class _TensorValue(Value):
    """A tensor that an ``expand`` function takes for a value of a plan."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor.data_type, tensor.shape)
        self.tensor = tensor


class TensorBuilder:
    """Applies what an ``expand`` function builds to tensors, and remembers it."""

    label = ""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.parts: list[Applied] = []

    def __call__(self, operator: str, *inputs: _TensorValue | None, **attributes: Any) -> Any:
        outputs = self.apply(operator, list(inputs), attributes, None)
        return outputs[0] if len(outputs) == 1 else outputs

    def constant(self, array: Any, dtype: Any = None) -> _TensorValue:
        tensor = Tensor(device=self._device, data=np.asarray(array, dtype), requires_grad=False)
        tensor.fixed = True
        return _TensorValue(tensor)

    def read(self, value: _TensorValue) -> np.ndarray:
        return to_numpy(value.tensor)

    def apply(
        self,
        name: str,
        inputs: Sequence[_TensorValue | None],
        attributes: dict[str, Any],
        wanted: list[bool] | None,
    ) -> list[_TensorValue]:
        operator = registry[name]
        call = make_call(operator, list(inputs), attributes, wanted, name)
        if operator.expand and name not in gradients:
            return list(operator.expand(call, self))  # type: ignore[arg-type]
        tensors = [None if value is None else value.tensor for value in inputs]
        outputs = eager.apply(name, tensors, _count(call), **attributes)
        self.parts.append(applied(name, tensors, outputs, attributes))
        return [_TensorValue(tensor) for tensor in outputs]


def _count(call: Call) -> int:
    """How many outputs to ask for: those that are not optional (a variadic operator says by infer)."""
    ports = call.operator.signature.outputs
    if ports and ports[-1].variadic:
        assert call.operator.infer is not None
        return len(call.operator.infer(call))
    return sum(not port.optional for port in ports)


def expand(
    operator: str, inputs: Sequence[Tensor | None], attributes: dict[str, Any]
) -> tuple[list[Tensor], list[Applied]]:
    """Apply a composite operator by its parts: its outputs, and the parts in order."""
    device = next(tensor.device for tensor in inputs if tensor is not None)
    builder = TensorBuilder(device)
    values = [None if tensor is None else _TensorValue(tensor) for tensor in inputs]
    outputs = builder.apply(operator, values, attributes, None)
    return [value.tensor for value in outputs], builder.parts
