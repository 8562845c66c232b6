"""Matrix products: Matmul, Gemm, their integer and quantized forms, Einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import data_type, is_float, promote
from ..operator import Call, broadcast_shape, registry
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit

PACKED_ROWS = 4
"""Rows from which packing a B that changes in every run pays."""


@dataclass(frozen=True)
class Matrix:
    """One operand of a product: a value read as matrices with these strides, in elements.

    ``offsets``: where the matrix of each batch begins; ``count`` matrices of ``size`` elements.
    """

    value: Value
    row: int
    column: int
    offsets: np.ndarray
    size: int = 0


@dataclass(frozen=True)
class Product:
    """``C = alpha * A B + beta * D`` for ``batch`` matrices; ``d`` None is no D."""

    m: int
    n: int
    k: int
    batch: int
    a: Matrix
    b: Matrix
    d: Matrix | None
    output: Value
    alpha: float = 1.0
    beta: float = 1.0


def compute_type(*dtypes: np.dtype) -> np.dtype:
    """The type in which products of these are summed: float for the small floats, at least 32 bits."""
    dtype = promote(*dtypes)
    if is_float(dtype):
        return np.dtype({"double": np.float64}.get(data_type(dtype).compute, np.float32))
    kind = data_type(dtype).kind
    wide = dtype.itemsize == 8
    return np.dtype((np.uint64 if wide else np.uint32) if kind == "u" else (np.int64 if wide else np.int32))


def vector_width(emit: Emit, dtype: np.dtype) -> int:
    """Numbers of a type in one vector register of the device, 4 to 16."""
    native = emit.device.device.native_vector_width_float or 8
    return max(min(native, 16) * 4 // dtype.itemsize, 4)


def multiply(emit: Emit, product: Product) -> None:
    """Launch a product: register tiles over a packed B where that pays, else an element a work-item."""
    p = product
    if not p.output.size:
        return
    changes = not p.b.value.constant
    small = p.m * p.n * p.k < 1 << 14
    strided = 1 not in (p.a.row, p.a.column)
    if strided or (changes and (p.m < PACKED_ROWS or small)):
        _elementwise(emit, p)
    else:
        _tiled(emit, p)


def _elementwise(emit: Emit, p: Product) -> None:
    """One work-item for each element of C."""
    compute = _product_type(p)
    d = p.d or p.a
    operands = [p.a, p.b, d]
    offsets = np.stack([operand.offsets for operand in operands], 1).astype(np.int32)
    types = dict(zip("ABD", (operand.value.dtype for operand in operands), strict=True))
    types |= {"C": p.output.dtype, "R": compute}
    emit.map(
        "matmul.cl",
        "matmul",
        p.batch * p.m * p.n,
        [
            *(p.a.value, p.b.value, d.value, p.output, emit.constant(offsets), p.m, p.n, p.k),
            *(p.a.row, p.a.column, p.b.row, p.b.column),
            *(compute.type(p.alpha), compute.type(p.beta), d.row, d.column),
        ],
        types,
        {"W": 1} | ({"BIAS": 1} if p.d else {}),
    )


def _tiled(emit: Emit, p: Product) -> None:
    """Register tiles; B packed once where it is constant."""
    compute = _product_type(p)
    width = vector_width(emit, compute)
    rows, vectors = _tile(p.m, p.n, width)
    panels = -(-p.n // (vectors * width))
    packed = _pack(emit, p, compute, vectors * width)
    d = p.d or p.a
    matrices = p.b.offsets // max(p.b.size, 1)
    offsets = np.stack([p.a.offsets, matrices, d.offsets], 1).astype(np.int32)
    bias = 0 if p.d is None else (1 if d.column == 1 or p.n == 1 else 2)
    defines: dict[str, object] = {"TM": rows, "NB": vectors, "VW": width, "BIAS": bias}
    if p.a.column != 1:
        defines["A_COLUMN"] = 1
    if p.output.dtype == compute == d.value.dtype or (p.d is None and p.output.dtype == compute):
        defines["DIRECT"] = 1
    tiles = -(-p.m // rows)
    chunk = -(-tiles // max(1, min(tiles, -(-groups(emit) // (panels * p.batch)))))
    types = {"A": p.a.value.dtype, "D": d.value.dtype if p.d else compute, "C": p.output.dtype, "R": compute}
    lda = p.a.row if p.a.column == 1 else p.a.column
    emit.launch(
        "gemm.cl",
        "gemm",
        [
            *(p.a.value, packed, d.value, p.output, emit.constant(offsets)),
            *(p.m, p.n, p.k, lda, tiles, chunk, compute.type(p.alpha), compute.type(p.beta), d.row),
        ],
        (panels, -(-tiles // chunk), p.batch),
        (1, 1, 1),
        types,
        defines,
    )


def groups(emit: Emit) -> int:
    """Work-items of a tiled kernel to aim at: enough to balance, few enough to cost nothing."""
    return 64 if "Intel" in emit.device.platform else 16


def _tile(m: int, n: int, width: int) -> tuple[int, int]:
    """Rows and vectors of the register tile: as large as the registers hold, little of it wasted."""
    if m < 4:
        return max(m, 1), 4 if n > 2 * width else (2 if n > width else 1)
    rows = 8 if width == 16 and m >= 8 else 4

    def cost(vectors: int) -> float:
        return -(-n // (vectors * width)) * vectors * (1 + 0.15 * (3 - vectors))

    return rows, min((3, 2, 1), key=cost)


def _pack(emit: Emit, p: Product, compute: np.dtype, panel: int) -> Value:
    """B as panels of ``panel`` columns."""
    panels = -(-p.n // panel)
    count = 1 if p.b.size == 0 else max(p.b.value.size // p.b.size, 1)
    span = -(-p.k // max(1, min(p.k, 64 // max(panels * count, 1))))

    def pack(inner: Emit, source: Value, result: Value) -> None:
        inner.launch(
            "matmul.cl",
            "pack_gemm",
            [source, result, p.n, p.k, p.b.size, p.b.row, p.b.column, span],
            (panels, -(-p.k // max(span, 1)), count),
            None,
            {role: source.dtype for role in "ABDC"} | {"R": compute},
            {"W": panel},
        )

    key = f"gemm {panel} {p.k} {p.n} {p.b.row} {p.b.column} {compute.name}"
    return emit.once(p.b.value, key, compute, (count, panels, p.k, panel), pack)


def _product_type(p: Product) -> np.dtype:
    dtype = compute_type(p.a.value.dtype, p.b.value.dtype, p.output.dtype)
    whole = float(p.alpha).is_integer() and float(p.beta).is_integer()
    return dtype if whole or is_float(dtype) else np.dtype(np.float64)


# --- Matmul --------------------------------------------------------------------------------------


def _matmul_shapes(call: Call) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both operands' shapes with the axis that a 1-d operand lacks."""
    a, b = call.present
    if not a.rank or not b.rank:
        raise call.fail("a matrix product of a scalar is not defined")
    left = a.shape if a.rank > 1 else (1, *a.shape)
    right = b.shape if b.rank > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        sizes = f"{left[-1]} against {right[-2]}"
        raise call.fail(f"shapes {list(a.shape)} and {list(b.shape)} do not multiply: {sizes}")
    return left, right


