"""Normalisations: batch, instance, group, layer, RMS, Lp, mean-variance and local response."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from ..dtypes import is_float
from ..operator import Call, registry
from ..value import Value
from .rows import accumulator, around, launch_rows, row_defines

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

_SOURCE = "normalization.cl"

_STASH = {1: np.dtype(np.float32), 10: np.dtype(np.float16), 11: np.dtype(np.float64), 16: np.dtype(bfloat16)}
"""ONNX's numbers of the types in which statistics may be asked for."""


def _float_input(call: Call) -> Value:
    x = call.inputs[0]
    assert x is not None
    if not is_float(x.dtype):
        raise call.fail(f"input is {x.dtype.name}; expected a floating-point type")
    return x


def _wanted(call: Call, output: int) -> bool:
    return output < len(call.wanted) and call.wanted[output]


# --- batch normalisation ----------------------------------------------------------------------------


def _channels(call: Call) -> tuple[int, int, int]:
    """The input as [outer, channels, run]; without ``spatial`` every place is a channel of its own."""
    x = _float_input(call)
    if x.rank < 2 and not (x.rank == 1 and call.inputs[1] is not None):
        raise call.fail(f"input has shape {list(x.shape)}; expected at least [batch, channels]")
    if x.rank == 1:
        return x.shape[0], 1, 1
    if call.a.spatial:
        return around(x.shape, 1)
    return x.shape[0], math.prod(x.shape[1:]), 1


def _infer_batch(call: Call) -> list[Value]:
    x = _float_input(call)
    channels = _channels(call)[1]
    for port, value in zip(call.operator.signature.inputs[1:], call.inputs[1:], strict=True):
        assert value is not None
        if value.size != channels:
            raise call.fail(
                f"{port.name} has shape {list(value.shape)}; expected {channels} elements, one a channel"
            )
    mean, variance = call.inputs[3], call.inputs[4]
    assert mean is not None and variance is not None
    statistics = [Value(mean.dtype, mean.shape), Value(variance.dtype, variance.shape)] * 2
    return [Value(x.dtype, x.shape), *(Value(v.dtype, v.shape) for v in statistics)]


def _lower_batch(call: Call, emit: Emit) -> None:
    x, scale, bias, mean, variance = call.inputs
    assert x is not None and scale is not None and mean is not None and variance is not None
    outer, channels, run = _channels(call)
    accumulate = accumulator(x.dtype)
    if call.a.training:
        batch_mean = emit.temporary(accumulate, (channels,))
        batch_variance = emit.temporary(accumulate, (channels,))
        _moments(call, emit, batch_mean, batch_variance)
        _statistics(call, emit, batch_mean, batch_variance)
        mean, variance = batch_mean, batch_variance
    elif any(_wanted(call, output) for output in range(1, 5)):
        for target, source in zip(call.outputs[1:], (mean, variance) * 2, strict=True):
            emit.copy(source, target)
    types = {"I": x.dtype, "A": accumulate, "O": x.dtype, "S": scale.dtype, "M": mean.dtype}
    defines = row_defines(x.dtype, accumulate, x.dtype) | {"CHANNELS": 1}
    arguments = [x, scale, bias, mean, variance, call.outputs[0], run, channels]
    arguments.append(accumulate.type(call.a.epsilon))
    launch_rows(emit, _SOURCE, "normalize_channels", outer * channels, arguments, types, defines)


def _moments(call: Call, emit: Emit, mean: Value, variance: Value) -> None:
    """The batch's own statistics."""
    x = _float_input(call)
    outer, channels, run = _channels(call)
    types = {"I": x.dtype, "A": mean.dtype, "O": x.dtype, "M": mean.dtype}
    defines = row_defines(x.dtype, mean.dtype, x.dtype) | {"MOMENTS": 1}
    launch_rows(emit, _SOURCE, "channel_moments", channels, [x, mean, variance, outer, run], types, defines)


def _statistics(call: Call, emit: Emit, mean: Value, variance: Value) -> None:
    """What running statistics become, and the batch's own where they are asked for."""
    x = _float_input(call)
    outer, channels, run = _channels(call)
    count, share = outer * run, call.a.momentum
    correction = count / (count - 1) if call.a.unbiased and count > 1 else 1.0
    accumulate = mean.dtype.type
    rows = [(1, mean, 1 - share, share), (2, variance, 1 - share, share * correction)]
    rows += [(3, mean, 0.0, 1.0), (4, variance, 0.0, 1.0)]
    for output, batch, kept, added in rows:
        old, target = call.inputs[3 + (output - 1) % 2], call.outputs[output]
        if not _wanted(call, output) or old is None:
            continue
        types = {"I": x.dtype, "A": mean.dtype, "O": x.dtype, "M": target.dtype}
        defines = row_defines(x.dtype, mean.dtype, x.dtype) | {"MOMENTS": 1}
        arguments = [old, batch, target, accumulate(kept), accumulate(added)]
        emit.map(_SOURCE, "blend", channels, arguments, types, defines)


