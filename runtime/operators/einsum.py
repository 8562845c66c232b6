"""Einsum by transposes, matrix products and sums: two operands at a time, from the left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..specialise import Builder

_DOTS = "..."


@dataclass(frozen=True)
class Term:
    """A value and the letter of each of its axes."""

    value: Value
    letters: str

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.letters, self.value.shape, strict=True))


def einsum(call: Call, build: Builder) -> list[Value]:
    """Expand an equation; raises OperatorError where it does not fit the operands."""
    inputs, output = _equation(call)
    terms = [
        _summed(build, _diagonals(call, build, Term(value, letters)), _others(inputs, i) + output)
        for i, (value, letters) in enumerate(zip(call.present, inputs, strict=True))
    ]
    sizes: dict[str, int] = {}
    for term in terms:
        for letter, size in term.sizes().items():
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise call.fail(f"axis {letter!r} has sizes {sizes[letter]} and {size}")
            sizes[letter] = max(size, sizes[letter]) if 0 not in (size, sizes[letter]) else 0
    result = terms[0]
    for place, term in enumerate(terms[1:], start=1):
        kept = output + "".join(t.letters for t in terms[place + 1 :])
        result = _contract(build, result, term, kept)
    result = _summed(build, result, output)
    return [_ordered(build, result, output).value]


def _equation(call: Call) -> tuple[list[str], str]:
    """The letters of each operand and of the output; what ``...`` stands for gets letters of its own."""
    text = call.a.equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(call.present):
        raise call.fail(f"equation {text!r} has {len(parts)} operands, {len(call.present)} are given")
    named = [len(part.replace(_DOTS, "")) for part in parts]
    unnamed = [value.rank - count for value, count in zip(call.present, named, strict=True)]
    most = max((n for part, n in zip(parts, unnamed, strict=True) if _DOTS in part), default=0)
    pool = [chr(code) for code in range(0x100, 0x100 + most)]
    inputs = []
    for part, count, value in zip(parts, unnamed, call.present, strict=True):
        if count < 0 or (count and _DOTS not in part):
            raise call.fail(f"{part!r} in equation {text!r} does not fit {list(value.shape)}")
        inputs.append(part.replace(_DOTS, "".join(pool[most - count :])))
    if not arrow:
        letters = "".join(parts).replace(_DOTS, "")
        right = (_DOTS if most else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    output = right.replace(_DOTS, "".join(pool))
    unknown = sorted(set(output) - set("".join(inputs)))
    if unknown or len(set(output)) != len(output):
        raise call.fail(f"the output of equation {text!r} must name axes of the operands, each once")
    return inputs, output


def _others(inputs: list[str], place: int) -> str:
    return "".join(letters for other, letters in enumerate(inputs) if other != place)


def _diagonals(call: Call, build: Builder, term: Term) -> Term:
    """A letter that an operand has twice means its diagonal."""
    for letter in term.letters:
        while term.letters.count(letter) > 1:
            first = term.letters.index(letter)
            second = term.letters.index(letter, first + 1)
            rest = [axis for axis in range(len(term.letters)) if axis not in (first, second)]
            shape, size = [term.value.shape[axis] for axis in rest], term.value.shape[first]
            if term.value.shape[second] != size:
                raise call.fail(f"axis {letter!r} has sizes {size} and {term.value.shape[second]}")
            turned = build("Transpose", term.value, perm=(*rest, first, second))
            flat = build("Reshape", turned, shape=(*shape, size * size))
            axis = len(shape)
            cut = build("Slice", flat, starts=(0,), ends=(size * size,), axes=(axis,), steps=(size + 1,))
            term = Term(cut, "".join(term.letters[a] for a in rest) + letter)
    return term


def _summed(build: Builder, term: Term, kept: str) -> Term:
    """Sum over the axes that nothing else names."""
    axes = tuple(axis for axis, letter in enumerate(term.letters) if letter not in kept)
    if not axes:
        return term
    value = build("ReduceSum", term.value, axes=axes, keepdims=0)
    return Term(value, "".join(letter for letter in term.letters if letter in kept))


def _ordered(build: Builder, term: Term, letters: str) -> Term:
    """The same axes in another order."""
    if term.letters == letters:
        return term
    perm = tuple(term.letters.index(letter) for letter in letters)
    return Term(build("Transpose", term.value, perm=perm), letters)


def _contract(build: Builder, a: Term, b: Term, kept: str) -> Term:
    """The product of two terms, summed over the letters that both have and nothing else names."""
    shared = [letter for letter in a.letters if letter in b.letters]
    left, right = a.sizes(), b.sizes()
    if any(left[letter] != right[letter] for letter in shared):
        return _broadcast(build, a, b, kept)
    batch = "".join(letter for letter in shared if letter in kept)
    inner = "".join(letter for letter in shared if letter not in kept)
    rows = "".join(letter for letter in a.letters if letter not in shared)
    columns = "".join(letter for letter in b.letters if letter not in shared)
    sizes = right | left

    def matrices(term: Term, first: str, second: str) -> Value:
        ordered = _ordered(build, term, batch + first + second)
        shape = [math.prod(sizes[letter] for letter in group) for group in (batch, first, second)]
        return build("Reshape", ordered.value, shape=tuple(shape), allowzero=1)

    product = build("Matmul", matrices(a, rows, inner), matrices(b, inner, columns))
    letters = batch + rows + columns
    shape = tuple(sizes[letter] for letter in letters)
    return Term(build("Reshape", product, shape=shape, allowzero=1), letters)


def _broadcast(build: Builder, a: Term, b: Term, kept: str) -> Term:
    """The product where an axis has size 1 in one term: elementwise, then summed."""
    letters = a.letters + "".join(letter for letter in b.letters if letter not in a.letters)

    def spread(term: Term) -> Value:
        own = "".join(letter for letter in letters if letter in term.letters)
        ordered, sizes = _ordered(build, term, own), term.sizes()
        return build("Reshape", ordered.value, shape=tuple(sizes.get(letter, 1) for letter in letters))

    return _summed(build, Term(build("Mul", spread(a), spread(b)), letters), kept)


registry.add("Einsum(inputs...; equation: string) -> y", expand=einsum)
