"""What the tests of the translator share: rulebooks from text, models from a few words."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import helper
from sonnx.translator.language.parser import parse
from sonnx.translator.rulebook import Rulebook

SMALL_RULES = """
renamed ReLU <-> Relu
    ignore consumed_inputs "an old hint for in-place computation"
renamed Add <-> opset 7.. Add
renamed Mul <-> opset 7.. Mul
renamed Identity <-> Identity
renamed If <-> If
bool Greater(a, b) <-> opset 7.. Greater(a, b)
special LeakyRelu(x; a = 0.01) <-> LeakyRelu(x; alpha as a = 0.01)
    ignore consumed_inputs "an old hint for in-place computation"
special HardSigmoid(x; alpha = 0.2, gamma = 0.5) <-> HardSigmoid(x; alpha = 0.2, beta = 0.5)
    ignore consumed_inputs "an old hint for in-place computation"
    where gamma = beta
unhandled Clip(x; min?, max?)
    <-> opset 11.. Clip(x, const min?, const max?)
    <-> opset 6..10 Clip(x; min = lowest, max = highest)
composed HardSwish { h = HardSigmoid(x; alpha = 1/6, gamma = 0.5)  y = Mul(x, h) }
    <-> opset 14.. y = HardSwish(x)
"""


@pytest.fixture
def book() -> Callable[..., Rulebook]:
    """``book(text, ...)``: a rulebook whose layers are these texts; without any, a small one."""

    def make(*texts: str) -> Rulebook:
        layers = [[parse(text, f"layer{n}.rules")] for n, text in enumerate(texts or (SMALL_RULES,))]
        return Rulebook(layers)

    return make


@pytest.fixture
def model() -> Callable[..., onnx.ModelProto]:
    """``model(nodes, opset=17, initializers=[...])``: a model of float inputs ``x[N, 3]`` that
    gives what no node reads."""

    def make(
        nodes: list[onnx.NodeProto],
        opset: int = 17,
        initializers: tuple[onnx.TensorProto, ...] = (),
        inputs: tuple[str, ...] = ("x",),
        producer: str = "",
    ) -> onnx.ModelProto:
        read = {name for node in nodes for name in node.input}
        results = [name for node in nodes for name in node.output if name and name not in read]
        graph = helper.make_graph(
            nodes,
            "test",
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 3]) for name in inputs],
            [helper.make_empty_tensor_value_info(name) for name in results],
            list(initializers),
        )
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, producer_name=producer, ir_version=8)

    return make
