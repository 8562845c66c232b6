"""Random numbers of a device, drawn inside a step so that every replay draws new ones.

A device has one counter tensor.  Each draw reads it and leaves it one higher, so a planned step,
which carries it as a state, draws on; the same seed gives the same numbers on every device.
"""

from __future__ import annotations

import numpy as np

from . import eager
from .device import Device
from .tensor import Tensor

_counters: dict[Device, tuple[int, Tensor]] = {}


def counter(device: Device) -> Tensor:
    """The device's counter: int64, shape (), starting from the device's seed."""
    seed, tensor = _counters.get(device, (None, None))
    if tensor is None or seed != device.seed:
        tensor = Tensor(device=device, data=np.asarray(device.seed << 20, np.int64), requires_grad=False)
        tensor.name = "random_counter"
        _counters[device] = (device.seed, tensor)
    return tensor


def keep_mask(x: Tensor, ratio: float) -> Tensor:
    """0 with probability ``ratio``, else 1, for each element of ``x`` and in its type."""
    state = counter(x.device)
    drawn = eager.apply("RandomUniformAt", (state,), shape=tuple(x.shape))[0]
    kept = eager.apply("GreaterOrEqual", (drawn, eager.scalar(x.device, ratio, drawn.data_type)))[0]
    state += 1
    return eager.apply("Cast", (kept,), to=x.data_type)[0]
