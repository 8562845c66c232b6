"""Conversion between types (ONNX Cast 25, CastLike 25, BitCast 26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from .. import dtypes
from ..dtypes import DataType, data_type
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

ROUND_MODES = {"down": 0, "up": 1, "nearest": 2}
"""How float8_e8m0fnu, which has no fraction, takes one."""

# A double becomes a narrow float through a float that remembers whether it was inexact: rounding
# twice to nearest would round wrongly where the first rounding lands on the second's tie.
_SOURCE = """
#ifdef FROM_DOUBLE
inline float to_odd(double value) {
  const float near = convert_float_rtz(value);
  return isnan(value) || isinf(near) || (double)near == value ? near : as_float(as_uint(near) | 1);
}
#endif
__kernel void cast(const int n, __global const X_T *restrict x, __global Y_T *restrict y) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const X_C value = X_LOAD(x, i);
  WRITE;
}
"""


def _write(source: DataType, target: DataType, saturate: int, round_mode: int) -> str:
    """The statement that converts and stores one element."""
    value = "value"
    if target.conversion and target.kind == "f":
        if source.numpy == np.float64 and target.numpy != np.float16:
            value = "to_odd(value)"
        if target.name == "float8_e8m0fnu":
            return f"y[i] = encode_float8_e8m0fnu((float){value}, {saturate}, {round_mode})"
        if target.name.startswith("float8"):
            return f"y[i] = encode_{target.name}((float){value}, {saturate})"
        cast = "(double)" if source.numpy == np.float64 and target.numpy == np.float16 else "(float)"
        return f"Y_STORE(y, i, {cast}{value})"
    if target.kind in "iu" and source.kind == "f":
        # By way of long, so that what does not fit wraps as it does between integers; ONNX defines no
        # result there, and the narrow integers of ml_dtypes, which its tests are made with, give 0.
        if target.numpy == np.uint64:
            value = "(value >= 9223372036854775808.0f ? (ulong)value : (ulong)(long)value)"
        elif target.conversion:
            info = ml_dtypes.iinfo(target.numpy)
            value = f"(value > {info.min - 1} && value < {info.max + 1} ? (long)value : 0L)"
        else:
            value = "(long)value"
    return f"Y_STORE(y, i, {value})"


def _lower(call: Call, emit: Emit) -> None:
    x, y = call.present[0], call.outputs[0]
    if x.dtype == y.dtype:
        emit.alias(y, x)
        return
    if call.a.round_mode not in ROUND_MODES:
        raise call.fail(f"round_mode is {call.a.round_mode!r}; it must be one of {', '.join(ROUND_MODES)}")
    source, target = data_type(x.dtype), data_type(y.dtype)
    defines: dict[str, object] = {
        "WRITE": _write(source, target, int(bool(call.a.saturate)), ROUND_MODES[call.a.round_mode])
    }
    if source.numpy == np.float64:
        defines["FROM_DOUBLE"] = 1
    emit.map(_SOURCE, "cast", x.size, [x, y], types={"X": x.dtype, "Y": y.dtype}, defines=defines)


def _host(call: Call) -> list[np.ndarray]:
    x = call.present[0].host
    assert x is not None
    return [x.astype(call.outputs[0].dtype)]


registry.add(
    "Cast(x; to: dtype, saturate: int = 1, round_mode: string = 'up') -> y",
    infer=lambda call: [Value(call.a.to, call.present[0].shape)],
    lower=_lower,
    host=_host,
)


def _like(call: Call, build: Builder) -> list[Value]:
    x, target = call.present
    return [build("Cast", x, to=target.dtype, saturate=call.a.saturate, round_mode=call.a.round_mode)]


registry.add("CastLike(x, target; saturate: int = 1, round_mode: string = 'up') -> y", expand=_like)


def _bitcast_infer(call: Call) -> list[Value]:
    x, to = call.present[0], np.dtype(call.a.to)
    if to.itemsize != x.dtype.itemsize:
        raise call.fail(f"{x.dtype.name} and {dtypes.data_type(to).name} differ in size")
    return [Value(to, x.shape)]


registry.add("BitCast(x; to: dtype) -> y", infer=_bitcast_infer, view=True)
