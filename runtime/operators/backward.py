"""Operators that only gradients use: what convolution and pooling give back to their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operator import Call, registry
from ..value import Value
from .window import Window, window

if TYPE_CHECKING:
    from ..emit import Emit

_GEOMETRY = (
    "kernel_shape: ints?, strides: ints?, padding: ints?, odd_padding: ints?, dilation: ints?, "
    "pad_mode: string = 'NOTSET'"
)


def _numbers(place: Window, sizes: tuple[int, ...]) -> list[int]:
    """The kernels' GEOMETRY parameters."""
    whole = place.at_rank(3)
    inputs = (1,) * (3 - len(sizes)) + tuple(sizes)
    triples = (inputs, whole.output, whole.kernel, whole.strides, whole.dilation, whole.begin)
    return [number for triple in triples for number in triple]


def _shaped(call: Call) -> list[Value]:
    return [Value(call.present[0].dtype, call.a.shape)]


def _conv_input(call: Call, emit: Emit) -> None:
    dy, weight = call.present
    dx = call.outputs[0]
    sizes = dx.shape[2:]
    place = window(call, sizes, weight.shape[2:])
    arguments = [dy, weight, dx, dx.shape[1], dy.shape[1], call.a.group, *_numbers(place, sizes)]
    emit.map("backward.cl", "conv_input", dx.size, arguments, types={"X": dy.dtype})


def _conv_weight(call: Call, emit: Emit) -> None:
    x, dy = call.present
    dw = call.outputs[0]
    sizes = x.shape[2:]
    place = window(call, sizes, dw.shape[2:])
    arguments = [x, dy, dw, x.shape[0], x.shape[1], dy.shape[1], call.a.group, *_numbers(place, sizes)]
    emit.map("backward.cl", "conv_weight", dw.size, arguments, types={"X": x.dtype})


def _pooling(call: Call, emit: Emit) -> None:
    x, y, dy = call.present
    dx = call.outputs[0]
    sizes = x.shape[2:]
    place = window(call, sizes, call.a.kernel_shape, bool(call.a.ceil_mode))
    numbers = _numbers(place, sizes)
    if call.a.is_max:
        emit.map("backward.cl", "max_pool", dx.size, [x, y, dy, dx, *numbers], types={"X": x.dtype})
        return
    end = place.at_rank(3).end
    arguments = [dy, dx, *end, call.a.count_include_pad, *numbers]
    emit.map("backward.cl", "average_pool", dx.size, arguments, types={"X": x.dtype})


registry.add(
    f"ConvInputGradient(dy, W; shape: ints, group: int = 1, {_GEOMETRY}) -> dx",
    infer=_shaped,
    lower=_conv_input,
)
registry.add(
    f"ConvWeightGradient(x, dy; shape: ints, group: int = 1, {_GEOMETRY}) -> dW",
    infer=_shaped,
    lower=_conv_weight,
)
registry.add(
    f"PoolingGradient(x, y, dy; is_max: int = 1, ceil_mode: int = 0, "
    f"count_include_pad: int = 0, {_GEOMETRY}) -> dx",
    infer=lambda call: [Value(call.present[0].dtype, call.present[0].shape)],
    lower=_pooling,
)
