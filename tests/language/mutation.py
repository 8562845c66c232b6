"""Rules with one thing changed at random: what `rules check` and `rules test` must catch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lark import Token
from sonnx.translator.language.conditions import CONSTANTS, TENSOR_CONDITIONS, VALUE_CONDITIONS
from sonnx.translator.language.format import tokens_of
from sonnx.translator.language.lenses import LENSES
from sonnx.translator.language.source import Item, cut
from sonnx.translator.language.syntax import RuleFile

NAMES = ("NAME", "QUALIFIED")
LITERALS = {"true", "false", "none", "inf", "nan", *CONSTANTS}


@dataclass(frozen=True)
class Mutant:
    """A rule file's text with one rule changed: how (``kind``), where, from what to what."""

    path: str
    kind: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.before!r} -> {self.after!r}"


Change = tuple[Sequence[Token], Sequence[str]]
"""Tokens of a rule, and what takes the place of each."""


def mutants(files: Sequence[RuleFile], count: int, seed: int) -> Iterator[Mutant]:
    """``count`` different mutants, every kind equally often where there is something to change."""
    chance = random.Random(seed)
    rules = [(file, item) for file in files for item in cut(file.text) if not item.is_example]
    seen: set[str] = set()
    kinds = list(_KINDS)
    tries = 0
    while len(seen) < count and tries < 100 * count:
        tries += 1
        kind = kinds[tries % len(kinds)]
        file, item = chance.choice(rules)
        changes = list(_KINDS[kind](tokens_of(item.text), chance))
        if not changes:
            continue
        mutant = _apply(file, item, kind, chance.choice(changes))
        if mutant.text not in seen and mutant.before != mutant.after:
            seen.add(mutant.text)
            yield mutant


def _apply(file: RuleFile, item: Item, kind: str, change: Change) -> Mutant:
    text = item.text
    pairs = sorted(zip(*change, strict=True), key=lambda pair: -(pair[0].start_pos or 0))
    for token, new in pairs:
        text = text[: token.start_pos] + new + text[token.end_pos :]
    lines = file.text.split("\n")
    height = item.text.count("\n") + 1
    above, below = lines[: item.line - 1], lines[item.line - 1 + height :]
    tokens, news = change
    line = item.line + (tokens[0].line or 1) - 1
    whole = "\n".join([*above, text, *below])
    return Mutant(file.path, kind, line, " ".join(tokens), " ".join(news), whole)


# --- what can be changed -----------------------------------------------------------------------


def _names(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """A name becomes another of the rule, or is misspelt."""
    names = [token for token in tokens if token.type in NAMES and token not in LITERALS]
    for token in names:
        others = sorted({str(other) for other in names} - {str(token)})
        yield [token], [chance.choice([*others, token + "s", token[:-1] or "z"])]


def _defaults(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """A number or a text after ``=`` becomes another."""
    for before, token in pairwise(tokens):
        if before.type not in ("EQUAL", "UNARY"):
            continue
        if token.type == "NUMBER":
            yield [token], [chance.choice(_other_numbers(token))]
        elif token.type == "STRING":
            yield [token], [f'"{token[1:-1]}x"']


def _other_numbers(text: str) -> list[str]:
    value = float(text)
    if text.isdigit():
        return [str(int(text) + 1), str(abs(int(text) - 1)) if int(text) != 1 else "0"]
    return [repr(value + 0.1), repr(value * 2 + 0.25)]


def _opsets(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """A bound of an opset range moves by one, opens or closes."""
    for token in tokens:
        if token.type != "RANGE":
            continue
        first, dots, last = token.partition("..")
        options = [f"{int(first) + 1}{dots}{last}"] if not last or int(last) > int(first) else []
        if int(first) > 1:
            options.append(f"{int(first) - 1}{dots}{last}")
        if last:
            options += [f"{first}..{int(last) + 1}", f"{first}.."]
            options += [f"{first}..{int(last) - 1}"] if int(last) > int(first) else []
        else:
            options.append(f"{first}..27" if dots else f"{first}..")
        yield [token], [chance.choice(options)]


def _mappings(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """Two attributes of one signature take each other's variable; a call, each other's name."""
    inside: list[int] = []
    attributes = False
    for place, token in enumerate(tokens):
        if token.type == "SEMICOLON":
            inside, attributes = [], True
        elif token.type == "RPAR":
            if attributes and len(inside) > 1:
                yield _exchanged(tokens, *chance.sample(inside, 2))
            attributes = False
        elif attributes and token.type in NAMES and tokens[place - 1].type in ("SEMICOLON", "COMMA"):
            inside.append(place)


def _exchanged(tokens: Sequence[Token], first: int, second: int) -> Change:
    one, other = tokens[first], tokens[second]
    plain = not any(tokens[place + 1].type in ("_AS", "EQUAL") for place in (first, second))
    if plain:
        return [one, other], [f"{one} as {other}", f"{other} as {one}"]
    return [one, other], [str(other), str(one)]


def _arrows(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """An arrow becomes another."""
    for token in tokens:
        if token.type == "ARROW":
            yield [token], [chance.choice([arrow for arrow in ("<->", "->", "<-") if arrow != token])]


def _lenses(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """A lens or a condition function becomes another."""
    for token, following in pairwise(tokens):
        if following.type != "LPAR":
            continue
        for table in (LENSES, {**TENSOR_CONDITIONS, **VALUE_CONDITIONS}):
            if token in table:
                yield [token], [chance.choice(sorted(set(table) - {str(token)}))]


def _marks(tokens: Sequence[Token], chance: random.Random) -> Iterator[Change]:
    """A ``?`` or ``...`` is lost."""
    for token in tokens:
        if token.type == "MARK":
            yield [token], [""]


_KINDS: dict[str, Callable[[Sequence[Token], random.Random], Iterator[Change]]] = {
    "name": _names,
    "default": _defaults,
    "opset": _opsets,
    "mapping": _mappings,
    "arrow": _arrows,
    "lens": _lenses,
    "mark": _marks,
}