registry.add(
    "_BatchNorm2d(x, scale, bias, running_mean, running_var; momentum: float = 0.9, epsilon: float = 1e-5,"
    " training: int = 0, spatial: int = 1, unbiased: int = 0)"
    " -> y, running_mean?, running_var?, saved_mean?, saved_var?",
    infer=_infer_batch,
    lower=_lower_batch,
)


# --- statistics of each row -------------------------------------------------------------------------


def _infer_channelwise(call: Call) -> list[Value]:
    x, scale, bias = call.inputs
    x = _float_input(call)
    if x.rank < 2:
        raise call.fail(f"input has shape {list(x.shape)}; expected at least [batch, channels]")
    groups = getattr(call.a, "num_groups", None)
    if groups is not None and (groups < 1 or x.shape[1] % groups):
        raise call.fail(f"{x.shape[1]} channels cannot be cut into {groups} equal groups")
    sizes = {x.shape[1]} if groups is None else {x.shape[1], groups}
    for name, value in (("scale", scale), ("bias", bias)):
        assert value is not None
        if value.size not in sizes:
            wanted = " or ".join(str(size) for size in sorted(sizes))
            raise call.fail(f"{name} has shape {list(value.shape)}; expected {wanted} elements")
    return [Value(x.dtype, x.shape)]


def _lower_channelwise(call: Call, emit: Emit) -> None:
    """Rows are one channel (instance) or one group of channels (group normalisation)."""
    x, scale, bias = call.inputs
    assert x is not None and scale is not None and bias is not None
    outer, channels, run = around(x.shape, 1)
    groups = getattr(call.a, "num_groups", channels)
    runs = channels // groups if groups else 0
    if scale.size != channels:
        channels, run, runs = groups, run * runs, 1
    accumulate = accumulator(x.dtype)
    types = {"I": x.dtype, "A": accumulate, "O": x.dtype, "S": scale.dtype}
    defines = row_defines(x.dtype, accumulate, x.dtype) | {"RUNS": 1}
    arguments = [x, scale, bias, call.outputs[0], runs, run, channels, accumulate.type(call.a.epsilon)]
    items = outer * groups if run else 0
    launch_rows(emit, _SOURCE, "normalize_runs", items, arguments, types, defines)


registry.add(
    "InstanceNormalization(x, scale, bias; epsilon: float = 1e-5) -> y",
    infer=_infer_channelwise,
    lower=_lower_channelwise,
)
registry.add(
    "GroupNormalization(x, scale, bias; num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> y",
    infer=_infer_channelwise,
    lower=_lower_channelwise,
)


def _stash(call: Call) -> np.dtype:
    try:
        return _STASH[call.a.stash_type]
    except KeyError:
        raise call.fail(f"stash_type {call.a.stash_type} is no floating-point type") from None


def _infer_rows(call: Call) -> list[Value]:
    x, scale = _float_input(call), call.inputs[1]
    assert scale is not None
    axis = call.axis(call.a.axis, x.rank)
    tail = x.shape[axis:]
    for value in call.inputs[1:]:
        if value is not None and not _broadcasts(value.shape, x.shape):
            raise call.fail(f"shape {list(value.shape)} does not broadcast to {list(x.shape)}")
    kept = x.shape[:axis] + (1,) * len(tail)
    if call.operator.name == "RMSNormalization":
        _stash(call)
        return [Value(scale.dtype, x.shape)]
    return [Value(x.dtype, x.shape), Value(_stash(call), kept), Value(_stash(call), kept)]


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _lower_rows(call: Call, emit: Emit) -> None:
    """Layer and RMS normalisation; a scale and bias that need broadcasting are applied afterwards."""
    x, scale = call.inputs[:2]
    bias = call.inputs[2] if len(call.inputs) > 2 else None
    assert x is not None and scale is not None
    axis = call.axis(call.a.axis, x.rank)
    length = math.prod(x.shape[axis:])
    whole = all(v is None or (v.size == length and v.dtype == x.dtype) for v in (scale, bias))
    within = whole and all(v is None or v.shape[-(x.rank - axis) :] == x.shape[axis:] for v in (scale, bias))
    y = call.outputs[0]
    target = y if within else emit.temporary(y.dtype, y.shape)
    _launch_rows(call, emit, (scale, bias) if within else (None, None), target, length)
    if not within:
        product = y if bias is None else emit.temporary(y.dtype, y.shape)
        emit.operator("Mul", [target, scale], [product])
        if bias is not None:
            emit.operator("Add", [product, bias], [y])


