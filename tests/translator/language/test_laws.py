"""The laws hold for right rules, and each kind of wrong rule breaks one."""

from __future__ import annotations

import pytest
from sonnx.translator.language.laws import check_laws

RULES = """
renamed ReLU <-> Relu
    ignore consumed_inputs "a hint"

special LeakyRelu(x; a = 0.01) <-> LeakyRelu(x; alpha as a = 0.01)
    ignore consumed_inputs "a hint"

special HardSigmoid(x; alpha = 0.2, gamma = 0.5) <-> HardSigmoid(x; alpha = 0.2, beta = 0.5)
    ignore consumed_inputs "a hint"
    where gamma = beta

unhandled Clip(x; min?, max?)
    <-> opset 11.. Clip(x, const min?, const max?)
    <-> opset 1..10 Clip(x; min = lowest, max = highest)
        ignore consumed_inputs "a hint"

example "ReLU"
    given  x float32[2, 3] in -1..1
    onnx   y = Relu(x)
    singa  y = ReLU(x)

example "LeakyRelu with a slope"
    given  x float32[2, 3] in -1..1
    onnx   y = LeakyRelu(x; alpha = 0.25)
    singa  y = LeakyRelu(x; a = 0.25)

example "HardSigmoid with both"
    given  x float32[2, 3] in -9..9
    onnx   y = HardSigmoid(x; alpha = 0.3, beta = 0.4)
    singa  y = HardSigmoid(x; alpha = 0.3, gamma = 0.4)

example "Clip without a lower bound"
    opset  11..
    given  x float32[2, 3] in -9..9
    onnx   y = Clip(x, -, 6.0)
    singa  y = Clip(x; max = 6.0)
"""


def failures(book, text: str, **how) -> list[str]:
    return [str(failure) for failure in check_laws(book(text), **how).failures]


def test_right_rules_keep_the_laws(book):
    tally = check_laws(book(RULES))
    assert not tally.failures
    assert tally.examples == 4
    assert tally.checks > 40


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("renamed ReLU <-> Relu", "renamed Sigmoid <-> Relu", "Sigmoid where ReLU is expected"),
        ("where gamma = beta", "where gamma = 1 - beta", "gamma of HardSigmoid is 0.6"),
        ("const min?, const max?)", "const max?, const min?)", "Clip"),
        ("Clip(x; min?, max?)\n    <->", "Clip(x; min?, max?)\n    ->", "Clip"),
        ("opset 11.. Clip", "opset 12.. Clip", "opset 11"),
        ("singa  y = ReLU(x)", "singa  y = Sigmoid(x)", "Sigmoid"),
    ],
)
def test_a_wrong_rule_breaks_a_law(book, right, wrong, said):
    assert right in RULES
    found = failures(book, RULES.replace(right, wrong), numbers=False)
    assert any(said in failure for failure in found), found


def test_wrong_numbers_are_found(book):
    text = RULES.replace("onnx   y = Relu(x)", "onnx   y = Sigmoid(x)").replace("<-> Relu", "<-> Sigmoid")
    found = failures(book, text)
    assert any("numbers" in failure and "differ" in failure for failure in found), found


def test_one_operator_can_be_tested_by_either_name(book):
    assert check_laws(book(RULES), ["Relu"], numbers=False).examples == 1
    assert check_laws(book(RULES), ["ReLU"], numbers=False).examples == 1


def test_an_example_that_is_no_model_is_said_to_be_none(book):
    text = RULES.replace("singa  y = LeakyRelu(x; a = 0.25)", "singa  y = LeakyRelu(x; a = nowhere + 1)")
    assert any("the example is a model" in failure for failure in failures(book, text, numbers=False))


def test_a_failure_names_the_example_and_its_place(book):
    found = failures(book, RULES.replace("where gamma = beta", "where gamma = -beta"), numbers=False)
    assert any(
        "layer0.rules:" in failure and "'HardSigmoid with both' at opset" in failure for failure in found
    )
