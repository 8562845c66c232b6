"""Gradients of convolution and pooling."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .gradient import Applied, gradient, op


@gradient("_Conv2d")
def _convolution(call: Applied, dy: Tensor) -> list[Tensor | None]:
    x, weight, *rest = call.inputs
    assert x is not None and weight is not None
    geometry = {
        name: getattr(call.a, name)
        for name in ("kernel_shape", "strides", "padding", "odd_padding", "dilation", "group", "pad_mode")
    }
    dx = op("ConvInputGradient", dy, weight, shape=x.shape, **geometry)
    dw = op("ConvWeightGradient", x, dy, shape=weight.shape, **geometry)
    axes = (0, *range(2, dy.ndim()))
    return [dx, dw, *(None if b is None else op("ReduceSum", dy, axes=axes, keepdims=0) for b in rest)]


@gradient("_Pooling2d")
def _pooling(call: Applied, dy: Tensor, *_: Tensor | None) -> list[Tensor]:
    geometry = {
        name: getattr(call.a, name)
        for name in (
            "kernel_shape",
            "strides",
            "padding",
            "odd_padding",
            "dilation",
            "pad_mode",
            "ceil_mode",
            "count_include_pad",
            "is_max",
        )
    }
    return [op("PoolingGradient", call.x, call.y, dy, **geometry)]


@gradient("UpSample")
def _upsample(call: Applied, dy: Tensor) -> list[Tensor]:
    """Nearest, whole scales: every copy's gradient adds up."""
    scales = [int(scale) for scale in call.a.scales]
    shape: list[int] = []
    for scale, size in zip(scales, call.x.shape, strict=True):
        shape += [size, scale]
    copies = op("Reshape", dy, shape=tuple(shape))
    summed = op("ReduceSum", copies, axes=tuple(range(1, len(shape), 2)), keepdims=0)
    assert math.prod(summed.shape) == call.x.size()
    return [op("Reshape", summed, shape=call.x.shape)]
