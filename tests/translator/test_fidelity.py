"""Which nodes came back from a round trip as they were."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser
from sonnx.translator.fidelity import compare_models

BEFORE = """<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4] x) => (float[n, 4] y) <float[1] c = {1}> {
    [relu] r = Relu(x)
    [clip] k = Clip(r, c)
    [soft] y = Softmax<axis = 1>(k)
}"""


def model(**changes: str) -> onnx.ModelProto:
    text = BEFORE
    for old, new in changes.items():
        text = text.replace(
            {"node": "Relu", "attribute": "axis = 1", "name": "[soft]", "input": "(r, c)"}[old], new
        )
    return parser.parse_model(text)


def test_the_same_is_the_same() -> None:
    found = compare_models(model(), model())
    assert (found.nodes, found.same, found.differences) == (3, 3, [])
    assert found.whole


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"node": "Sigmoid"}, "Relu 'relu': became Sigmoid"),
        ({"attribute": "axis = 0"}, "Softmax 'soft': attribute 'axis' is 0, was 1"),
        ({"name": "[hard]"}, "Softmax 'soft': is called 'hard'"),
        ({"input": "(x, c)"}, "Clip 'clip': has inputs ['x', 'c'], had ['r', 'c']"),
    ],
)
def test_a_change_is_told(changes: dict[str, str], told: str) -> None:
    found = compare_models(model(), model(**changes))
    assert found.same == 2 and found.differences == [told]


def test_lost_and_gained_attributes_and_nodes_are_told() -> None:
    after = model()
    after.graph.node[2].attribute[0].name = "other"
    del after.graph.node[0]
    found = compare_models(model(), after)
    assert found.same == 1
    assert found.differences[0] == "Relu 'relu': has no counterpart"
    assert "axis" in found.differences[1] or "other" in found.differences[1]


def test_absent_inputs_at_the_end_and_constants_that_moved_mean_nothing() -> None:
    after = model()
    after.graph.node[1].input.append("")
    constant = onnx.helper.make_node("Constant", [], ["c"], value=after.graph.initializer[0])
    del after.graph.initializer[:]
    after.graph.node.insert(0, constant)
    assert compare_models(model(), after).whole
    assert compare_models(after, model()).whole
