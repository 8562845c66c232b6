"""Gradients of matrix products."""

from __future__ import annotations

from ..tensor import Tensor
from .gradient import Applied, gradient, op, sum_to


def swapped(t: Tensor) -> Tensor:
    """The last two axes exchanged."""
    order = list(range(t.ndim()))
    order[-2:] = [order[-1], order[-2]]
    return op("Transpose", t, perm=tuple(order))


@gradient("Matmul")
def _matmul(call: Applied, dy: Tensor) -> list[Tensor]:
    a, b = call.inputs
    assert a is not None and b is not None
    rows = a if a.ndim() > 1 else op("Reshape", a, shape=(1, a.size()))
    columns = b if b.ndim() > 1 else op("Reshape", b, shape=(b.size(), 1))
    shape = list(dy.shape)
    if b.ndim() == 1:
        shape.append(1)
    if a.ndim() == 1:
        shape.insert(len(shape) - 1, 1)
    full = op("Reshape", dy, shape=tuple(shape)) if tuple(shape) != dy.shape else dy
    da = sum_to(op("Matmul", full, swapped(columns)), rows)
    db = sum_to(op("Matmul", swapped(rows), full), columns)
    return [op("Reshape", da, shape=a.shape), op("Reshape", db, shape=b.shape)]


@gradient("Gemm")
def _gemm(call: Applied, dy: Tensor) -> list[Tensor | None]:
    a, b, *rest = call.inputs
    assert a is not None and b is not None
    alpha, transposed_a, transposed_b = call.a.alpha, call.a.transA, call.a.transB
    if transposed_a:
        da = op("Gemm", b, dy, alpha=alpha, transA=transposed_b, transB=1)
    else:
        da = op("Gemm", dy, b, alpha=alpha, transB=0 if transposed_b else 1)
    if transposed_b:
        db = op("Gemm", dy, a, alpha=alpha, transA=1, transB=transposed_a)
    else:
        db = op("Gemm", a, dy, alpha=alpha, transA=0 if transposed_a else 1)
    return [da, db, *(None if c is None else sum_to(dy * call.a.beta, c) for c in rest)]


@gradient("AddBias")
def _add_bias(call: Applied, dy: Tensor) -> list[Tensor]:
    """axis 0: the bias has a value for each column; 1: for each row."""
    bias = call.inputs[1]
    assert bias is not None
    summed = op("ReduceSum", dy, axes=(0 if call.a.axis == 0 else 1,), keepdims=0)
    return [dy, op("Reshape", summed, shape=bias.shape)]
