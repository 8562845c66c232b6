"""ONNX's backend interface, by order, by name, for models and single nodes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from sonnx.translator import SingaBackend, SingaRep, prepare


@pytest.fixture
def sums(model) -> onnx.ModelProto:
    return model(
        [helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Identity", ["s"], ["y"])],
        inputs=("x", "z"),
    )


X, Z = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)


def test_a_prepared_model_runs_by_order_and_by_name(sums):
    rep = prepare(sums)
    assert isinstance(rep, SingaRep)
    np.testing.assert_array_equal(rep.run([X, Z])[0], X + 1)
    np.testing.assert_array_equal(rep.run({"z": Z, "x": X}).y, X + 1)


def test_a_model_may_be_a_path_or_bytes(sums, tmp_path):
    onnx.save(sums, tmp_path / "m.onnx")
    for given in (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), sums.SerializeToString()):
        np.testing.assert_array_equal(SingaBackend.run_model(given, [X, Z])[0], X + 1)


def test_one_node_runs(sums):
    node = helper.make_node("Add", ["a", "b"], ["c"])
    np.testing.assert_array_equal(SingaBackend.run_node(node, [X, Z])[0], X + 1)
    np.testing.assert_array_equal(SingaBackend.run_node(node, {"a": X, "b": Z}).c, X + 1)
    assert SingaBackend.run_node(node, [X, Z], opset_version=13)[0].shape == (2, 3)


def test_the_wrong_number_of_inputs_is_said(sums):
    with pytest.raises(ValueError, match=r"takes 2 inputs \(x, z\), got 1"):
        prepare(sums).run([X])


def test_devices():
    assert SingaBackend.supports_device("CPU")
    assert not SingaBackend.supports_device("no such device")


def test_last_layers_and_auxiliary_outputs(sums):
    rep = prepare(sums)
    assert set(rep.run([X, Z], aux_output=["s"])._fields) == {"y", "s"}
    np.testing.assert_array_equal(rep.run([X, Z], last_layers=-1)[0], X + 1)
