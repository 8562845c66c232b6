"""Gradients of reductions, softmax and normalisations."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .gradient import Applied, gradient, op, sum_to


def _axes(call: Applied) -> tuple[int, ...]:
    rank = call.x.ndim()
    axes = call.a.axes
    if not axes:
        return () if getattr(call.a, "noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def _kept(call: Applied, t: Tensor) -> Tensor:
    """An output-shaped tensor with the reduced axes put back at size 1."""
    axes = _axes(call)
    shape = [1 if axis in axes else size for axis, size in enumerate(call.x.shape)]
    return op("Reshape", t, shape=tuple(shape))


def _spread(call: Applied, dy: Tensor) -> Tensor:
    return op("Expand", _kept(call, dy), shape=call.x.shape)


@gradient("ReduceSum")
def _sum(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_spread(call, dy)]


@gradient("ReduceMean")
def _mean(call: Applied, dy: Tensor) -> list[Tensor]:
    count = math.prod(call.x.shape[axis] for axis in _axes(call))
    return [_spread(call, dy) * (1.0 / max(count, 1))]


@gradient("ReduceMax", "ReduceMin")
def _extreme(call: Applied, dy: Tensor) -> list[Tensor]:
    """The gradient goes to the elements that are the extreme, in equal shares."""
    hits = op("Cast", op("Equal", call.x, _kept(call, call.y)), to=dy.data_type)
    count = op("ReduceSum", hits, axes=_axes(call), keepdims=1)
    return [hits * (_kept(call, dy) / count)]


@gradient("ReduceProd")
def _prod(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_kept(call, dy * call.y) / call.x]


@gradient("ReduceSumSquare")
def _sum_square(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_kept(call, dy) * call.x * 2.0]


@gradient("ReduceL1")
def _l1(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_kept(call, dy) * op("Sign", call.x)]


@gradient("ReduceL2")
def _l2(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_kept(call, dy / call.y) * call.x]


@gradient("ReduceLogSum")
def _log_sum(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_spread(call, dy / op("Exp", call.y))]


@gradient("ReduceLogSumExp")
def _log_sum_exp(call: Applied, dy: Tensor) -> list[Tensor]:
    return [_kept(call, dy) * op("Exp", call.x - _kept(call, call.y))]


def _softmax_axes(call: Applied) -> tuple[int, ...]:
    """The axes over which the outputs sum to one."""
    axis = call.a.axis % call.x.ndim()
    return tuple(range(axis, call.x.ndim())) if call.a.flatten else (axis,)


@gradient("SoftMax")
def _softmax(call: Applied, dy: Tensor) -> list[Tensor]:
    inner = op("ReduceSum", dy * call.y, axes=_softmax_axes(call), keepdims=1)
    return [(dy - inner) * call.y]


@gradient("LogSoftmax")
def _log_softmax(call: Applied, dy: Tensor) -> list[Tensor]:
    inner = op("ReduceSum", dy, axes=_softmax_axes(call), keepdims=1)
    return [dy - inner * op("Exp", call.y)]


def _per_channel(v: Tensor, like: Tensor) -> Tensor:
    return op("Reshape", v, shape=(1, -1) + (1,) * (like.ndim() - 2))


@gradient("_BatchNorm2d")
def _batch_norm(call: Applied, dy: Tensor, *_: Tensor | None) -> list[Tensor | None]:
    """In training the batch's own statistics depend on x; in evaluation the running ones do not."""
    x, scale, bias, mean, var = call.inputs
    assert x is not None and scale is not None and bias is not None and mean is not None and var is not None
    axes = (0, *range(2, x.ndim()))
    count = x.size() / x.shape[1]
    if call.a.training:
        centre = op("ReduceMean", x, axes=axes, keepdims=1)
        spread = op("ReduceMean", (x - centre) * (x - centre), axes=axes, keepdims=1)
    else:
        centre, spread = _per_channel(mean, x), _per_channel(var, x)
    inverse = 1.0 / op("Sqrt", spread + call.a.epsilon)
    normal = (x - centre) * inverse
    dscale = op("ReduceSum", dy * normal, axes=axes, keepdims=1)
    dbias = op("ReduceSum", dy, axes=axes, keepdims=1)
    dx = dy
    if call.a.training:
        dx = dy - (dbias + normal * dscale) * (1.0 / count)
    dx = dx * (_per_channel(scale, x) * inverse)
    return [dx, op("Reshape", dscale, shape=scale.shape), op("Reshape", dbias, shape=bias.shape), None, None]


@gradient("LayerNormalization")
def _layer_norm(call: Applied, dy: Tensor, *_: Tensor | None) -> list[Tensor | None]:
    x, scale, *rest = call.inputs
    assert x is not None and scale is not None
    axes = tuple(range(call.a.axis % x.ndim(), x.ndim()))
    centre = op("ReduceMean", x, axes=axes, keepdims=1)
    spread = op("ReduceMean", (x - centre) * (x - centre), axes=axes, keepdims=1)
    inverse = 1.0 / op("Sqrt", spread + call.a.epsilon)
    normal = (x - centre) * inverse
    scaled = dy * scale
    dx = scaled - op("ReduceMean", scaled, axes=axes, keepdims=1)
    dx = (dx - normal * op("ReduceMean", scaled * normal, axes=axes, keepdims=1)) * inverse
    return [
        dx,
        sum_to(dy * normal, scale),
        *(sum_to(dy, bias) if bias is not None else None for bias in rest),
    ]


@gradient("GlobalAveragePool")
def _global_average(call: Applied, dy: Tensor) -> list[Tensor]:
    count = math.prod(call.x.shape[2:])
    return [op("Expand", dy * (1.0 / count), shape=call.x.shape)]


@gradient("GlobalMaxPool")
def _global_max(call: Applied, dy: Tensor) -> list[Tensor]:
    axes = tuple(range(2, call.x.ndim()))
    hits = op("Cast", op("Equal", call.x, call.y), to=dy.data_type)
    return [hits * (dy / op("ReduceSum", hits, axes=axes, keepdims=1))]


@gradient("CumSum")
def _cumsum(call: Applied, dy: Tensor) -> list[Tensor | None]:
    reverse = 0 if call.a.reverse else 1
    return [op("CumSum", dy, axis=call.a.axis, exclusive=call.a.exclusive, reverse=reverse)]
