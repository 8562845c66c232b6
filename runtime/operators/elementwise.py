"""Elementwise operators: a row each."""

from __future__ import annotations

import numpy as np

from ..dtypes import BOOL
from ..operator import Call, registry
from ..pointwise import Pointwise


def _host(function):
    """The numpy function that shape arithmetic uses for an operator."""

    def host(call: Call):
        return [function(*(value.host for value in call.present))]

    return host


_ROWS = [
    ("ReLU(x) -> y", Pointwise("fmax(x, (C)0)", "max(x, (C)0)"), None),
    ("Add(a, b) -> y", Pointwise("a + b"), np.add),
    ("Mul(a, b) -> y", Pointwise("a * b"), np.multiply),
    ("Greater(a, b) -> y", Pointwise("a > b", result=BOOL), np.greater),
]

for _signature, _pointwise, _function in _ROWS:
    registry.add(_signature, pointwise=_pointwise, host=_host(_function) if _function else None)

registry.add(
    "Identity(x) -> y",
    infer=lambda call: [type(call.inputs[0])(call.inputs[0].dtype, call.inputs[0].shape)],
    view=True,
    host=lambda call: [call.inputs[0].host],
)
