"""The table of gradients, and what every one of them works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import eager
from ..errors import OperatorError
from ..operators import registry
from ..tensor import Tensor


@dataclass
class Applied:
    """One application of an operator: its inputs (None where absent), outputs and attributes."""

    operator: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor]
    a: SimpleNamespace

    @property
    def x(self) -> Tensor:
        """The first input."""
        assert self.inputs[0] is not None
        return self.inputs[0]

    @property
    def y(self) -> Tensor:
        """The first output."""
        return self.outputs[0]


Gradient = Callable[..., Sequence["Tensor | None"]]
"""``f(applied, dy, ...)``: one gradient (or None) for each input, from one for each output."""

gradients: dict[str, Gradient] = {}


def gradient(*operators: str) -> Callable[[Gradient], Gradient]:
    """Register the gradient of one or more operators."""

    def register(function: Gradient) -> Gradient:
        for operator in operators:
            gradients[operator] = function
        return function

    return register


def applied(
    operator: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], given: dict[str, Any]
) -> Applied:
    """An application with its attributes' defaults filled in from the operator's signature."""
    values = {a.name: given.get(a.name) if given.get(a.name) is not None else a.default
              for a in registry[operator].signature.attributes}  # fmt: skip
    return Applied(operator, inputs, outputs, SimpleNamespace(**values))


def gradient_of(application: Applied, dys: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The gradients of the inputs; raises OperatorError where the operator has none."""
    function = gradients.get(application.operator)
    if function is None:
        raise OperatorError(f"{application.operator} has no gradient; no parameter can train through it")
    return list(function(application, *dys))


def op(operator: str, *inputs: Tensor | None, **attributes: Any) -> Tensor:
    """Apply an operator that has one output."""
    return eager.apply(operator, inputs, **attributes)[0]


def number(value: float, like: Tensor) -> Tensor:
    """A number as a scalar tensor of ``like``'s type."""
    return eager.scalar(like.device, float(value), like.data_type)


def sum_to(dy: Tensor, like: Tensor) -> Tensor:
    """Undo broadcasting: sum ``dy`` over the axes along which ``like`` was repeated."""
    if dy.shape == like.shape:
        return dy
    more = dy.ndim() - like.ndim()
    axes = [axis for axis in range(dy.ndim())
            if axis < more or (like.shape[axis - more] == 1 and dy.shape[axis] != 1)]  # fmt: skip
    summed = op("ReduceSum", dy, axes=tuple(axes), keepdims=1) if axes else dy
    return op("Reshape", summed, shape=like.shape)


def indices(array: np.ndarray, like: Tensor) -> Tensor:
    """An int64 constant on ``like``'s device."""
    tensor = Tensor(device=like.device, data=np.asarray(array, np.int64), requires_grad=False)
    tensor.fixed = True
    return tensor
