"""``sonnx rules format``: one layout for all rule files; nothing but white space changes.

An item's tokens are laid out in units, a line each (broken where it is too long): the head, each
alternative, clause, step and line of an example.  A comment on a line of its own stays above the
unit that it precedes, one at the end of a line stays at the end of its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lark import Token

from .parser import grammar, parse
from .source import Item, cut

WIDTH = 100
_INDENT = 4
_COMMENT = re.compile(r'"[^"\n]*"|(#[^\n]*)')
_CLAUSES = {"_REQUIRE", "_IGNORE", "_PREFER", "_WHERE"}
_STARTS = {"KIND": {"ARROW", *_CLAUSES}, "_EXAMPLE": {"_GIVEN", "_ONNX", "_SINGA", "_PRODUCER"}}
_NAMES = {"QUALIFIED", "NAME"}
_OPENS = {"LPAR", "LSQB"}
_CLOSES = {"RPAR", "RSQB"}


@dataclass
class _Comment:
    """A comment and where it is, within its item."""

    line: int
    column: int
    text: str


@dataclass
class _Unit:
    """One line: its tokens, the comments above it and at its end."""

    kind: str
    indent: int
    tokens: list[Token] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The tokens with the space that belongs between them."""
        return "".join(" " * _space(before, token) + token for before, token in _pairs(self.tokens))


def format_text(text: str, path: str = "<rules>") -> str:
    """A rule file's text in the one layout.  Raises RuleSyntaxError."""
    parse(text, path)
    lines = text.replace("\r\n", "\n").split("\n")
    out: list[str] = []
    position = 0
    for item in cut("\n".join(lines)):
        out += lines[position : item.line - 1]
        body, count = _item(item)
        out += body
        position = item.line - 1 + count
    out += lines[position:]
    return _tidy(out)


def _tidy(lines: Iterable[str]) -> str:
    """No white space at line ends, never two blank lines, one newline at the end."""
    kept: list[str] = []
    for line in (line.rstrip() for line in lines):
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n" if kept else ""


def _item(item: Item) -> tuple[list[str], int]:
    """An item's lines, and how many lines of the source they replace."""
    tokens = tokens_of(item.text)
    comments = [comment for comment in _comments(item.text) if comment.line <= (tokens[-1].end_line or 0)]
    units = _units(tokens)
    _attach(comments, units)
    _join(units)
    _align(units)
    lines: list[str] = []
    for unit in units:
        lines += [" " * unit.indent + comment for comment in unit.above]
        broken = _break(unit)
        broken[-1] += "".join(f"  {comment}" for comment in unit.end)
        lines += broken
    return lines, tokens[-1].end_line or 0


def tokens_of(text: str) -> list[Token]:
    """Tokens by the parser's own, context-aware lexer; a minus with nothing before it is ``UNARY``."""
    tokens: list[Token] = []
    for token in grammar().parse_interactive(text).iter_parse():
        if token.type == "MINUS" and tokens[-1].type not in _OPERANDS:
            token = Token.new_borrow_pos("UNARY", str(token), token)
        if token:
            tokens.append(token)
    return tokens


def _comments(text: str) -> Iterator[_Comment]:
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _COMMENT.finditer(line):
            if match[1]:
                yield _Comment(number, match.start(1) + 1, match[1].rstrip())


def _pairs(tokens: list[Token]) -> Iterator[tuple[Token | None, Token]]:
    yield from zip([None, *tokens[:-1]], tokens, strict=True)


# --- units -------------------------------------------------------------------------------------


def _units(tokens: list[Token]) -> list[_Unit]:
    """Cut tokens into units; a block's steps and its closing brace are units of their own."""
    units = [_Unit("head", 0)]
    braces: list[tuple[int, int]] = []
    depth = 0
    starts = _STARTS["_EXAMPLE" if tokens[0].type == "_EXAMPLE" else "KIND"]
    for place, token in enumerate(tokens):
        kind = token.type
        if kind in starts and not depth and not braces:
            inner = kind in _CLAUSES and any(unit.kind == "ARROW" for unit in units)
            units.append(_Unit(kind, 2 * _INDENT if inner else _INDENT))
        elif kind == "RBRACE":
            units.append(_Unit(kind, braces.pop()[0]))
        elif braces and depth == braces[-1][1] and _starts_step(tokens, place):
            units.append(_Unit("step", braces[-1][0] + _INDENT))
        elif units[-1].kind in ("_WHERE", "binding") and not depth and _starts_binding(tokens, place):
            units.append(_Unit("binding", units[-1].indent + (6 if units[-1].kind == "_WHERE" else 0)))
        units[-1].tokens.append(token)
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if kind == "LBRACE":
            braces.append((units[-1].indent, depth))
    return units