def _launch_rows(
    call: Call, emit: Emit, affine: tuple[Value | None, Value | None], target: Value, length: int
) -> None:
    x = call.inputs[0]
    assert x is not None
    accumulate = accumulator(x.dtype)
    centre = call.operator.name == "LayerNormalization"
    statistics = call.outputs[1:] if centre else [target, target]
    types: dict[str, Any] = {"I": x.dtype, "A": accumulate, "O": target.dtype, "M": statistics[0].dtype}
    flags = {
        "ROWS": True,
        "CENTRE": centre,
        "SCALE": affine[0] is not None,
        "BIAS": affine[1] is not None,
        "MEAN": centre and _wanted(call, 1),
        "INVERSE": centre and _wanted(call, 2),
    }
    defines = row_defines(x.dtype, accumulate, target.dtype) | {name: 1 for name, on in flags.items() if on}
    means = statistics[0] if flags["MEAN"] else target
    inverses = statistics[1] if flags["INVERSE"] else target
    arguments = [x, affine[0] or x, affine[1] or x, target, means, inverses, length]
    arguments.append(accumulate.type(call.a.epsilon))
    items = x.size // length if length else 0
    launch_rows(emit, _SOURCE, "normalize_rows", items, arguments, types, defines)


registry.add(
    "LayerNormalization(x, scale, bias?; axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1)"
    " -> y, mean?, inv_std_dev?",
    infer=_infer_rows,
    lower=_lower_rows,
)
registry.add(
    "RMSNormalization(x, scale; axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> y",
    infer=_infer_rows,
    lower=_lower_rows,
)


# --- others -----------------------------------------------------------------------------------------


def _infer_lp(call: Call) -> list[Value]:
    x = _float_input(call)
    call.axis(call.a.axis, x.rank)
    if call.a.p not in (1, 2):
        raise call.fail(f"p is {call.a.p}; expected 1 or 2")
    return [Value(x.dtype, x.shape)]


def _lower_lp(call: Call, emit: Emit) -> None:
    x = _float_input(call)
    outer, length, inner = around(x.shape, call.axis(call.a.axis, x.rank))
    accumulate = accumulator(x.dtype)
    types = {"I": x.dtype, "A": accumulate, "O": x.dtype}
    defines = row_defines(x.dtype, accumulate, x.dtype) | {"POWER": call.a.p}
    arguments = [x, call.outputs[0], length, inner]
    emit.map(_SOURCE, "lp_normalize", outer * inner if length else 0, arguments, types, defines)


registry.add("LpNormalization(x; axis: int = -1, p: int = 2) -> y", infer=_infer_lp, lower=_lower_lp)


def _infer_local(call: Call) -> list[Value]:
    x = _float_input(call)
    if x.rank < 2:
        raise call.fail(f"input has shape {list(x.shape)}; expected at least [batch, channels]")
    if call.a.size < 1:
        raise call.fail(f"size is {call.a.size}; expected at least 1")
    return [Value(x.dtype, x.shape)]


def _lower_local(call: Call, emit: Emit) -> None:
    x = _float_input(call)
    _, channels, inner = around(x.shape, 1)
    accumulate = accumulator(x.dtype)
    size, number = call.a.size, accumulate.type
    types = {"I": x.dtype, "A": accumulate, "O": x.dtype}
    defines = row_defines(x.dtype, accumulate, x.dtype) | {"WINDOW": 1}
    arguments = [x, call.outputs[0], channels, inner, (size - 1) // 2, size // 2]
    arguments += [number(call.a.alpha / size), number(call.a.beta), number(call.a.bias)]
    emit.map(_SOURCE, "local_response", x.size, arguments, types, defines)


registry.add(
    "LRN(x; size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> y",
    infer=_infer_local,
    lower=_lower_local,
)


def _expand_mean_variance(call: Call, build: Builder) -> list[Value]:
    """(x - mean) / (deviation + 1e-9), as ONNX's function body has it."""
    x = _float_input(call)
    centred = build("Sub", x, build("ReduceMean", x, axes=call.a.axes))
    variance = build("ReduceMean", build("Mul", centred, centred), axes=call.a.axes)
    epsilon = build.constant(1e-9, x.dtype)
    return [build("Div", centred, build("Add", build("Sqrt", variance), epsilon))]


registry.add(
    "MeanVarianceNormalization(x; axes: ints = [0, 2, 3]) -> y",
    expand=_expand_mean_variance,
)