def _matmul_infer(call: Call) -> list[Value]:
    a, b = call.present
    left, right = _matmul_shapes(call)
    batch = broadcast_shape(call, [left[:-2], right[:-2]])
    shape = batch + left[-2:-1] * (a.rank > 1) + right[-1:] * (b.rank > 1)
    return [Value(promote(a.dtype, b.dtype), shape)]


def _matmul_lower(call: Call, emit: Emit) -> None:
    a, b = call.present
    left, right = _matmul_shapes(call)
    m, k, n = left[-2], left[-1], right[-1]
    shape = np.broadcast_shapes(left[:-2], right[:-2])
    batch = math.prod(shape)
    if math.prod(right[:-2]) == 1 and math.prod(left[:-2]) == batch:
        m, batch, shape, left, right = m * batch, 1, (), (m * batch, k), (k, n)
    product = Product(
        m,
        n,
        k,
        batch,
        Matrix(a, k, 1, batch_offsets(left[:-2], shape, m * k), m * k),
        Matrix(b, n, 1, batch_offsets(right[:-2], shape, k * n), k * n),
        None,
        call.outputs[0],
    )
    multiply(emit, product)


def batch_offsets(own: Sequence[int], shape: Sequence[int], size: int) -> np.ndarray:
    """Where each of the broadcast batch's matrices begins in an operand whose batch is ``own``."""
    places = np.arange(math.prod(own), dtype=np.int64).reshape(own) * size
    return np.broadcast_to(places, shape).reshape(-1)


registry.add("Matmul(a, b) -> y", infer=_matmul_infer, lower=_matmul_lower)


# --- Gemm ----------------------------------------------------------------------------------------


def _gemm_sizes(call: Call) -> tuple[int, int, int]:
    a, b = call.inputs[:2]
    assert a is not None and b is not None
    if a.rank != 2 or b.rank != 2:
        raise call.fail(f"A and B must be matrices; they are {list(a.shape)} and {list(b.shape)}")
    m, k = a.shape[::-1] if call.a.transA else a.shape
    inner, n = b.shape[::-1] if call.a.transB else b.shape
    if k != inner:
        raise call.fail(f"A {list(a.shape)} and B {list(b.shape)} do not multiply: {k} against {inner}")
    return m, n, k


def _gemm_infer(call: Call) -> list[Value]:
    m, n, _ = _gemm_sizes(call)
    c = call.inputs[2]
    if c is not None and broadcast_shape(call, [c.shape, (m, n)]) != (m, n):
        raise call.fail(f"C {list(c.shape)} does not broadcast to {[m, n]}")
    return [Value(call.present[0].dtype, (m, n))]


def _gemm_lower(call: Call, emit: Emit) -> None:
    a, b, c = call.inputs
    assert a is not None and b is not None
    m, n, k = _gemm_sizes(call)
    start = np.zeros(1, np.int64)
    d = None
    if c is not None:
        rows, columns = (1, 1, *c.shape)[-2:]
        d = Matrix(c, columns if rows > 1 else 0, 1 if columns > 1 else 0, start)
    product = Product(
        m,
        n,
        k,
        1,
        Matrix(a, 1 if call.a.transA else k, m if call.a.transA else 1, start, m * k),
        Matrix(b, 1 if call.a.transB else n, k if call.a.transB else 1, start, k * n),
        d,
        call.outputs[0],
        call.a.alpha,
        call.a.beta,
    )
    multiply(emit, product)


registry.add(
    "Gemm(A, B, C?; alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> Y",
    infer=_gemm_infer,
    lower=_gemm_lower,
)
