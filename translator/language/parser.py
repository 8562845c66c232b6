"""Text to syntax tree: Lark finds the structure, this builds the nodes of ``syntax.py``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn, cast

from lark import Lark, Token, Tree, UnexpectedInput

from .errors import Diagnostic, RuleSyntaxError, diagnostic, near
from .source import Item, cut
from .store import kept
from .syntax import (
    Alternative,
    Apply,
    Arrow,
    AttributePort,
    Binding,
    Block,
    Example,
    Expression,
    Given,
    Ignore,
    Literal,
    Name,
    Port,
    PortRole,
    Require,
    Rule,
    RuleFile,
    RuleKind,
    Signature,
    Span,
    Step,
    Subgraph,
)

_CONSTANTS = {"true": True, "false": False, "none": None, "inf": float("inf"), "nan": float("nan")}


def parse_file(path: str | Path, examples: bool = True) -> RuleFile:
    """Read and parse a rule file; without ``examples``, its rules alone (an importer needs no more).

    Raises RuleSyntaxError, or OSError where the file cannot be read.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        span = Span(str(path), 1, 1, 1, 1)
        raise RuleSyntaxError([diagnostic("not-text", span, reason=error.reason)], "") from None
    return kept(text, str(path), examples)


def parse(text: str, path: str = "<rules>", examples: bool = True) -> RuleFile:
    """Parse a rule file's text.  Raises RuleSyntaxError with every item's first error."""
    text = text.replace("\r\n", "\n")
    parsed: list[Rule | Example] = []
    errors: list[Diagnostic] = []
    for item in cut(text):
        if item.is_example and not examples:
            continue
        try:
            parsed.append(_parse_item(item, path))
        except _ItemError as error:
            errors.append(error.diagnostic)
    if errors:
        raise RuleSyntaxError(errors, text)
    rules = tuple(item for item in parsed if isinstance(item, Rule))
    return RuleFile(path, text, rules, tuple(item for item in parsed if isinstance(item, Example)))


class _ItemError(Exception):
    """One item's first error."""

    def __init__(self, found: Diagnostic) -> None:
        self.diagnostic = found


def _parse_item(item: Item, path: str) -> Rule | Example:
    try:
        tree = grammar().parse(item.text)
    except UnexpectedInput as error:
        raise _ItemError(_syntax_error(error, item, path)) from None
    return _Builder(item, path).build(tree)