def _starts_step(tokens: list[Token], place: int) -> bool:
    """Whether ``a, b = Name(`` begins here, after a brace or a closing bracket."""
    return tokens[place - 1].type in ("LBRACE", "RPAR") and _assigns(tokens, place)


def _starts_binding(tokens: list[Token], place: int) -> bool:
    before = tokens[place - 1].type
    return before not in ("_WHERE", "COMMA") and _assigns(tokens, place)


def _assigns(tokens: list[Token], place: int) -> bool:
    """Whether names separated by commas, then ``=``, begin at a place."""
    while tokens[place].type in (*_NAMES, "UNARY", "MINUS"):
        place += 1
        if place >= len(tokens) or tokens[place].type not in ("COMMA", "EQUAL"):
            return False
        if tokens[place].type == "EQUAL":
            return True
        place += 1
    return False


def _attach(comments: list[_Comment], units: list[_Unit]) -> None:
    """Give each comment to the unit it stands in or above."""
    for comment in comments:
        last = None
        for unit in units:
            if (unit.tokens[0].line or 0, unit.tokens[0].column or 0) < (comment.line, comment.column):
                last = unit
        following = next((unit for unit in units if (unit.tokens[0].line or 0) > comment.line), None)
        alone = not any(t.end_line == comment.line for unit in units for t in unit.tokens)
        if alone and following is not None and (last is None or _over(last, comment)):
            following.above.append(comment.text)
        elif last is not None and not alone and not last.end:
            last.end.append(comment.text)
        else:
            (last or units[0]).above.append(comment.text)


def _over(unit: _Unit, comment: _Comment) -> bool:
    """Whether a unit ends before a comment."""
    return (unit.tokens[-1].end_line or 0) < comment.line


def _join(units: list[_Unit]) -> None:
    """Put a rule's only alternative on the line of its head, where it fits; its clauses move out."""
    arrows = [unit for unit in units if unit.kind == "ARROW"]
    if len(arrows) != 1 or len(units) < 2 or units[1] is not arrows[0]:
        return
    head, arrow = units[0], units[1]
    if arrow.above or head.end or len(head.text()) + 1 + len(arrow.text()) > WIDTH:
        return
    if any(token.type == "LBRACE" for token in arrow.tokens):
        return
    head.tokens += arrow.tokens
    head.end += arrow.end
    units.remove(arrow)
    for unit in units[1:]:
        unit.indent -= _INDENT


# --- lines -------------------------------------------------------------------------------------


def _align(units: list[_Unit]) -> None:
    """Start the sides of several alternatives in one column, and those of an example."""
    arrows = [unit for unit in units if unit.kind == "ARROW"]
    heads = [_Unit("", 0, unit.tokens[: _side(unit)]).text() for unit in arrows]
    for unit, head in zip(arrows, heads, strict=True):
        wide = max(map(len, heads))
        place = _side(unit)
        if len(arrows) > 1 and len(head) < wide:
            token = unit.tokens[place - 1]
            unit.tokens[place - 1] = Token.new_borrow_pos(token.type, token + " " * (wide - len(head)), token)
    for unit in units:
        if unit.kind == "_ONNX":
            unit.tokens[0] = Token.new_borrow_pos("_ONNX", "onnx ", unit.tokens[0])


def _side(unit: _Unit) -> int:
    """Where the side begins among an alternative's tokens."""
    place = 1
    while place < len(unit.tokens) and unit.tokens[place].type in ("_OPSET", "RANGE", "_PRODUCER", "STRING"):
        place += 1
    return place


def _break(unit: _Unit) -> list[str]:
    """A unit's text in lines that fit, broken after commas and semicolons inside brackets."""
    lines = [" " * unit.indent]
    piece = ""
    for before, token in _pairs(unit.tokens):
        piece += " " * _space(before, token) + token
        if token.type in ("COMMA", "SEMICOLON") or token is unit.tokens[-1]:
            if len(lines[-1] + piece) > WIDTH and lines[-1].strip():
                lines.append(" " * (unit.indent + 2 * _INDENT))
                piece = piece.lstrip()
            lines[-1] += piece
            piece = ""
    return lines


_TIGHT_BEFORE = {"COMMA", "SEMICOLON", "RPAR", "RSQB", "MARK", "__ANON_0"}
_TIGHT_AFTER = {"LPAR", "LSQB", "__ANON_0", "UNARY"}
_OPERANDS = {"NAME", "QUALIFIED", "NUMBER", "STRING", "RPAR", "RSQB"}


def _space(before: Token | None, token: Token) -> int:
    """How many spaces stand between two tokens."""
    if before is None or token.type in _TIGHT_BEFORE or before.type in _TIGHT_AFTER:
        return 0
    if token.type in _OPENS and (before.type in _NAMES or before.type == "_GRAPH"):
        return 0
    return 2 if token.type == "_OPSET" and before.type in ("RPAR", "RBRACE") else 1
