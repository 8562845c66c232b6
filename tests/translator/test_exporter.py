"""What an export writes, gives back as it was, and refuses."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from sonnx.runtime.graph import Graph, Node, State, ValueInfo
from sonnx.translator import TranslationError, UnsupportedError, export_file, export_model, import_model
from sonnx.translator.writing import PRODUCER, write_model

FLOAT, INT, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(bool)


def graph(*nodes: Node, inputs=(("x", FLOAT),), outputs=("y",), **states: np.ndarray) -> Graph:
    return Graph(
        "g",
        [ValueInfo(name, dtype, (2, 3)) for name, dtype in inputs],
        [ValueInfo(name) for name in outputs],
        list(nodes),
        {name: State(array, "param") for name, array in states.items()},
    )


def test_a_round_trip_gives_back_the_nodes(book, model):
    nodes = [
        helper.make_node("LeakyRelu", ["x"], ["a"], "n0", alpha=0.01),
        helper.make_node("HardSigmoid", ["a"], ["b"], "n1", beta=0.5, alpha=0.3),
        helper.make_node("Clip", ["b", "low", "high"], ["c"], "n2"),
        helper.make_node("Clip", ["c", "", "high"], ["d"], "n3"),
        helper.make_node("HardSwish", ["d"], ["y"], "n4"),
    ]
    arrays = tuple(numpy_helper.from_array(np.float32(v), n) for n, v in (("low", 0), ("high", 6)))
    source = model(nodes, initializers=arrays)
    written = export_model(import_model(source, book()), rules=book())
    assert list(written.graph.node) == nodes
    assert {t.name: float(numpy_helper.to_array(t)) for t in written.graph.initializer} == {
        "low": 0,
        "high": 6,
    }
    onnx.checker.check_model(written, full_check=True)


def test_a_changed_attribute_gets_an_initializer_of_its_own(book, model):
    arrays = (numpy_helper.from_array(np.float32(6), "high"),)
    nodes = [helper.make_node("Clip", ["x", "", "high"], [name], f"n{name}") for name in ("a", "b")]
    translated = import_model(model(nodes, initializers=arrays), book())
    translated.nodes[0].attributes["max"] = 4.0
    written = export_model(translated, rules=book()).graph
    values = {t.name: float(numpy_helper.to_array(t)) for t in written.initializer}
    assert values[written.node[0].input[2]] == 4.0
    assert values[written.node[1].input[2]] == 6.0


def test_defaults_are_left_out_unless_the_source_wrote_them(book, model):
    nodes = [
        helper.make_node("LeakyRelu", ["x"], ["a"], alpha=0.01),
        helper.make_node("LeakyRelu", ["a"], ["y"]),
    ]
    written = export_model(import_model(model(nodes), book()), rules=book()).graph.node
    assert [len(n.attribute) for n in written] == [1, 0]
    fresh = export_model(graph(Node("LeakyRelu", ["x"], ["y"], {"a": 0.01})), rules=book()).graph.node
    assert not fresh[0].attribute


@pytest.mark.parametrize(("opset", "inputs", "attributes"), [(13, 3, 0), (9, 1, 1)])
def test_the_form_of_the_wanted_opset_is_written(book, opset, inputs, attributes):
    written = export_model(graph(Node("Clip", ["x"], ["y"], {"max": 6.0})), opset, book())
    node = written.graph.node[0]
    assert (len(node.input), len(node.attribute)) == (inputs, attributes)
    assert written.opset_import[0].version == opset
    onnx.checker.check_model(written)


def test_without_a_source_the_opset_is_21(book):
    assert export_model(graph(Node("ReLU", ["x"], ["y"])), rules=book()).opset_import[0].version == 21


@pytest.mark.parametrize("opset", [8, 29])
def test_an_opset_that_cannot_be_written_is_refused(book, opset):
    with pytest.raises(TranslationError, match="9 to 28"):
        export_model(graph(Node("ReLU", ["x"], ["y"])), opset, book())


def test_every_node_that_cannot_be_said_is_named_with_both_opsets(book, model):
    rules = book("renamed Mish <-> opset 18.. Mish\nrenamed ReLU <-> Relu\n")
    nodes = [helper.make_node("Mish", ["x"], ["a"], "m1"), helper.make_node("Mish", ["a"], ["y"], "m2")]
    source = import_model(model(nodes, opset=18), rules)
    with pytest.raises(UnsupportedError) as caught:
        export_model(source, 13, rules)
    message = str(caught.value)
    assert "2 node(s) cannot be written at opset 13" in message
    assert "the source is opset 18" in message
    assert "Mish 'm1'" in message
    assert "Mish 'm2'" in message
    assert "18.." in message


def test_zero_and_one_get_the_types_that_onnx_demands(book):
    nodes = [Node("Greater", ["x", "b"], ["g"]), Node("Mul", ["g", "x"], ["y"])]
    written = export_model(graph(*nodes, inputs=(("x", FLOAT), ("b", FLOAT))), rules=book())
    assert [n.op_type for n in written.graph.node] == ["Greater", "Cast", "Mul"]
    onnx.checker.check_model(written, full_check=True)


def test_an_output_has_the_type_that_the_graph_declares(book):
    declared = graph(Node("Greater", ["x", "b"], ["y"]), inputs=(("x", FLOAT), ("b", FLOAT)))
    declared.outputs = [ValueInfo("y", FLOAT, (2, 3))]
    written = export_model(declared, rules=book())
    assert [n.op_type for n in written.graph.node] == ["Greater", "Cast"]
    assert written.graph.node[1].output[0] == "y"
    onnx.checker.check_model(written, full_check=True)


def test_nothing_is_cast_where_types_agree(book):
    nodes = [Node("Add", ["x", "x"], ["a"]), Node("ReLU", ["a"], ["y"])]
    written = export_model(graph(*nodes, inputs=(("x", INT),)), rules=book())
    assert [n.op_type for n in written.graph.node] == ["Add", "Relu"]


def test_initializers_are_no_inputs_except_up_to_ir_version_3(book):
    weighted = graph(Node("Mul", ["x", "w"], ["y"]), w=np.ones(3, np.float32))
    written = export_model(weighted, rules=book())
    assert written.ir_version >= 8
    assert [v.name for v in written.graph.input] == ["x"]
    old = export_model(weighted, 9, book(), ir_version=3)
    assert [v.name for v in old.graph.input] == ["x", "w"]
    onnx.checker.check_model(old, full_check=True)


def test_an_exported_file_is_not_taken_for_one_of_apache_singa(book):
    assert export_model(graph(Node("ReLU", ["x"], ["y"])), rules=book()).producer_name == PRODUCER != "sonnx"


def big(book) -> Graph:
    return graph(Node("Mul", ["x", "w"], ["y"]), w=np.arange(6000, dtype=np.float32).reshape(1000, 2, 3))


def test_a_file_is_what_the_model_would_be(book, tmp_path):
    path = tmp_path / "m.onnx"
    export_file(big(book), path, rules=book())
    assert onnx.load(path) == export_model(big(book), rules=book())
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_above_the_limit_weights_go_beside_the_file(book, tmp_path):
    path, written = tmp_path / "m.onnx", export_model(big(book), rules=book())
    weights = {t.name: numpy_helper.to_array(t) for t in written.graph.initializer}
    del written.graph.initializer[:]
    write_model(written, weights, path, limit=1000)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert path.stat().st_size < 1000
    onnx.checker.check_model(str(path))
    back = import_model(path, book())
    np.testing.assert_array_equal(back.states["w"].array, weights["w"])
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load(path).graph.initializer[0]), weights["w"])


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(book, tmp_path):
    with pytest.raises(TranslationError, match="No such file"):
        export_file(big(book), tmp_path / "no" / "m.onnx", rules=book())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "kind", [TensorProto.INT4, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.BOOL]
)
def test_small_types_survive_both_ways(book, model, tmp_path, kind):
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    array = (np.arange(10_001) % 3).astype(dtype)
    source = model(
        [helper.make_node("Identity", ["w"], ["y"])], initializers=(numpy_helper.from_array(array, "w"),)
    )
    path = tmp_path / "m.onnx"
    onnx.save(source, path)
    translated = import_model(path, book())
    np.testing.assert_array_equal(translated.states["w"].array, array)
    export_file(translated, path, rules=book())
    np.testing.assert_array_equal(numpy_helper.to_array(onnx.load(path).graph.initializer[0]), array)
