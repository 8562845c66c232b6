"""Random numbers and dropout, drawn on the device.

A draw has a seed in memory.  Where a model gives none it starts from the system's entropy, and every
run moves it on; where it gives one, every run draws the same numbers (ONNX RandomNormal 22,
RandomUniform 22, Bernoulli 22, Multinomial 22, Dropout 22).
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import dtypes
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder


def _seed(call: Call, emit: Emit) -> Value:
    """The seed in memory: ONNX's is a float, whose bits are taken."""
    given = call.a.seed
    number = secrets.randbits(64) if given is None else struct.unpack("<Q", struct.pack("<d", given))[0]
    value = emit.constant(np.asarray([number], np.uint64))
    storage = emit.storage(value)
    storage.writable = storage.pinned = True
    return value


def _draw(
    call: Call, emit: Emit, kernel: str, arguments: Sequence[Value | int | float], **roles: np.dtype
) -> None:
    seed, y = _seed(call, emit), call.outputs[0]
    types = {"Y": y.dtype, **roles}
    emit.map("random.cl", kernel, y.size, [seed, *_around(y, arguments)], types=types)
    if call.a.seed is None:
        emit.launch("random.cl", "advance", [seed], (1,), (1,), types=types)


def _around(y: Value, arguments: Sequence[Value | int | float]) -> list[Value | int | float]:
    """Inputs, then the output, then numbers."""
    values = [argument for argument in arguments if isinstance(argument, Value)]
    return [*values, y, *(argument for argument in arguments if not isinstance(argument, Value))]


def _of_shape(call: Call) -> list[Value]:
    return [Value(call.a.dtype, call.a.shape)]


def _like(call: Call) -> list[Value]:
    x = call.present[0]
    return [Value(call.a.dtype or x.dtype, x.shape)]


def _uniform(call: Call, emit: Emit) -> None:
    _draw(call, emit, "uniform", [float(call.a.low), float(call.a.high)])


def _normal(call: Call, emit: Emit) -> None:
    _draw(call, emit, "normal", [float(call.a.mean), float(call.a.scale)])


_UNIFORM = "low: float = 0.0, high: float = 1.0, seed: float?"
_NORMAL = "mean: float = 0.0, scale: float = 1.0, seed: float?"
registry.add(
    f"RandomUniform(; shape: ints, {_UNIFORM}, dtype: dtype = 'float32') -> y",
    infer=_of_shape,
    lower=_uniform,
)
registry.add(
    f"RandomNormal(; shape: ints, {_NORMAL}, dtype: dtype = 'float32') -> y", infer=_of_shape, lower=_normal
)
registry.add(f"RandomUniformLike(x; {_UNIFORM}, dtype: dtype?) -> y", infer=_like, lower=_uniform)
registry.add(f"RandomNormalLike(x; {_NORMAL}, dtype: dtype?) -> y", infer=_like, lower=_normal)


def _bernoulli(call: Call, emit: Emit) -> None:
    p = call.present[0]
    _draw(call, emit, "bernoulli", [p], P=p.dtype)


registry.add("Bernoulli(x; seed: float?, dtype: dtype?) -> y", infer=_like, lower=_bernoulli)


def _multinomial_infer(call: Call) -> list[Value]:
    x = call.present[0]
    if x.rank != 2:
        raise call.fail(f"takes log-probabilities [batch, classes], got shape {list(x.shape)}")
    return [Value(call.a.dtype, (x.shape[0], call.a.sample_size))]


def _multinomial(call: Call, emit: Emit) -> None:
    p = call.present[0]
    _draw(call, emit, "multinomial", [p, call.a.sample_size, p.shape[1]], P=p.dtype)


registry.add(
    "Multinomial(x; sample_size: int = 1, seed: float?, dtype: dtype = 'int32') -> y",
    infer=_multinomial_infer,
    lower=_multinomial,
)


def _uniform_at(call: Call, emit: Emit) -> None:
    """Uniform numbers whose seed is a tensor's: a step that is replayed draws new ones as it counts on."""
    y = call.outputs[0]
    emit.map("random.cl", "uniform", y.size, [call.present[0], y, 0.0, 1.0], types={"Y": y.dtype})


registry.add(
    "RandomUniformAt(counter; shape: ints) -> y",
    infer=lambda call: [Value(dtypes.FLOAT32, call.a.shape)],
    lower=_uniform_at,
)


def _dropout(call: Call, build: Builder) -> list[Value]:
    """Outside of training y is x and every element is kept."""
    x = call.present[0]
    if not call.a.training or not call.a.ratio:
        kept = build("Expand", build.constant(True, np.bool_), shape=x.shape)
        return [build("Identity", x), kept]
    drawn = build("RandomUniform", shape=x.shape, seed=None if call.a.seed is None else float(call.a.seed))
    kept = build("GreaterOrEqual", drawn, build.constant(call.a.ratio, np.float32))
    scale = build.constant(1.0 / (1.0 - call.a.ratio), x.dtype)
    return [build("Mul", build("Mul", x, build("Cast", kept, to=x.dtype)), scale), kept]


registry.add(
    "Dropout(x; ratio: float = 0.5, training: int = 0, seed: int?) -> y, mask?",
    expand=_dropout,
)
