"""Damaged models: 2,000 of them, each either translated or refused with a message, none a crash."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from sonnx.runtime.graph import Graph
from sonnx.translator import TranslationError, export_model, import_model
from sonnx.translator.reading import read_model
from sonnx.translator.rulebook import load_rulebook

CASES, BATCHES = 2000, 8


def sample() -> onnx.ModelProto:
    """A model with all that a file can hold: weights, constants, subgraphs, a local function."""
    node = helper.make_node
    branch = helper.make_graph(
        [node("Relu", ["t"], ["r"])], "branch", [], [helper.make_tensor_value_info("r", 1, [2, 3])]
    )
    nodes = [
        node("Constant", [], ["c"], "k", value=numpy_helper.from_array(np.float32([1, 2, 3]))),
        node("Add", ["x", "w"], ["a"], "add"),
        node("Mul", ["a", "c"], ["m"], "mul"),
        node("Clip", ["m", "low", ""], ["t"], "clip"),
        node("If", ["flag"], ["i"], "if", then_branch=branch, else_branch=branch),
        node("Twice", ["i"], ["d"], "twice", domain="local"),
        node("Softmax", ["d"], ["s"], "softmax", axis=-1),
        node("Reshape", ["s", "shape"], ["y"], "reshape"),
    ]
    arrays = {
        "w": np.ones((2, 3), np.float32),
        "low": np.float32(0),
        "shape": np.array([3, 2]),
        "big": np.zeros(2000, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    twice = helper.make_function(
        "local", "Twice", ["p"], ["q"], [node("Add", ["p", "p"], ["q"])], [helper.make_opsetid("", 17)]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=[twice], ir_version=8)


def damaged_bytes(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed, or a part cut out, repeated or moved."""
    content = bytearray(data)
    kind = dice.randrange(4)
    for _ in range(dice.randint(1, 6)):
        start, length = dice.randrange(len(content)), dice.randint(1, 40)
        if kind == 0:
            content[start] = dice.randrange(256)
        elif kind == 1:
            del content[start : start + length]
        elif kind == 2:
            content[start:start] = content[start : start + length]
        else:
            content[start] ^= 1 << dice.randrange(8)
        if not content:
            break
    return bytes(content)


def damaged_model(dice: random.Random) -> bytes:
    """A model that protobuf reads, with one thing in it that should not be."""
    model = sample()
    graph, change = model.graph, dice.randrange(9)
    node = dice.choice(graph.node)
    names = [name for other in graph.node for name in other.output] + ["", "nowhere", "x", "w"]
    if change == 0 and node.input:
        node.input[dice.randrange(len(node.input))] = dice.choice(names)
    elif change == 1:
        node.output[0] = dice.choice(names)
    elif change == 2:
        node.op_type = dice.choice(["", "Relu", "Conv", "Nothing", "If", "Loop", "Constant", "Twice"])
    elif change == 3:
        nodes = list(graph.node)
        dice.shuffle(nodes)
        del graph.node[:]
        graph.node.extend(nodes)
    elif change == 4:
        tensor = dice.choice(graph.initializer)
        tensor.data_type = dice.randrange(-1, 40)
    elif change == 5:
        dice.choice(graph.initializer).dims.append(dice.choice([-1, 0, 1, 7, 2**62]))
    elif change == 6 and node.attribute:
        attribute = dice.choice(node.attribute)
        attribute.type = dice.randrange(15)
        attribute.i = dice.choice([-(2**63), 2**63 - 1, 0, 99])
    elif change == 7:
        model.opset_import[0].version = dice.choice([-5, 0, 1, 6, 28, 29, 2**40])
    else:
        del node.attribute[:]
        node.domain = dice.choice(["", "local", "ai.onnx", "nowhere"])
    return model.SerializeToString()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_damaged_model_is_translated_or_refused(batch):
    rules = load_rulebook()
    original = sample().SerializeToString()
    for case in range(batch, CASES, BATCHES):
        dice = random.Random(case)
        data = damaged_model(dice) if case % 2 else damaged_bytes(original, dice)
        try:
            graph = import_model(data, rules)
            export_model(graph, rules=rules)
        except TranslationError as error:
            assert error.reason, f"case {case}"
            continue
        assert isinstance(graph, Graph), f"case {case}"


def test_the_sample_itself_is_a_valid_model():
    onnx.checker.check_model(sample(), full_check=True)
    assert len(read_model(sample()).model.graph.node) == 8
