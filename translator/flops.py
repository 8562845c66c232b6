"""How much arithmetic a model does: floating point operations by node, from ONNX's inferred shapes.

A multiplication and an addition count as two.  Products and convolutions are counted by formula,
operators that only move data as nothing, any other as one operation for each element of its first
output; what subgraphs do is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import onnx

from .value_ranges import MOVES, Shape

FREE = MOVES | {
    "Constant", "ConstantOfShape", "DepthToSpace", "Dropout", "EyeLike", "GatherElements", "GatherND",
    "NonZero", "OneHot", "Pad", "Range", "ScatterElements", "ScatterND", "Shape", "Size", "SpaceToDepth",
}  # fmt: skip
"""Operators that compute nothing, only move, count or make elements."""

REDUCTIONS = (
    "ArgMax", "ArgMin", "GlobalAveragePool", "GlobalMaxPool", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


@dataclass(frozen=True)
class Work:
    """``flops`` of the nodes whose shapes are known; ``unknown`` nodes are left out of it."""

    flops: int
    unknown: int
    by_operator: dict[str, int]


def count(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> Work:
    """The work of a model's nodes."""
    by_operator: dict[str, int] = {}
    unknown = 0
    for node in model.graph.node:
        flops = _node(node, shapes)
        if flops is None:
            unknown += 1
        elif flops:
            by_operator[node.op_type] = by_operator.get(node.op_type, 0) + flops
    return Work(sum(by_operator.values()), unknown, by_operator)


def _node(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int | None:
    if node.op_type in FREE:
        return 0
    known = {name: tuple(shape) for name in (*node.input, *node.output) if (shape := _full(shapes.get(name)))}
    known |= {name: () for name in (*node.input, *node.output) if shapes.get(name) == ()}
    formula = FORMULAS.get(node.op_type, _elements)
    try:
        return formula(node, known)
    except (KeyError, IndexError):
        return None


def _full(shape: Shape) -> tuple[int, ...] | None:
    if shape is None or any(size is None for size in shape):
        return None
    return tuple(size for size in shape if size is not None)


Known = Mapping[str, tuple[int, ...]]


def _elements(node: onnx.NodeProto, known: Known) -> int:
    return prod(known[next(name for name in node.output if name)])


def _input_elements(node: onnx.NodeProto, known: Known) -> int:
    return prod(known[node.input[0]])


def _convolution(node: onnx.NodeProto, known: Known) -> int:
    weights = known[node.input[1]]
    bias = 1 if len(node.input) > 2 and node.input[2] else 0
    return prod(known[node.output[0]]) * (2 * prod(weights[1:]) + bias)


def _transposed_convolution(node: onnx.NodeProto, known: Known) -> int:
    return prod(known[node.input[0]]) * 2 * prod(known[node.input[1]][1:])


def _product(node: onnx.NodeProto, known: Known) -> int:
    return 2 * prod(known[node.output[0]]) * known[node.input[0]][-1]


def _gemm(node: onnx.NodeProto, known: Known) -> int:
    transposed = any(a.name == "transA" and a.i for a in node.attribute)
    inner = known[node.input[0]][0 if transposed else 1]
    bias = 1 if len(node.input) > 2 and node.input[2] else 0
    return prod(known[node.output[0]]) * (2 * inner + bias)


def _recurrent(node: onnx.NodeProto, known: Known) -> int:
    length, batch, _ = known[node.input[0]]
    weights, recurrence = known[node.input[1]], known[node.input[2]]
    return 2 * length * batch * (prod(weights) + prod(recurrence))


def _pool(node: onnx.NodeProto, known: Known) -> int:
    kernel = next((list(a.ints) for a in node.attribute if a.name == "kernel_shape"), [])
    return prod(known[node.output[0]]) * prod(kernel)


FORMULAS: dict[str, Callable[[onnx.NodeProto, Known], int]] = {
    "Conv": _convolution,
    "ConvInteger": _convolution,
    "ConvTranspose": _transposed_convolution,
    "MatMul": _product,
    "MatMulInteger": _product,
    "Gemm": _gemm,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "AveragePool": _pool,
    "MaxPool": _pool,
    **dict.fromkeys(REDUCTIONS, _input_elements),
}
