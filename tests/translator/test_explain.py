"""Explanations name the rule that fired, or the nearest and what is wrong."""

from __future__ import annotations

import pytest
from onnx import helper
from sonnx.translator import TranslationError
from sonnx.translator.explain import explain


@pytest.fixture
def mixed(model):
    return model(
        [
            helper.make_node("Relu", ["x"], ["a"], "first"),
            helper.make_node("Clip", ["a"], ["b"], "second", min=1.0),
            helper.make_node("HardSwish", ["b"], ["c"], "third"),
            helper.make_node("Releu", ["c"], ["y"], "fourth"),
        ]
    )


def test_each_node_is_explained_in_order(book, mixed):
    found = explain(mixed, book())
    assert [e.node.split("'")[1] for e in found] == ["first", "second", "third", "fourth"]
    first, second, third, fourth = found
    assert (first.rule, first.file, first.singa) == ("ReLU", "layer0.rules", ("ReLU",))
    assert first.line > 0
    assert not second.matched
    assert "attribute 'min' is 1.0" in str(second)
    assert third.singa == ("HardSigmoid", "Mul")
    assert not fourth.matched
    assert "ReLU" in str(fourth)


def test_one_node_is_found_by_its_name_or_its_output(book, mixed):
    assert [e.operator for e in explain(mixed, book(), "third")] == ["HardSwish"]
    assert [e.operator for e in explain(mixed, book(), "c")] == ["HardSwish"]


def test_a_name_that_is_not_there_gets_a_near_one(book, mixed):
    with pytest.raises(TranslationError, match=r"no node 'frist'(.|\n)*'first'"):
        explain(mixed, book(), "frist")


def test_what_was_tried_before_is_told(book, model):
    rules = book(
        "special E(x; a)\n    <-> Relu(x)\n        where a = 0.0\n"
        '        require rank(x) == 4 "only images"\n'
        "special F(x) <-> Relu(x)\n"
    )
    (found,) = explain(model([helper.make_node("Relu", ["x"], ["y"])]), rules)
    assert found.rule == "F"
    assert "not E (layer0.rules:2): only images" in str(found)
