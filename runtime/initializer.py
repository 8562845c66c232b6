"""SINGA's initializers: fill a parameter's tensor in place, scaled by how many inputs and outputs it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .errors import InputError
from .tensor import Tensor, to_numpy


def _compute_fans(shape: Sequence[int], data_format: str = "channels_first") -> tuple[float, float]:
    """How many inputs and outputs a weight of that shape connects.

    A matrix is [in, out]; a convolution's weight [out, in, kernel...] (``channels_first``) or
    [kernel..., in, out].  Raises InputError for another ``data_format``.
    """
    if len(shape) == 2:
        return float(shape[0]), float(shape[1])
    if len(shape) < 2:
        fan = math.sqrt(math.prod(shape))
        return fan, fan
    if data_format == "channels_first":
        field = math.prod(shape[2:])
        return float(shape[1] * field), float(shape[0] * field)
    if data_format == "channels_last":
        field = math.prod(shape[:-2])
        return float(shape[-2] * field), float(shape[-1] * field)
    raise InputError(f"data_format is channels_first or channels_last, not {data_format!r}")


def _scaled(scale: float, mode: str, normal: bool, text: str) -> Callable[[Tensor], None]:
    """Random values of variance ``scale`` / fan, fan being ``in`` or the ``avg`` of both."""

    def fill(t: Tensor) -> None:
        fan_in, fan_out = _compute_fans(t.shape)
        fan = fan_in if mode == "in" else (fan_in + fan_out) / 2
        variance = scale / max(fan, 1.0)
        if normal:
            t.gaussian(0.0, math.sqrt(variance))
        else:
            limit = math.sqrt(3.0 * variance)
            t.uniform(-limit, limit)

    fill.__doc__ = text
    return fill


lecun_uniform = _scaled(1.0, "in", False, "Uniform, variance 1 / fan_in (LeCun 1998).")
lecun_normal = _scaled(1.0, "in", True, "Normal, variance 1 / fan_in (LeCun 1998).")
glorot_uniform = _scaled(
    1.0, "avg", False, "Uniform, variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."
)
glorot_normal = _scaled(1.0, "avg", True, "Normal, variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010).")
he_uniform = _scaled(2.0, "in", False, "Uniform, variance 2 / fan_in (He et al. 2015).")
he_normal = _scaled(2.0, "in", True, "Normal, variance 2 / fan_in (He et al. 2015).")


def eye(t: Tensor) -> None:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    if t.ndim() != 2:
        raise InputError(f"eye fills a matrix, not a tensor of shape {list(t.shape)}")
    t.copy_from_numpy(np.eye(*t.shape, dtype=t.data_type))


def orthogonal(t: Tensor, gain: float = 1.0) -> None:
    """Orthonormal rows or columns times ``gain`` (Saxe et al. 2013); needs two dimensions or more."""
    if t.ndim() < 2:
        raise InputError(f"orthogonal fills two dimensions or more, not shape {list(t.shape)}")
    rows, columns = t.shape[0], math.prod(t.shape[1:])
    drawn = Tensor((max(rows, columns), min(rows, columns)), t.device)
    drawn.gaussian(0.0, 1.0)
    q, r = np.linalg.qr(to_numpy(drawn).astype(np.float64))
    q = q * np.sign(np.diag(r))
    q = q if rows >= columns else q.T
    t.copy_from_numpy((gain * q).reshape(t.shape).astype(t.data_type))


def gaussian(t: Tensor, fan_in: int = 0, fan_out: int = 0) -> None:
    """Normal, variance 2 / (fan_in + fan_out)."""
    t.gaussian(0.0, math.sqrt(2.0 / _total(t, fan_in, fan_out)))


def xavier(t: Tensor) -> None:
    """Uniform within sqrt(6 / (fan_in + fan_out))."""
    limit = math.sqrt(6.0 / _total(t))
    t.uniform(-limit, limit)


def glorot(t: Tensor) -> None:
    """Normal, variance 2 / (fan_in + fan_out)."""
    gaussian(t)


def msra(t: Tensor) -> None:
    """Normal, variance 2 / fan_in."""
    he_normal(t)


def _total(t: Tensor, fan_in: int = 0, fan_out: int = 0) -> float:
    fans = _compute_fans(t.shape)
    return max((fan_in or fans[0]) + (fan_out or fans[1]), 1.0)
