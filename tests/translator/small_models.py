"""Small models that tests of whole commands work on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

SMALL = """<ir_version: 8, opset_import: ["" : 17]> small (float[batch, 4] x) => (float[batch, 4] y) {
    [first] r = Relu(x)
    [second] s = Sigmoid(r)
    [last] y = Mul(s, x)
}"""

WRONG_RULE = "override renamed Tanh <-> Sigmoid\n"
"""A user's rule that makes a Tanh of every Sigmoid."""


def small() -> onnx.ModelProto:
    """Three nodes, one dynamic dimension."""
    return parser.parse_model(SMALL)


def with_weights(size: int = 3) -> onnx.ModelProto:
    """A model with one weight: ``y = x * w``."""
    weight = numpy_helper.from_array(np.arange(size, dtype=np.float32), "w")
    shape = [None, size]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"], "scale")],
        "weights",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(model: onnx.ModelProto, path: Path) -> Path:
    """Save a model, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path