@cache
def grammar() -> Lark:
    """The parser of one item."""
    text = (files("sonnx.translator.language") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", propagate_positions=True, maybe_placeholders=True)


# --- syntax errors -----------------------------------------------------------------------------

_KINDS = ("renamed", "special", "unhandled", "bool", "composed")
_EXPECTED = {
    "KIND": "a rule's kind (renamed, special, unhandled, bool or composed)",
    "ARROW": "an arrow (<->, -> or <-)",
    "QUALIFIED": "a name",
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": 'a "text"',
    "RANGE": "opset versions (11, 11.. or 1..10)",
    "DIRECTION": "on import or on export",
    "ROLE": "const, param or state",
    "COMPARE": "a comparison",
    "PLUS": "arithmetic",
    "MINUS": "'-'",
    "TIMES": "arithmetic",
    "MARK": "'?' or '...'",
    "$END": "the end of the rule or example",
}


def _syntax_error(error: UnexpectedInput, item: Item, path: str) -> Diagnostic:
    token = getattr(error, "token", None)
    if token is not None and token.type != "$END":
        word = str(token)
    else:
        rest = item.text[error.pos_in_stream or 0 :] if token is None else ""
        match = _WORD.match(rest)
        word = match[0] if match else ""
    line, column = error.line, error.column
    if not word:
        lines = item.text.split("\n")
        line, column = len(lines), len(lines[-1]) + 1
    line += item.line - 1
    span = Span(path, line, column, line, column + max(len(word), 1))
    allowed = sorted(getattr(error, "accepts", None) or getattr(error, "allowed", None) or error.expected)  # type: ignore[attr-defined]
    keywords = [word for name in allowed for word in _keywords(name)] if word[:1].isalpha() else []
    return diagnostic(
        "syntax",
        span,
        found=repr(word) if word else "end of the rule or example",
        expected=", ".join(sorted({_EXPECTED.get(name) or _readable(name) for name in allowed})),
        hint=near(word, keywords),
    )


_WORD = re.compile(r"\w+|.", re.S)


def _keywords(terminal: str) -> tuple[str, ...]:
    """The words of a keyword's terminal; of any other, none."""
    if terminal == "KIND":
        return _KINDS
    return (
        (terminal.strip("_").lower(),) if terminal.startswith("_") or terminal in ("OVERRIDE", "IN") else ()
    )


def _readable(terminal: str) -> str:
    keywords = _keywords(terminal)
    if keywords:
        return keywords[0]
    patterns = {each.name: str(each.pattern.value) for each in grammar().terminals}
    return repr(patterns.get(terminal, terminal))


# --- the tree ----------------------------------------------------------------------------------


class _Builder:
    """One method for each rule of the grammar; ``None`` children are parts that the text lacks."""

    def __init__(self, item: Item, path: str) -> None:
        self._item, self._path = item, path

    def build(self, tree: Any) -> Any:
        """A syntax node from a parse tree; tokens stay as they are."""
        if not isinstance(tree, Tree):
            return tree
        make: Callable[..., Any] = getattr(self, f"_{tree.data}")
        return make(tree, *(self.build(child) for child in tree.children))

    def _span(self, tree: Tree | Token) -> Span:
        at = tree if isinstance(tree, Token) else tree.meta
        above = self._item.line - 1
        if not isinstance(tree, Token) and tree.meta.empty:
            return Span(self._path, above + 1, 1, above + 1, 1)
        last, end = cast(int, at.end_line), cast(int, at.end_column)
        return Span(self._path, above + cast(int, at.line), cast(int, at.column), above + last, end)

    def _fail(self, code: str, where: Span, **parts: Any) -> NoReturn:
        raise _ItemError(diagnostic(code, where, **parts))

    # --- rules

    def _rule(self, tree: Tree, override: Token | None, kind: Token, subject: Any, *rest: Any) -> Rule:
        name, side = subject if isinstance(subject, tuple) else (subject.operator, subject)
        prefer = [part for part in rest if isinstance(part, _Prefer)]
        if len(prefer) > 1:
            self._fail("repeated-item", self._span(tree), item="prefer")
        return Rule(
            kind=cast(RuleKind, str(kind)),
            name=name,
            override=override is not None,
            side=side,
            alternatives=tuple(part for part in rest if isinstance(part, Alternative)),
            clauses=tuple(part for part in rest if isinstance(part, (Binding, Require, Ignore))),
            prefer=str(prefer[0]) if prefer else None,
            documentation=self._item.documentation,
            span=self._span(tree),
        )

    def _named_block(self, tree: Tree, name: Token, block: Block) -> tuple[str, Block]:
        return str(name), block

    def _prefer(self, tree: Tree, reason: Token) -> _Prefer:
        return _Prefer(_unquote(reason))

    def _alternative(
        self, tree: Tree, arrow: Token, opset: Any, producer: Any, side: Any, reason: Any, *clauses: Any
    ) -> Alternative:
        return Alternative(
            arrow=cast(Arrow, str(arrow)),
            opset=opset.versions if opset else (1, None),
            producer=producer.name if producer else None,
            side=side,
            clauses=clauses,
            reason=_unquote(reason) if reason else None,
            span=self._span(tree),
        )

    def _opset(self, tree: Tree, text: Token) -> _Opset:
        first, dots, last = str(text).partition("..")
        versions = (int(first), int(first) if not dots else int(last) if last else None)
        if versions[0] < 1 or (versions[1] or versions[0]) < versions[0]:
            self._fail("empty-range", self._span(text), range=text)
        return _Opset(versions)

    def _producer(self, tree: Tree, name: Token) -> _Producer:
        return _Producer(_unquote(name))

    def _signature(self, tree: Tree, outputs: Any, operator: Token, ports: Any) -> Signature:
        inputs, attributes = ports or (None, ())
        default = (Port("y", "input", False, False, None, self._span(operator)),)
        return Signature(str(operator), inputs, attributes, outputs or default, self._span(tree))

    def _ports(self, tree: Tree, inputs: Any, attributes: Any) -> tuple:
        return inputs or (), attributes or ()

    def _outputs(self, tree: Tree, *outputs: Port) -> tuple[Port, ...]:
        return outputs

    def _output(self, tree: Tree, name: Token, mark: Token | None) -> Port:
        return Port(str(name), "input", mark == "?", mark == "...", None, self._span(tree))

    def _inputs(self, tree: Tree, *inputs: Port) -> tuple[Port, ...]:
        return inputs

    def _input(self, tree: Tree, role: Token | None, name: Token, mark: Token | None, default: Any) -> Port:
        kind = cast(PortRole, str(role or "input"))
        return Port(str(name), kind, mark == "?", mark == "...", default, self._span(tree))

    def _attributes(self, tree: Tree, *attributes: AttributePort) -> tuple[AttributePort, ...]:
        return attributes

    def _attribute(
        self, tree: Tree, name: Token, variable: Token | None, mark: Token | None, default: Any
    ) -> AttributePort:
        if mark == "...":
            self._fail("syntax", self._span(mark), found="'...'", expected="'?', '=', ',' or ')'")
        return AttributePort(str(name), str(variable or name), mark == "?", default, self._span(tree))

    def _block(self, tree: Tree, *steps: Step) -> Block:
        return Block(steps, self._span(tree))

    def _step(self, tree: Tree, outputs: Any, operator: Token, arguments: Any, settings: Any) -> Step:
        return Step(outputs, str(operator), arguments or (), settings or (), self._span(tree))

    def _arguments(self, tree: Tree, *arguments: Any) -> tuple[Expression | None, ...]:
        return tuple(None if argument is _ABSENT else argument for argument in arguments)

    def _absent(self, tree: Tree, *minus: Token) -> object:
        return _ABSENT

    def _settings(self, tree: Tree, *settings: Any) -> tuple[tuple[str, Expression], ...]:
        return settings

    def _setting(self, tree: Tree, name: Token, value: Any) -> tuple[str, Expression]:
        return str(name), Name(str(name), self._span(name)) if value is None else value

    # --- clauses

    def _binding(self, tree: Tree, targets: tuple[str, ...], value: Expression) -> Binding:
        return Binding(targets, value, self._span(tree))

    def _targets(self, tree: Tree, *names: Any) -> tuple[str, ...]:
        return tuple("" if name is _ABSENT else str(name) for name in names)

    def _require(self, tree: Tree, direction: Token | None, condition: Expression, message: Token) -> Require:
        way = str(direction).split()[1] if direction else None
        return Require(condition, _unquote(message), cast(Any, way), self._span(tree))

    def _ignore(self, tree: Tree, name: Token, reason: Token) -> Ignore:
        return Ignore(str(name), _unquote(reason), self._span(tree))

    # --- examples

    def _example(self, tree: Tree, arrow: Token | None, title: Token, *items: Any) -> Example:
        span = self._span(tree)
        sides: dict[str, tuple[Step, ...]] = {"onnx": (), "singa": ()}
        single: dict[type, Any] = {}
        for item in items:
            if isinstance(item, _Nodes):
                sides[item.side] += item.steps
            elif isinstance(item, (_Opset, _Producer)):
                if type(item) in single:
                    self._fail("repeated-item", span, item=item.keyword)
                single[type(item)] = item
        for side, steps in sides.items():
            if not steps:
                self._fail("example-side", span, side=side)
        return Example(
            title=_unquote(title),
            arrow=cast(Arrow, str(arrow or "<->")),
            producer=single[_Producer].name if _Producer in single else None,
            onnx=sides["onnx"],
            singa=sides["singa"],
            opset=single[_Opset].versions if _Opset in single else (1, None),
            given=tuple(item for item in items if isinstance(item, Given)),
            span=span,
        )

    def _onnx(self, tree: Tree, part: Step | Block) -> _Nodes:
        return _Nodes("onnx", part.steps if isinstance(part, Block) else (part,))

    def _singa(self, tree: Tree, part: Step | Block) -> _Nodes:
        return _Nodes("singa", part.steps if isinstance(part, Block) else (part,))

    def _given(self, tree: Tree, name: Token, dtype: Token, sizes: Any, extent: Any) -> Given:
        low, high = extent if isinstance(extent, tuple) else (None, None)
        content = None
        if extent is not None and not isinstance(extent, tuple):
            if not isinstance(extent, Literal) or isinstance(extent.value, Subgraph):
                self._fail("given-value", extent.span, name=str(name))
            content = cast(Any, extent.value)
        return Given(str(name), str(dtype), sizes or (), low, high, content, self._span(tree))

    def _sizes(self, tree: Tree, *sizes: Token) -> tuple[int, ...]:
        return tuple(int(float(size)) for size in sizes)

    def _bounds(self, tree: Tree, word: Token, low: float, high: float) -> tuple[float, float]:
        return low, high

    def _signed(self, tree: Tree, minus: Token | None, number: Token) -> float:
        return -float(number) if minus else float(number)

    # --- expressions

    def _number(self, tree: Tree, text: Token) -> Literal:
        return Literal(int(text) if text.isdigit() else float(text), self._span(tree))

    def _string(self, tree: Tree, text: Token) -> Literal:
        return Literal(_unquote(text), self._span(tree))

    def _name(self, tree: Tree, name: Token) -> Expression:
        if str(name) in _CONSTANTS:
            return Literal(_CONSTANTS[str(name)], self._span(tree))
        return Name(str(name), self._span(tree))

    def _call(self, tree: Tree, name: Token, values: Any) -> Apply:
        return Apply(str(name), values or (), self._span(tree))

    def _typed(self, tree: Tree, name: Token, values: Expression) -> Apply:
        return Apply(str(name), (values,), self._span(tree))

    def _list(self, tree: Tree, values: Any) -> Expression:
        parts = values or ()
        if all(isinstance(part, Literal) for part in parts):
            return Literal(tuple(part.value for part in parts), self._span(tree))
        return Apply("list", parts, self._span(tree))

    def _graph(self, tree: Tree, inputs: Any, outputs: tuple[str, ...], block: Block) -> Literal:
        return Literal(Subgraph(inputs or (), outputs, block.steps), self._span(tree))

    def _values(self, tree: Tree, *values: Expression) -> tuple[Expression, ...]:
        return values

    def _negative(self, tree: Tree, minus: Token, operand: Expression) -> Expression:
        if isinstance(operand, Literal) and isinstance(operand.value, (int, float)):
            return Literal(-operand.value, self._span(tree))
        return Apply("neg", (operand,), self._span(tree))

    def _arithmetic(self, tree: Tree, left: Expression, operator: Token, right: Expression) -> Apply:
        return Apply(str(operator), (left, right), self._span(tree))

    def _compared(self, tree: Tree, left: Expression, operator: Token, right: Expression) -> Apply:
        return Apply(str(operator), (left, right), self._span(tree))

    def _negated(self, tree: Tree, operand: Expression) -> Apply:
        return Apply("not", (operand,), self._span(tree))

    def _all_of(self, tree: Tree, *operands: Expression) -> Apply:
        return Apply("and", operands, self._span(tree))

    def _any_of(self, tree: Tree, *operands: Expression) -> Apply:
        return Apply("or", operands, self._span(tree))


_ABSENT = object()


class _Prefer(str):
    """The reason of a ``prefer`` clause."""


class _Opset:
    keyword = "opset"

    def __init__(self, versions: tuple[int, int | None]) -> None:
        self.versions = versions


class _Producer:
    keyword = "producer"

    def __init__(self, name: str) -> None:
        self.name = name


class _Nodes:
    """The ``onnx`` or ``singa`` lines of an example."""

    def __init__(self, side: str, steps: tuple[Step, ...]) -> None:
        self.side, self.steps = side, steps


def _unquote(token: Any) -> str:
    return str(token)[1:-1]
