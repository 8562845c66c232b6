"""SINGA's losses and its cosine similarity, as graphs of other operators.

A loss is a scalar: the sum over all elements divided by the size of the first axis (the batch),
except the mean square error, which is divided by the number of elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import data_type, is_float
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder

_MARGIN = 0.0001
"""What SINGA's binary cross entropy adds to a probability before it takes the logarithm."""


def _pair(call: Call) -> tuple[Value, Value]:
    """Prediction and target, of the same shape."""
    x, t = call.inputs
    assert x is not None and t is not None
    if x.shape != t.shape:
        raise call.fail(f"shapes {list(x.shape)} and {list(t.shape)} differ; expected the same")
    if not is_float(x.dtype):
        raise call.fail(f"input is {x.dtype.name}; expected a floating-point type")
    return x, t


def _batch_mean(build: Builder, x: Value, rows: int, sign: float = 1.0) -> Value:
    """The sum of all elements divided by the number of rows, times ``sign``."""
    total = build("ReduceSum", x, keepdims=0)
    return build("Mul", total, build.constant(sign / max(rows, 1), x.dtype))


def _rows(call: Call, x: Value) -> int:
    if not x.rank:
        raise call.fail("a scalar has no batch to average over")
    return x.shape[0]


def _expand_binary_cross_entropy(call: Call, build: Builder) -> list[Value]:
    x, t = _pair(call)
    one, near_one = build.constant(1.0, x.dtype), build.constant(1.0 + _MARGIN, x.dtype)
    positive = build("Mul", t, build("Log", build("Add", x, build.constant(_MARGIN, x.dtype))))
    negative = build("Mul", build("Sub", one, t), build("Log", build("Sub", near_one, x)))
    return [_batch_mean(build, build("Add", positive, negative), _rows(call, x), -1.0)]


def _expand_cross_entropy(call: Call, build: Builder) -> list[Value]:
    x, t = _pair(call)
    return [_batch_mean(build, build("Mul", t, build("Log", x)), _rows(call, x), -1.0)]


def _expand_softmax_cross_entropy(call: Call, build: Builder) -> list[Value]:
    """``t`` holds class numbers (one for each row of ``x``) or probabilities (the shape of ``x``)."""
    x, t = call.inputs
    assert x is not None and t is not None
    if x.rank != 2 or not is_float(x.dtype):
        raise call.fail(f"input is {x.dtype.name}{list(x.shape)}; expected floats [batch, classes]")
    rows, classes = x.shape
    if t.shape != x.shape:
        if t.size != rows or is_float(t.dtype):
            raise call.fail(
                f"target is {t.dtype.name}{list(t.shape)}; expected {rows} class numbers or {list(x.shape)}"
            )
        column = build("Reshape", t, shape=(rows, 1))
        t = build("Equal", column, build.constant(np.arange(classes).astype(t.dtype)))
    # An impossible class (log 0) must not turn the zeros of the target into NaN.
    lowest = build.constant(data_type(x.dtype).lowest, x.dtype)
    logarithm = build("Max", build("LogSoftmax", x, axis=1), lowest)
    return [_batch_mean(build, build("Mul", logarithm, t), rows, -1.0)]


def _expand_mean_square_error(call: Call, build: Builder) -> list[Value]:
    x, t = _pair(call)
    difference = build("Sub", x, t)
    return [build("ReduceMean", build("Mul", difference, difference), keepdims=0)]


def _expand_ranking_loss(call: Call, build: Builder) -> list[Value]:
    positive, negative = _pair(call)
    margin = build.constant(call.a.M, positive.dtype)
    excess = build("Add", build("Sub", negative, positive), margin)
    return [_batch_mean(build, build("ReLU", excess), _rows(call, positive))]


def _expand_cosine(call: Call, build: Builder) -> list[Value]:
    """The cosine of the angle between the last axes."""
    a, b = _pair(call)
    if not a.rank:
        raise call.fail("a scalar has no direction")
    dot, squares_a, squares_b = (
        build("ReduceSum", build("Mul", x, y), axes=(-1,), keepdims=0) for x, y in ((a, b), (a, a), (b, b))
    )
    norms = build("Mul", build("Sqrt", squares_a), build("Sqrt", squares_b))
    return [build("Div", dot, norms)]


for _signature, _expand in (
    ("BinaryCrossEntropy(x, t) -> y", _expand_binary_cross_entropy),
    ("CrossEntropy(x, t) -> y", _expand_cross_entropy),
    ("SoftMaxCrossEntropy(x, t) -> y", _expand_softmax_cross_entropy),
    ("MeanSquareError(x, t) -> y", _expand_mean_square_error),
    ("RankingLoss(pos, neg; M: float = 0.2) -> y", _expand_ranking_loss),
    ("CosSim(a, b) -> y", _expand_cosine),
):
    registry.add(_signature, expand=_expand)
