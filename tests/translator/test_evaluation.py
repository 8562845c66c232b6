"""The evaluator gives old versions of operators the meaning that onnxruntime gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from sonnx.translator import import_model
from sonnx.translator.demo import light_models, light_settings
from sonnx.translator.references import Evaluator, OnnxRuntime
from sonnx.translator.verify import check_model

DICE = np.random.default_rng(11)


def _model(node: onnx.NodeProto, arrays: dict[str, np.ndarray], opset: int) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, 1, array.shape) for name, array in arrays.items()]
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    graph.output[0].type.tensor_type.elem_type = 1
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def _assert_same(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> None:
    expected = OnnxRuntime(model).run(arrays)["y"]
    np.testing.assert_allclose(Evaluator(model).run(arrays)["y"], expected, rtol=1e-5, atol=1e-6)


AXES = [(opset, {"axis": axis}) for opset in (9, 12, 13, 21) for axis in (0, 2)]
AXES += [(opset, {"axis": -1}) for opset in (12, 13, 21)]  # negative axes came with opset 11
AXES += [(opset, {}) for opset in (9, 12, 13, 21)]


@pytest.mark.parametrize(("opset", "attributes"), AXES)
@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_and_its_kin(operator: str, opset: int, attributes: dict[str, Any]) -> None:
    arrays = {"x": DICE.standard_normal((2, 3, 4)).astype(np.float32)}
    _assert_same(_model(helper.make_node(operator, ["x"], ["y"], **attributes), arrays, opset), arrays)


@pytest.mark.parametrize("opset", [7, 9, 13, 14, 21])
def test_batch_normalization_by_the_given_statistics(opset: int) -> None:
    arrays = {"x": DICE.standard_normal((2, 3, 4, 4)).astype(np.float32)}
    arrays |= {name: DICE.uniform(0.5, 2, 3).astype(np.float32) for name in ("s", "b", "m", "v")}
    node = helper.make_node("BatchNormalization", list(arrays), ["y"], epsilon=0.01)
    _assert_same(_model(node, arrays, opset), arrays)


def test_a_constant_is_folded_with_the_meaning_of_its_opset() -> None:
    """Flattened at axis 1, the larger of two numbers is marked; along the last axis, of size 1, both are."""
    nodes = [
        helper.make_node("Hardmax", ["c"], ["marked"]),
        helper.make_node("Add", ["marked", "c0"], ["sizes"]),
        helper.make_node("Cast", ["sizes"], ["whole"], to=onnx.TensorProto.INT64),
        helper.make_node("Squeeze", ["whole"], ["shape"], axes=[0, 2]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {"c": np.float32([[[0], [5]]]), "c0": np.float32(1)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [2])],
        [helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    graph_of_singa = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)]))
    assert graph_of_singa.nodes[-1].attributes["shape"] == (1, 2)


@pytest.mark.parametrize("name", ["light_squeezenet", "light_zfnet512"])
def test_a_light_network_agrees_with_the_evaluator(name: str) -> None:
    (path,) = (path for path in light_models() if path.stem == name)
    settings = replace(light_settings(path, None), against="reference")
    entry = check_model(path, settings)
    assert (entry.status, entry.message) == ("ok", "")
    assert entry.details["against"] == "reference"
