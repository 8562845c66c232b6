"""What an import keeps, names, folds, inlines and refuses."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from sonnx.runtime.graph import Graph
from sonnx.translator import ModelError, UnsupportedError, export_model, import_model


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, **attributes)


def relus(*names: str) -> list[onnx.NodeProto]:
    return [node("Relu", [a], [b]) for a, b in itertools.pairwise(names)]


def test_names_types_and_properties_are_kept(book, model):
    source = model([node("Relu", ["x"], ["y"], name="first")], opset=15, producer="somebody")
    source.metadata_props.add(key="task", value="test")
    graph = import_model(source, book())
    assert [info.name for info in graph.inputs] == ["x"]
    assert graph.inputs[0].shape == ("N", 3)
    assert graph.inputs[0].dtype == np.float32
    assert graph.nodes[0].name == "first"
    assert graph.metadata["opset"] == {"": 15}
    assert graph.metadata["producer"] == "somebody"
    assert graph.metadata["properties"] == {"task": "test"}


def test_a_node_knows_where_it_comes_from(book, model):
    source = model([node("LeakyRelu", ["x"], ["y"], alpha=0.01, name="act")])
    origin = import_model(source, book()).nodes[0].origin
    assert origin is not None
    assert (origin.rule, origin.file, origin.operator, origin.opset) == (
        "LeakyRelu",
        "layer0.rules",
        "LeakyRelu",
        17,
    )
    assert origin.line > 1
    assert origin.nodes == ("act",)
    assert origin.written == ("alpha",)


def test_missing_and_repeated_node_names_are_made_unique(book, model):
    nodes = relus("x", "a", "b", "c")
    nodes[0].name = nodes[2].name = "same"
    names = [n.name for n in import_model(model(nodes), book()).nodes]
    assert len(set(names)) == 3
    assert all(names)


def test_nodes_out_of_order_are_put_in_order(book, model):
    nodes = relus("x", "a", "b", "c")
    graph = import_model(model(nodes[::-1]), book())
    assert [n.outputs for n in graph.nodes] == [["a"], ["b"], ["c"]]
    graph.check()


def test_initializers_are_trained_where_they_are_floats_that_nodes_read(book, model):
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    limit = numpy_helper.from_array(np.float32(6), "m")
    nodes = [node("Mul", ["x", "w"], ["t"]), node("Clip", ["t", "", "m"], ["y"])]
    graph = import_model(model(nodes, initializers=(weight, limit)), book())
    assert {name: state.kind for name, state in graph.states.items()} == {"w": "param", "m": "const"}
    assert graph.nodes[1].attributes == {"max": 6.0}
    assert graph.nodes[1].inputs == ["t"]


def test_a_rule_says_what_an_initializer_is(book, model):
    rules = book("special N(x, param w, state m) <-> opset 8.. Sum(x, w, m)\n")
    arrays = [numpy_helper.from_array(np.ones(3, np.float32), name) for name in "wm"]
    graph = import_model(model([node("Sum", ["x", "w", "m"], ["y"])], initializers=tuple(arrays)), rules)
    assert graph.states["m"].kind == "state"
    assert graph.states["w"].kind == "param"


@pytest.mark.parametrize("listed", [True, False])
def test_initializers_may_be_listed_as_inputs(book, model, listed):
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    inputs = ("x", "w") if listed else ("x",)
    graph = import_model(
        model([node("Mul", ["x", "w"], ["y"])], initializers=(weight,), inputs=inputs), book()
    )
    assert [info.name for info in graph.inputs] == ["x"]
    assert "w" in graph.states


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value": numpy_helper.from_array(np.array([[1, 2]], np.int64))}, np.array([[1, 2]])),
        ({"value_float": 2.5}, np.float32(2.5)),
        ({"value_floats": [1.0, 2.0]}, np.array([1, 2], np.float32)),
        ({"value_int": 3}, np.int64(3)),
        ({"value_ints": [3, 4]}, np.array([3, 4])),
    ],
)
def test_a_constant_keeps_its_type_and_shape(book, model, attributes, expected):
    nodes = [node("Constant", [], ["c"], name="k", **attributes), node("Identity", ["c"], ["y"])]
    graph = import_model(model(nodes), book())
    array = graph.states["c"].array
    assert array.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(array, expected)
    assert graph.states["c"].kind == "const"
    written = export_model(graph, rules=book()).graph
    assert [(n.op_type, n.name) for n in written.node] == [("Constant", "k"), ("Identity", "Identity")]


def test_an_attribute_may_be_computed_from_constants(book, model):
    nodes = [
        node("Constant", [], ["a"], value_float=2.0),
        node("Constant", [], ["b"], value_float=3.0),
        node("Mul", ["a", "b"], ["m"]),
        node("Clip", ["x", "", "m"], ["y"]),
    ]
    graph = import_model(model(nodes), book())
    assert graph.nodes[-1].attributes == {"max": 6.0}
    written = export_model(graph, rules=book())
    assert [n.op_type for n in written.graph.node] == ["Constant", "Constant", "Mul", "Clip"]
    assert list(written.graph.node[-1].input) == ["x", "", "m"]


def test_every_unknown_operator_is_named_at_once(book, model):
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Foo", ["a"], ["b"], name="foo"),
        node("Bar", ["b"], ["c"], domain="my.domain"),
        node("Foo", ["c"], ["y"]),
    ]
    with pytest.raises(UnsupportedError) as caught:
        import_model(model(nodes), book())
    message = str(caught.value)
    assert "3 nodes are covered by no rule" in message
    assert "Foo (domain ai.onnx, opset 17): 2 nodes, first Foo 'foo'" in message
    assert "Bar (domain my.domain" in message
    assert "my.domain::Bar" in message


def test_a_function_body_takes_the_place_of_an_operator_without_a_rule(book, model):
    rules = book(
        "renamed Add <-> opset 7.. Add\nrenamed Exp <-> Exp\nrenamed Log <-> Log\nrenamed Cast <-> Cast\n"
    )
    rules_needed = import_model(model([node("Softplus", ["x"], ["y"], name="s")], opset=18), rules)
    assert rules_needed.metadata["expanded"]["Softplus"] == 1
    assert rules_needed.nodes[-1].outputs == ["y"]
    rules_needed.check()


def test_a_function_body_does_not_hide_what_a_rule_refuses(book, model):
    with pytest.raises(UnsupportedError, match="'min' is 1"):
        import_model(model([node("Clip", ["x"], ["y"], min=1.0)]), book())


def square(name: str = "Square") -> onnx.FunctionProto:
    body = [node("Mul", ["a", "a"], ["m"]), node("Relu", ["m"], ["r"])]
    return helper.make_function("local", name, ["a"], ["r"], body, [helper.make_opsetid("", 17)])


def test_local_functions_are_inlined(book, model):
    source = model([node("Square", ["x"], ["t"], domain="local", name="s"), *relus("t", "y")])
    source.opset_import.add(domain="local", version=1)
    source.functions.append(square())
    graph = import_model(source, book())
    assert [n.operator for n in graph.nodes] == ["Mul", "ReLU", "ReLU"]
    assert graph.metadata["expanded"] == {"Square": 1}
    graph.check()


def test_a_function_s_attributes_are_those_of_the_call_or_its_defaults(book, model):
    inner = node("LeakyRelu", ["a"], ["r"])
    reference = inner.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT)
    reference.ref_attr_name = "slope"
    default = [helper.make_attribute("slope", 0.5)]
    function = helper.make_function(
        "local", "L", ["a"], ["r"], [inner], [helper.make_opsetid("", 17)], attribute_protos=default
    )
    nodes = [node("L", ["x"], ["t"], domain="local", slope=0.25), node("L", ["t"], ["y"], domain="local")]
    source = model(nodes)
    source.functions.append(function)
    graph = import_model(source, book())
    assert [n.attributes["a"] for n in graph.nodes] == [0.25, 0.5]


def branches(condition: str = "c") -> onnx.NodeProto:
    def graph(operator: str, out: str) -> onnx.GraphProto:
        inner = [node(operator, ["x", "k"], [out]) if operator == "Mul" else node(operator, ["x"], [out])]
        result = helper.make_empty_tensor_value_info(out)
        weights = [numpy_helper.from_array(np.float32(2), "k")] if operator == "Mul" else []
        return helper.make_graph(inner, operator, [], [result], weights)

    return node("If", [condition], ["y"], then_branch=graph("Relu", "t"), else_branch=graph("Mul", "e"))


@pytest.mark.parametrize(("taken", "operator"), [(True, "ReLU"), (False, "Mul")])
def test_an_if_whose_condition_is_constant_is_folded(book, model, taken, operator):
    condition = numpy_helper.from_array(np.array(taken), "c")
    graph = import_model(model([branches()], initializers=(condition,)), book())
    assert [n.operator for n in graph.nodes] == [operator]
    assert graph.nodes[0].outputs == ["y"]
    graph.check()


def test_an_if_keeps_its_graphs(book, model):
    source = model([branches()], inputs=("x", "c"))
    source.graph.input[1].type.tensor_type.elem_type = TensorProto.BOOL
    graph = import_model(source, book())
    then = graph.nodes[0].attributes["then_branch"]
    assert isinstance(then, Graph)
    assert [n.operator for n in then.nodes] == ["ReLU"]
    assert graph.nodes[0].attributes["else_branch"].captures() == {"x"}
    written = export_model(graph, rules=book())
    assert written.graph.node[0].op_type == "If"
    assert {a.name for a in written.graph.node[0].attribute} == {"then_branch", "else_branch"}


def test_files_of_apache_singa_have_rules_of_their_own(book, model):
    rules = book(
        "special B(x; a)\n    <-> LeakyRelu(x; alpha as a = 0.01)\n"
        '    <- producer "sonnx" LeakyRelu(x; alpha = 0.01) "the rest"\n        where a = 1 - alpha\n'
    )
    nodes = [node("LeakyRelu", ["x"], ["y"], alpha=0.25)]
    assert import_model(model(nodes), rules).nodes[0].attributes == {"a": 0.25}
    assert import_model(model(nodes, producer="sonnx"), rules).nodes[0].attributes == {"a": 0.75}


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])], "cycle"),
        ([node("Relu", ["nowhere"], ["y"])], "'nowhere' is not defined"),
        ([*relus("x", "y"), *relus("x", "y")], "'y' is defined twice"),
        ([node("Relu", ["x"], ["x"])], "'x' is defined twice"),
    ],
)
def test_graphs_that_cannot_be_are_refused(book, model, nodes, reason):
    with pytest.raises(ModelError, match=reason):
        import_model(model(nodes), book())


def test_a_missing_output_is_refused(book, model):
    source = model(relus("x", "y"))
    source.graph.output[0].name = "z"
    with pytest.raises(ModelError, match="graph output 'z'"):
        import_model(source, book())


@pytest.mark.parametrize("opset", [0, 29, 1000])
def test_an_opset_beyond_what_is_known_is_refused(book, model, opset):
    source = model(relus("x", "y"))
    source.opset_import[0].version = opset
    with pytest.raises(ModelError, match=f"opset {opset}"):
        import_model(source, book())


def test_ten_thousand_nodes_in_a_chain(book, model):
    names = ["x", *(f"v{n}" for n in range(10_000))]
    graph = import_model(model(relus(*names)), book())
    assert len(graph.nodes) == 10_000
    assert len(export_model(graph, rules=book()).graph.node) == 10_000
