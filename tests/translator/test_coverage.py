"""Coverage counts what the rules say, opset by opset."""

from __future__ import annotations

import json

from sonnx.translator.coverage import all_operators, measure


def test_a_gap_in_the_opsets_is_named(book):
    found = measure(book("renamed Clip <-> opset 11.. Clip\n"))
    (row,) = found.onnx
    assert row.operator == "Clip"
    assert not row.imported
    assert [v.imported for v in row.versions] == [False, False, True, True, True]
    assert "ONNX Clip 1..5: no import" in found.missing()
    assert "ONNX Clip 6..10: no export" in found.missing()
    assert "ONNX Clip 1..5: no export" not in found.missing()


def test_a_one_way_rule_covers_one_way(book):
    found = measure(book('special A(x) -> Relu(x) "no way back"\n'), ["Relu"])
    assert not any(version.imported for version in found.onnx[0].versions)
    assert found.onnx[0].exported


def test_a_rule_for_one_producer_covers_nothing(book):
    found = measure(book('special A(x) <- producer "sonnx" Relu(x) "its own meaning"\n'), ["Relu"])
    assert not any(version.imported for version in found.onnx[0].versions)


def test_the_tables_hold_the_same(book):
    found = measure(book())
    content = json.loads(found.as_json())
    assert {row["operator"] for row in content["onnx"]} == {row.operator for row in found.onnx}
    table = found.as_markdown()
    assert "| Clip | Clip | 6..28 | 9..28 |" in table
    assert "| HardSwish | HardSigmoid, Mul | 14..28 | 14..28 |" in table


def test_every_operator_of_onnx_is_known():
    assert {"Relu", "Attention", "LSTM"} <= set(all_operators())
