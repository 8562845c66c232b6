"""Alternatives that match the same node: ambiguous between rules, shadowed where order decides.

Both are found by witness: concrete nodes, from the examples and generated from the schemas, are
given to the matcher itself.  What no witness shows is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...runtime.graph import ValueInfo
from ...runtime.signature import Attribute
from . import schemas
from .checker_instances import Instance, mismatch
from .checker_ranges import covers
from .checker_world import Version, World
from .compile import CompiledAlternative
from .errors import Diagnostic, diagnostic
from .patterns import Application
from .syntax import Apply, Expression, Literal, Require, Signature

_SAMPLES: dict[str, tuple] = {
    "int": (0, 1, 2, -1),
    "ints": ((1,), (1, 1), (0,), (2, 2)),
    "float": (0.5, 2.0),
    "floats": ((0.5,), (1.0, 2.0)),
    "string": ("other",),
    "strings": (("other",),),
    "tensor": (np.ones(1, np.float32),),
}


def check_order(
    compiled: Sequence[CompiledAlternative], examples: Sequence[Instance], world: World
) -> Iterator[Diagnostic]:
    """Every import of an ONNX operator that more than one alternative claims."""
    groups: dict[tuple[str, str, int], list[CompiledAlternative]] = {}
    for each in compiled:
        if each.importing is not None:
            groups.setdefault((each.anchor.domain, each.anchor.operator, len(each.onnx)), []).append(each)
    shown: dict[tuple[str, str, int], list[Instance]] = {}
    for instance in examples:
        last = instance.nodes[-1]
        shown.setdefault((last.domain, last.operator, len(instance.nodes)), []).append(instance)
    for key, group in groups.items():
        if len(group) > 1:
            yield from _group(sorted(group, key=_rank), key, shown.get(key, []), world)


def _rank(each: CompiledAlternative) -> tuple[bool, bool]:
    """The order in which an import tries them: a producer's own first, then preferred rules."""
    return each.alternative.producer is None, each.rule.prefer is None


def _group(
    group: Sequence[CompiledAlternative],
    key: tuple[str, str, int],
    examples: Sequence[Instance],
    world: World,
) -> Iterator[Diagnostic]:
    domain, operator, count = key
    full = f"{domain}::{operator}" if domain else operator
    opsets = _opsets(group, world.versions(full))
    ambiguous: set[tuple[int, int]] = set()
    shadowed: dict[int, tuple[list[int], Instance, CompiledAlternative]] = {}
    for opset in opsets:
        here = [each for each in group if domain or covers(each.alternative, opset)]
        if len(here) < 2:
            continue
        nodes = [replace(instance, versions=opset) for instance in examples]
        if count == 1:
            nodes += _generated(full, opset, here, world)
        takes = {id(each): [mismatch(each, node, world) is None for node in nodes] for each in here}
        for first, second in combinations(here, 2):
            pair = (id(first), id(second))
            if first.rule is second.rule or _rank(first) != _rank(second) or pair in ambiguous:
                continue
            both = [a and b for a, b in zip(takes[id(first)], takes[id(second)], strict=True)]
            if any(both):
                ambiguous.add(pair)
                yield _ambiguity(first, second, nodes[both.index(True)])
        for place, each in enumerate(here):
            earlier = [other for other in here[:place] if _before(other, each)]
            own = takes[id(each)]
            taken = [any(takes[id(other)][n] for other in earlier) for n in range(len(nodes))]
            if any(own) and all(taken[n] for n in range(len(nodes)) if own[n]):
                witness = own.index(True)
                by = next(other for other in earlier if takes[id(other)][witness])
                shadowed.setdefault(id(each), ([], nodes[witness], by))[0].append(opset)
    for each in group:
        if id(each) in shadowed:
            _, node, by = shadowed[id(each)]
            related = (("the alternative that takes it", by.alternative.span),)
            yield diagnostic("shadowed", each.alternative.span, related=related, witness=node.describe())


def _before(other: CompiledAlternative, each: CompiledAlternative) -> bool:
    """Whether ``other``, which stands earlier, is tried before ``each`` for every file that ``each``
    is for."""
    everywhere = other.alternative.producer in (None, each.alternative.producer)
    return everywhere and (other.rule is each.rule or _rank(other) < _rank(each))


def _ambiguity(first: CompiledAlternative, second: CompiledAlternative, node: Instance) -> Diagnostic:
    return diagnostic(
        "ambiguous",
        second.alternative.span,
        related=(("the other alternative", first.alternative.span),),
        rule=second.rule.name,
        other=first.rule.name,
        witness=node.describe(),
    )


def _opsets(group: Sequence[CompiledAlternative], versions: Sequence[Version]) -> list[int]:
    """Where anything changes: both ends of every range, and the first opset of every schema."""
    if not versions:
        return [1]
    oldest, newest = versions[0].first, versions[-1].last
    ends = {version.first for version in versions}
    for each in group:
        first, last = each.alternative.opset
        ends |= {max(first, oldest), min(last or newest, newest)}
    dead = [version for version in versions if version.deprecated]
    return sorted(o for o in ends if oldest <= o and not any(v.first <= o <= v.last for v in dead))


# --- generated nodes ---------------------------------------------------------------------------


def _generated(
    operator: str, opset: int, group: Sequence[CompiledAlternative], world: World
) -> list[Instance]:
    """Nodes of an operator: the plainest, then one part changed at a time, over several ranks."""
    version = next((v for v in world.versions(operator) if v.first <= opset <= v.last), None)
    if version is None:
        return []
    domain, name = schemas.split(operator)
    literals = [value for each in group for value in _literals(each)]
    signature = version.signature
    required = {a.name: _samples(a, literals)[0] for a in signature.attributes if a.required}
    inputs = [port.name for port in signature.inputs if not port.optional]
    optional = [port.name for port in signature.inputs if port.optional]
    outputs = [port.name for port in signature.outputs if not port.optional]
    found = []
    for rank in (1, 2, 4):
        attributes = [required]
        for attribute in signature.attributes:
            attributes += [{**required, attribute.name: value} for value in _samples(attribute, literals)]
        for chosen in attributes:
            found.append(_instance(Application(name, inputs, outputs, chosen, domain), opset, rank))
        for port in optional:
            place = [each.name for each in signature.inputs].index(port)
            present = [
                p.name if p.name == port or not p.optional else "" for p in signature.inputs[: place + 1]
            ]
            found.append(_instance(Application(name, present, outputs, required, domain), opset, rank))
    return found


def _instance(node: Application, opset: int, rank: int) -> Instance:
    tensors = {name: ValueInfo(name, np.dtype(np.float32), (2,) * rank) for name in node.inputs if name}
    return Instance(opset, [node], tensors)


def _samples(attribute: Attribute, literals: Sequence[object]) -> tuple:
    known = _SAMPLES.get(attribute.type, (1,))
    kinds = {"string": str, "int": int, "float": float}
    kind = kinds.get(attribute.type)
    return (*known, *(value for value in literals if kind and type(value) is kind))


def _literals(each: CompiledAlternative) -> Iterator[object]:
    """The literals of an alternative's conditions and defaults: the values that decide."""
    for clause in (*each.rule.clauses, *each.alternative.clauses):
        if isinstance(clause, Require):
            yield from _values(clause.condition)
    side = each.alternative.side
    if isinstance(side, Signature):
        for port in side.attributes:
            if port.default is not None:
                yield from _values(port.default)


def _values(expression: Expression) -> Iterator[object]:
    if isinstance(expression, Literal):
        yield from expression.value if isinstance(expression.value, tuple) else (expression.value,)
    elif isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from _values(argument)
