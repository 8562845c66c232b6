"""Rules applied both ways: bindings forwards and backwards, conditions, defaults, reasons."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper
from sonnx.runtime.graph import Graph, Node, Ref, ValueInfo
from sonnx.translator.errors import RuleError, UnsupportedError
from sonnx.translator.exporter import export_model
from sonnx.translator.importer import import_model


def attributes(model: onnx.ModelProto, place: int = 0) -> dict:
    node = model.graph.node[place]
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def one(operator: str, **values) -> Graph:
    return Graph("g", [ValueInfo("x")], [ValueInfo("y")], [Node(operator, ["x"], ["y"], values, "n")])


def both_ways(book, model, rule: str, onnx_values: dict, singa_values: dict, operator="Elu", opset=13):
    """One rule about an operator with an attribute: import and export agree with what is said."""
    rules = book(rule)
    source = model([helper.make_node(operator, ["x"], ["y"], **onnx_values)], opset)
    graph = import_model(source, rules)
    assert graph.nodes[0].attributes == singa_values
    exported = export_model(one(graph.nodes[0].operator, **singa_values), opset, rules)
    found = attributes(exported)
    assert found.keys() == onnx_values.keys()
    for name, value in onnx_values.items():
        assert found[name] == pytest.approx(value)


@pytest.mark.parametrize(
    ("binding", "value"),
    [
        ("a", 0.25),
        ("1 - a", 0.75),
        ("a + 1", -0.75),
        ("a - 1", 1.25),
        ("2 * a", 0.125),
        ("a / 2", 0.5),
        ("1 / a", 4.0),
        ("-a", -0.25),
        ("1 - 2 * a", 0.375),
    ],
)
def test_arithmetic_is_inverted(book, model, binding, value):
    rule = f"special E(x; a) <-> Elu(x; alpha)\n    where alpha = {binding}\n"
    both_ways(book, model, rule, {"alpha": 0.25}, {"a": value})


def test_arithmetic_leaves_no_binary_noise(book, model):
    rule = "special E(x; a) <-> Elu(x; alpha)\n    where a = 1 - alpha\n"
    both_ways(book, model, rule, {"alpha": 0.9}, {"a": 0.1})


def test_a_literal_is_set_one_way_and_tested_the_other(book, model):
    rules = book(
        "special P(x; kind) <-> Relu(x)\n    where kind = 1\n",
        "special Q(x; kind) <-> Sigmoid(x)\n    where kind = 2\n",
    )
    graph = import_model(model([helper.make_node("Relu", ["x"], ["y"])]), rules)
    assert graph.nodes[0].attributes == {"kind": 1}
    with pytest.raises(UnsupportedError, match="kind is 2 where this rule has 1"):
        export_model(one("P", kind=2), 13, rules)


def test_a_lens_with_two_targets_goes_both_ways(book, model):
    rule = "special P(x; padding, odd?) <-> MaxPool(x; kernel_shape as k, pads)\n"
    rule += "    where padding, odd = split_pads(pads)\n    where k = [2, 2]\n"
    both_ways(
        book,
        model,
        rule,
        {"kernel_shape": [2, 2], "pads": [0, 1, 2, 1]},
        {"padding": (0, 1), "odd": (0, 2, 0, 0)},
        "MaxPool",
    )


def test_a_list_of_variables_goes_both_ways(book, model):
    rule = "special P(x; height, width) <-> MaxPool(x; kernel_shape)\n"
    rule += "    where kernel_shape = [height, width]\n"
    both_ways(book, model, rule, {"kernel_shape": [2, 3]}, {"height": 2, "width": 3}, "MaxPool")


def test_a_condition_gives_its_reason(book, model):
    rules = book('special E(x; a) <-> Elu(x; alpha as a)\n    require a > 0 "only for positive a"\n')
    with pytest.raises(UnsupportedError, match="only for positive a"):
        import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=-1.0)]), rules)
    with pytest.raises(UnsupportedError, match="only for positive a"):
        export_model(one("E", a=-1.0), 13, rules)


def test_a_condition_may_hold_for_one_direction(book, model):
    rule = 'special E(x; a) <-> Elu(x; alpha as a)\n    require on export a > 0 "not written"\n'
    rules = book(rule)
    graph = import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=-1.0)]), rules)
    assert graph.nodes[0].attributes == {"a": -1.0}
    with pytest.raises(UnsupportedError, match="not written"):
        export_model(one("E", a=-1.0), 13, rules)


def test_alternatives_are_tried_in_order(book, model):
    rules = book(
        "special E(x; a)\n    <-> Relu(x)\n        where a = 0.0\n    <-> Elu(x; alpha as a = 1.0)\n"
    )
    assert export_model(one("E", a=0.0), 13, rules).graph.node[0].op_type == "Relu"
    exported = export_model(one("E", a=1.0), 13, rules)
    assert exported.graph.node[0].op_type == "Elu"
    assert not exported.graph.node[0].attribute


def test_what_a_rule_does_not_list_must_be_at_its_default(book, model):
    rules = book("special E(x) <-> Elu(x)\n")
    import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=1.0)]), rules)
    with pytest.raises(UnsupportedError, match=r"'alpha' is 0.5.*only its default 1.0"):
        import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=0.5)]), rules)


def test_an_attribute_that_nothing_reads_must_be_at_its_default(book, model):
    rules = book("special E(x) <-> Elu(x; alpha = 1.0)\n")
    with pytest.raises(UnsupportedError, match=r"'alpha' is 0\.5"):
        import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=0.5)]), rules)


def test_an_unused_output_may_be_ignored_and_no_other(book, model):
    rule = "special P(x; k) <-> MaxPool(x; kernel_shape as k)\n"
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2])
    with pytest.raises(UnsupportedError, match="output 'Indices' is used"):
        import_model(model([node]), book(rule))


def test_an_unknown_rank_is_said_to_be_unknown(book, model):
    rules = book('special E(x) <-> Relu(x)\n    require rank(x) == 3 "only in three dimensions"\n')
    source = model([helper.make_node("Relu", ["x"], ["y"])])
    with pytest.raises(UnsupportedError, match="only in three dimensions"):
        import_model(source, rules)
    source.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(UnsupportedError, match="rank of 'x' is not known"):
        import_model(source, rules)


def test_conditions_see_the_type_and_shape_of_computed_values(book, model):
    rules = book(
        "renamed ReLU <-> Relu\n"
        "special E(x) <-> Sigmoid(x)\n"
        '    require rank(x) == 2 and dtype(x) == "float32" "only float matrices"\n'
    )
    nodes = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Sigmoid", ["t"], ["y"])]
    graph = import_model(model(nodes), rules)
    assert [node.operator for node in graph.nodes] == ["ReLU", "E"]
    assert len(export_model(graph, 13, rules).graph.node) == 2


def test_a_value_computed_at_run_time_stays_a_reference(book, model):
    rules = book("unhandled R(x; shape) <-> opset 5.. Reshape(x, const shape)\n", "renamed S <-> Shape\n")
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["y"])]
    graph = import_model(model(nodes), rules)
    assert graph.nodes[1].attributes == {"shape": Ref("s")}
    assert list(export_model(graph, 13, rules).graph.node[1].input) == ["x", "s"]


def test_a_binding_that_cannot_be_inverted_is_an_error_of_the_rule(book, model):
    rules = book("special E(x; a) <-> Elu(x; alpha)\n    where alpha = a * a\n")
    with pytest.raises(RuleError, match=r"neither way|nothing gives"):
        import_model(model([helper.make_node("Elu", ["x"], ["y"], alpha=1.0)]), rules)


def test_the_same_name_twice_means_equal(book, model):
    rules = book("special Double(x) <-> opset 7.. Add(x, x)\nrenamed Add <-> opset 7.. Add\n")
    nodes = [helper.make_node("Add", ["x", "x"], ["t"]), helper.make_node("Add", ["t", "x"], ["y"])]
    graph = import_model(model(nodes), rules)
    assert [node.operator for node in graph.nodes] == ["Double", "Add"]


def test_a_pattern_of_several_onnx_nodes_is_recognised_and_written(book, model):
    rules = book(
        "special Linear(x, w, b) <-> opset 7.. { m = MatMul(x, w)  y = Add(m, b) }\n",
        "renamed Matmul <-> MatMul\nrenamed Add <-> opset 7.. Add\n",
    )
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    graph = import_model(model(nodes, inputs=("x", "w", "b")), rules)
    assert [node.operator for node in graph.nodes] == ["Linear"]
    assert [n.op_type for n in export_model(graph, 13, rules).graph.node] == ["MatMul", "Add"]


def test_a_pattern_leaves_values_that_something_else_reads(book, model):
    rules = book(
        "special Linear(x, w, b) <-> opset 7.. { m = MatMul(x, w)  y = Add(m, b) }\n",
        "renamed Matmul <-> MatMul\nrenamed Add <-> opset 7.. Add\nrenamed ReLU <-> Relu\n",
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
        helper.make_node("Relu", ["m"], ["z"]),
    ]
    graph = import_model(model(nodes, inputs=("x", "w", "b")), rules)
    assert [node.operator for node in graph.nodes] == ["Matmul", "Add", "ReLU"]


def test_what_a_rule_unfolds_folds_back(book, model):
    rules = book()
    source = model([helper.make_node("HardSwish", ["x"], ["y"], name="act")])
    graph = import_model(source, rules)
    assert [node.operator for node in graph.nodes] == ["HardSigmoid", "Mul"]
    node = export_model(graph, rules=rules).graph.node
    assert [(n.op_type, n.name) for n in node] == [("HardSwish", "act")]


def test_what_no_longer_is_what_was_unfolded_is_written_as_it_is(book, model):
    rules = book()
    graph = import_model(model([helper.make_node("HardSwish", ["x"], ["y"])]), rules)
    graph.nodes[0].attributes["gamma"] = 0.25
    written = export_model(graph, rules=rules).graph.node
    assert [node.op_type for node in written] == ["HardSigmoid", "Mul"]
    older = export_model(graph, 13, rules).graph.node
    assert [node.op_type for node in older] == ["HardSigmoid", "Mul"]
