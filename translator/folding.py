"""Constants that a model computes from constants: evaluated with ONNX's reference when asked for."""

from __future__ import annotations

import numpy as np
import onnx

from .onnx_graph import OnnxGraph, constant_value

LIMIT = 1 << 20
"""Elements that a folded constant has at most; more is left to the device."""

RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)


def fold(graph: OnnxGraph, name: str) -> np.ndarray | None:
    """The content of a value that depends on constants alone, or None.

    The walk over what it depends on keeps its own stack: chains may be long.
    """
    stack, unknown = [name], set()
    while stack:
        node = graph.producers.get(stack[-1])
        if node is None or not _may_fold(node) or unknown.intersection(node.input):
            unknown.add(stack.pop())
            continue
        if node.op_type == "Constant":
            graph.remember(stack.pop(), constant_value(node, graph.source.weights))
            continue
        todo = [n for n in node.input if n and graph.constant_now(n) is None]
        if todo:
            stack.extend(todo)
            continue
        if not _evaluate(graph, node):
            unknown.add(stack[-1])
        stack.pop()
    return graph.constant_now(name)


def _may_fold(node: onnx.NodeProto) -> bool:
    subgraph = any(attribute.HasField("g") for attribute in node.attribute)
    return not node.domain and node.op_type not in RANDOM and not subgraph


def _evaluate(graph: OnnxGraph, node: onnx.NodeProto) -> bool:
    from .evaluation import evaluator

    opsets = [onnx.helper.make_opsetid("", graph.opset_of(node))]
    inputs = {n: graph.constant_now(n) for n in node.input if n}
    infos = [onnx.helper.make_empty_tensor_value_info(n) for n in inputs]
    outputs = [onnx.helper.make_empty_tensor_value_info(n) for n in node.output if n]
    inner = onnx.helper.make_graph([node], "constant", infos, outputs)
    try:
        model = onnx.helper.make_model(inner, opset_imports=opsets)
        results = evaluator(model).run(None, inputs)
    except Exception:  # the reference raises whatever numpy does; then it is no constant
        return False
    arrays = [np.asarray(result) for result in results]
    if any(array.size > LIMIT or array.dtype.kind in "OU" for array in arrays):
        return False
    for value, array in zip(outputs, arrays, strict=True):
        graph.remember(value.name, array, folded=True)
    return True
