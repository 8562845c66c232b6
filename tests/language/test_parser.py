"""Text to syntax tree: what each construct becomes, positions, and how fast."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sonnx.translator.language import store
from sonnx.translator.language.errors import RuleSyntaxError
from sonnx.translator.language.parser import parse, parse_file
from sonnx.translator.language.syntax import (
    Apply,
    Binding,
    Block,
    Ignore,
    Literal,
    Name,
    Require,
    Signature,
    Subgraph,
)

HERE = Path(__file__).parent


def one_rule(text: str):
    """The only rule of a text."""
    (rule,) = parse(text).rules
    return rule


def test_a_signature_declares_inputs_attributes_and_outputs():
    rule = one_rule("special y, mask? = Op(x, const b?, param W, xs...; axis as a = -1, k?) <-> Op")
    side = rule.side
    assert isinstance(side, Signature) and side.inputs is not None
    assert [(p.name, p.role, p.optional, p.variadic) for p in side.inputs] == [
        ("x", "input", False, False),
        ("b", "const", True, False),
        ("W", "param", False, False),
        ("xs", "input", False, True),
    ]
    axis, k = side.attributes
    assert (axis.name, axis.variable, axis.default.value) == ("axis", "a", -1)  # type: ignore[union-attr]
    assert (k.name, k.variable, k.optional, k.default) == ("k", "k", True, None)
    assert [(p.name, p.optional) for p in side.outputs] == [("y", False), ("mask", True)]


def test_bare_and_empty_sides_differ():
    bare = one_rule("renamed ReLU <-> Relu").side
    empty = one_rule("special Op() <-> Op()").side
    assert isinstance(bare, Signature) and bare.inputs is None
    assert isinstance(empty, Signature) and empty.inputs == ()
    assert [port.name for port in bare.outputs] == ["y"]


def test_blocks_and_their_steps():
    rule = one_rule("composed Two {\n    h = A(x, -, [1, 2]; k = 1/6, b)\n    -, y = B(h)\n}\n    <-> Two(x)")
    assert rule.name == "Two" and isinstance(rule.side, Block)
    first, second = rule.side.steps
    assert first.arguments == (Name("x", first.span), None, Literal((1, 2), first.span))
    assert dict(first.attributes)["b"] == Name("b", first.span)
    assert second.outputs == ("", "y")


def test_alternatives_and_clauses():
    rule = one_rule(
        'override special Op(x; a)\n    prefer "why"\n    require rank(x) == 2 "all"\n'
        '    <-> opset 13.. Op(x; a)\n    <- opset 6 producer "sonnx" Op(x) "only read"\n'
        '    where a = 1\n          b, c = lens(d)\n    require on export a in [1] "some"\n    ignore z "no"'
    )
    assert rule.override and rule.prefer == "why"
    assert [type(clause) for clause in rule.clauses] == [Require]
    first, second = rule.alternatives
    assert (first.arrow, first.opset, first.reason) == ("<->", (13, None), None)
    assert (second.arrow, second.opset, second.producer, second.reason) == (
        "<-",
        (6, 6),
        "sonnx",
        "only read",
    )
    assert [type(clause) for clause in second.clauses] == [Binding, Binding, Require, Ignore]
    assert second.clauses[1].targets == ("b", "c")  # type: ignore[union-attr]
    assert second.clauses[2].direction == "export"  # type: ignore[union-attr]


def test_expressions_bind_as_in_arithmetic():
    binding = one_rule("special Op(x) <-> Op(x) where a = 1 - -b * (c + 2) / 3").alternatives[0].clauses[0]
    assert isinstance(binding, Binding)
    span = binding.span
    sum_ = Apply("+", (Name("c", span), Literal(2, span)), span)
    product = Apply("*", (Apply("neg", (Name("b", span),), span), sum_), span)
    quotient = Apply("/", (product, Literal(3, span)), span)
    assert binding.value == Apply("-", (Literal(1, span), quotient), span)


def test_keywords_are_whole_words_and_only_where_they_may_stand():
    rule = one_rule("special Op(x; where, ignore as note) <-> Op(x; where, note) where order = inner")
    assert [a.name for a in rule.side.attributes] == ["where", "ignore"]  # type: ignore[union-attr]
    assert rule.alternatives[0].clauses[0].targets == ("order",)  # type: ignore[union-attr]


def test_examples():
    (example,) = parse(
        'example <- "title"\n    given x float32[2, 3] in -1..1\n    given n int64[] = 3\n'
        '    producer "sonnx"\n    onnx y = If(n; then_branch = graph(a; b) { b = Relu(a) }) opset 11..\n'
        "    singa y = If(n)"
    ).examples
    assert (example.title, example.arrow, example.producer, example.opset) == (
        "title",
        "<-",
        "sonnx",
        (11, None),
    )
    x, n = example.given
    assert (x.dtype, x.shape, x.low, x.high, x.value) == ("float32", (2, 3), -1.0, 1.0, None)
    assert (n.shape, n.value) == ((), 3)
    branch = dict(example.onnx[0].attributes)["then_branch"]
    assert isinstance(branch, Literal) and isinstance(branch.value, Subgraph)
    assert (branch.value.inputs, branch.value.outputs) == (("a",), ("b",))


def test_the_comment_block_above_is_documentation():
    rules = parse("# one\n\n# two\n# three\nrenamed A <-> B\nrenamed C <-> D").rules
    assert [rule.documentation for rule in rules] == ["two\nthree", ""]


def test_positions_count_from_the_file():
    rule = parse("# above\n\nspecial Op(x; a)\n    <-> Op(x; a)\n    where a = b").rules[0]
    assert str(rule.span) == "<rules>:3:1"
    assert str(rule.alternatives[0].clauses[0].span) == "<rules>:5:11"


def test_every_item_reports_its_own_error():
    with pytest.raises(RuleSyntaxError) as caught:
        parse("renamed A <->\n\nrenamed B <-> B\n\nrenamed C (", "x.rules")
    assert [str(error.span) for error in caught.value.diagnostics] == ["x.rules:1:14", "x.rules:5:12"]


def test_the_cache_gives_back_the_same_tree(tmp_path, monkeypatch):
    monkeypatch.setenv("SONNX_CACHE_DIR", str(tmp_path))
    store._folder.cache_clear()
    path = HERE / "format" / "messy.rules"
    try:
        cold, warm = parse_file(path), parse_file(path)
        (entry,) = (tmp_path / "rules").iterdir()
        assert warm == cold and warm.rules[0].span == cold.rules[0].span
        entry.write_text("[0, 1")
        assert parse_file(path) == cold
    finally:
        store._folder.cache_clear()


def test_many_rules_are_read_from_the_cache_in_no_time(tmp_path, monkeypatch):
    monkeypatch.setenv("SONNX_CACHE_DIR", str(tmp_path))
    store._folder.cache_clear()
    path = tmp_path / "many.rules"
    path.write_text(
        "".join(f"special Op{i}(x; axis)\n    <-> opset 13.. Op{i}(x; axis = -1)\n" for i in range(300))
    )
    try:
        parse_file(path)
        fastest = min(_seconds(path) for _ in range(5))
    finally:
        store._folder.cache_clear()
    assert fastest < 0.05


def _seconds(path: Path) -> float:
    start = time.perf_counter()
    parse_file(path)
    return time.perf_counter() - start
