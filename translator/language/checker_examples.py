"""Examples: well-formed, matched by a rule, and together showing every part of every alternative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from .checker_bindings import occurrences
from .checker_instances import Instance, is_dtype, mismatch, non_default, of_example
from .checker_operators import existing, unknown_operator
from .checker_sides import step_findings
from .checker_world import World, ranges
from .compile import CompiledAlternative
from .errors import Diagnostic, diagnostic, near
from .lowering import constant_value
from .patterns import Application
from .syntax import Apply, Binding, Example, Expression, Literal, Name, Require, Signature, Step, Subgraph
from .values import Mismatch, same


@dataclass
class Coverage:
    """What the examples of one alternative showed: nodes of both sides."""

    onnx: list[Instance] = field(default_factory=list)
    singa: list[Instance] = field(default_factory=list)


def opsets_of(example: Example, world: World) -> list[int]:
    """Both ends of an example's range as far as its operators exist, and every schema's first."""
    first, last = example.opset[0], min(example.opset[1] or world.newest, world.newest)
    starts: set[int] = set()
    for step in example.onnx:
        versions = [version for version in world.versions(step.operator) if not version.deprecated]
        if versions:
            first, last = max(first, versions[0].first), min(last, versions[-1].last)
            starts.update(version.first for version in versions)
    return (
        sorted({first, last} | {opset for opset in starts if first <= opset <= last}) if first <= last else []
    )


def check_example(example: Example, world: World) -> Iterator[Diagnostic]:
    """One example by itself: its operators, names and types."""
    used: set[str] = set()
    for given in example.given:
        if given.dtype != "string" and not is_dtype(given.dtype):
            yield diagnostic("unknown-dtype", given.span, dtype=given.dtype)
    for steps, onnx in ((example.onnx, True), (example.singa, False)):
        known = {given.name for given in example.given}
        for step in steps:
            yield from _step(step, example, world, onnx)
            for name in _read(step):
                used.add(name.name)
                if name.name not in known:
                    yield diagnostic("example-name", name.span, hint=near(name.name, known), name=name.name)
            known.update(step.outputs)
    for given in example.given:
        if given.name not in used:
            yield diagnostic("example-unused", given.span, hint=near(given.name, used), name=given.name)
    results = [_results(steps) for steps in (example.onnx, example.singa)]
    if results[0] != results[1]:
        texts = [", ".join(sorted(names)) or "none" for names in results]
        yield diagnostic("example-outputs", example.span, onnx=texts[0], singa=texts[1])


def _step(step: Step, example: Example, world: World, onnx: bool) -> Iterator[Diagnostic]:
    unknown = unknown_operator(step, world, onnx)
    if unknown:
        yield unknown
        return
    if not onnx:
        signature = world.singa(step.operator)
        assert signature is not None
        yield from existing(step, [(finding, None) for finding in step_findings(step, signature)])
        return
    versions = [v for v in world.claimed(step.operator, example.opset) if not v.deprecated]
    if world.versions(step.operator) and not versions:
        claimed = ranges([(example.opset[0], example.opset[1] or world.newest)])
        yield diagnostic("no-such-version", step.span, operator=step.operator, range=claimed)
    found = [(finding, version) for version in versions for finding in step_findings(step, version.signature)]
    yield from existing(step, found)


def _read(step: Step) -> Iterator[Name]:
    """The names that a step reads, those included that its graphs read from around them."""
    for value in (*step.arguments, *(value for _, value in step.attributes)):
        if isinstance(value, Literal) and isinstance(value.value, Subgraph):
            own = set(value.value.inputs)
            for inner in value.value.steps:
                yield from (name for name in _read(inner) if name.name not in own)
                own.update(inner.outputs)
        elif value is not None:
            yield from occurrences(value)


def _results(steps: Sequence[Step]) -> set[str]:
    """The outputs that no later step reads."""
    read = {name.name for step in steps for name in _read(step)}
    return {name for step in steps for name in step.outputs if name} - read


# --- which alternative an example shows --------------------------------------------------------


def check_matches(
    examples: Sequence[Example], compiled: Sequence[CompiledAlternative], world: World
) -> Iterator[Diagnostic | tuple[int, Coverage]]:
    """Errors of examples that match nothing; then each alternative's coverage, by its id."""
    coverage: dict[int, Coverage] = {id(each): Coverage() for each in compiled}
    importing: dict[str, list[CompiledAlternative]] = {}
    exporting: dict[str, list[CompiledAlternative]] = {}
    for each in sorted(compiled, key=lambda c: (c.alternative.producer is None, c.rule.prefer is None)):
        if each.importing is not None:
            importing.setdefault(each.anchor.operator, []).append(each)
        if each.exporting is not None:
            exporting.setdefault(each.singa[-1].operator, []).append(each)
    for example in examples:
        index, onnx = (exporting, False) if example.arrow == "->" else (importing, True)
        reasons: dict[str, list[tuple[int, int]]] = {}
        for opset in opsets_of(example, world):
            reason = _match(example, opset, index, onnx, world, coverage)
            if reason:
                reasons.setdefault(reason, []).append((opset, opset))
        for reason, opsets in reasons.items():
            verb = "imports" if onnx else "exports"
            yield diagnostic(
                "example-unmatched", example.span, verb=verb, range=ranges(opsets), reason=reason
            )
    yield from coverage.items()


def _match(
    example: Example,
    opset: int,
    index: dict[str, list[CompiledAlternative]],
    onnx: bool,
    world: World,
    coverage: dict[int, Coverage],
) -> str | None:
    """Note which alternatives take an example; the reason why none does, or None."""
    try:
        sides = [of_example(example, opset, world, True), of_example(example, opset, world, False)]
    except (Mismatch, ValueError, OverflowError, TypeError):
        return None
    whole = sides[0 if onnx else 1]
    reasons: list[str] = []
    for instance in (whole, *_singles(whole)):
        found = _first(instance, index, onnx, example.producer, world, reasons)
        if found is None:
            continue
        coverage[id(found)].onnx.append(instance if onnx else sides[0])
        coverage[id(found)].singa.append(sides[1])
        if instance is whole:
            return None
        reasons.clear()
    return reasons[0] if reasons else None


def _singles(whole: Instance) -> list[Instance]:
    """Each node by itself, where there are several."""
    if len(whole.nodes) == 1:
        return []
    return [Instance(whole.versions, [node], whole.tensors, whole.constants) for node in whole.nodes]


def _first(
    instance: Instance,
    index: dict[str, list[CompiledAlternative]],
    onnx: bool,
    producer: str | None,
    world: World,
    reasons: list[str],
) -> CompiledAlternative | None:
    """The alternative that takes nodes, as an import or an export would choose it."""
    candidates = index.get(instance.nodes[-1].operator, [])
    for each in candidates:
        pattern = each.onnx if onnx else each.singa
        fits = each.anchor.domain or each.covers(instance.versions)
        if (
            len(pattern) != len(instance.nodes)
            or not fits
            or each.alternative.producer not in (None, producer)
        ):
            continue
        reason = mismatch(each, instance, world, onnx)
        if reason is None:
            return each
        reasons.append(f"{each.describe()}: {reason}")
    if not reasons:
        reasons.append(f"no alternative for {instance.nodes[-1].operator}")
    return None


# --- coverage ----------------------------------------------------------------------------------


def check_coverage(compiled: CompiledAlternative, shown: Coverage, world: World) -> Iterator[Diagnostic]:
    """Whether examples show an alternative, each attribute set, and each optional input both ways."""
    alternative = compiled.alternative
    if not shown.onnx:
        yield diagnostic("no-example", alternative.span)
        return
    fixed = _fixed(compiled)
    side, other = alternative.side, compiled.rule.side
    mapped: set[str] = set()
    if isinstance(side, Signature) and side.inputs is not None:
        yield from _attributes(side, shown.onnx, fixed, compiled)
        yield from _optional(side, shown.onnx, fixed)
        yield from _told_apart(side, shown.onnx, fixed)
        mapped = {port.name for port in side.inputs} | {port.variable for port in side.attributes}
    if isinstance(other, Signature) and other.inputs is not None:
        yield from _attributes(other, shown.singa, fixed | mapped, compiled, world)


def _attributes(
    side: Signature,
    instances: Iterable[Instance],
    fixed: set[str],
    compiled: CompiledAlternative,
    world: World | None = None,
) -> Iterator[Diagnostic]:
    """Each attribute at another value than its default; with ``world``, those of the SINGA side."""
    nodes = [node for instance in instances for node in instance.nodes if node.operator == _base(side)]
    signature = world.singa(side.operator) if world else None
    for port in side.attributes:
        default = constant_value(port.default)
        if default is None and signature is not None:
            found = signature.attribute(port.name)
            default = found.default if found else None
            default = tuple(default) if isinstance(default, list) else default
        if port.variable in fixed or any(non_default(node.attributes, port.name, default) for node in nodes):
            continue
        span = compiled.alternative.span if world else port.span
        yield diagnostic("attribute-not-exercised", span, name=port.name)


def _optional(side: Signature, instances: Iterable[Instance], fixed: set[str]) -> Iterator[Diagnostic]:
    nodes = [node for instance in instances for node in instance.nodes if node.operator == _base(side)]
    for place, port in enumerate(side.inputs or ()):
        if not (port.optional or port.default is not None) or port.name in fixed:
            continue
        present = [place < len(node.inputs) and bool(node.inputs[place]) for node in nodes]
        if not any(present):
            yield diagnostic("input-not-exercised", port.span, name=port.name, state="present")
        elif all(present):
            yield diagnostic("input-not-exercised", port.span, name=port.name, state="absent")


def _told_apart(side: Signature, instances: Iterable[Instance], fixed: set[str]) -> Iterator[Diagnostic]:
    """Attributes (and inputs that are attributes in SINGA) that some example gives unlike values."""
    rows = [
        _values(side, node, instance)
        for instance in instances
        for node in instance.nodes
        if node.operator == _base(side)
    ]
    ports = [port for port in (*(side.inputs or ()), *side.attributes)]
    spans = {port.name: port.span for port in ports}
    free = [name for name in rows[0] if name not in fixed] if rows else []
    for one, other in combinations(free, 2):
        if all(same(row[one], row[other]) for row in rows):
            yield diagnostic("not-told-apart", spans[other], name=other, other=one)


def _values(side: Signature, node: Application, instance: Instance) -> dict[str, object]:
    """The value of each attribute of a node, defaults filled in."""
    values: dict[str, object] = {}
    for place, port in enumerate(side.inputs or ()):
        if port.role == "const":
            name = node.inputs[place] if place < len(node.inputs) else ""
            array = instance.constants.get(name)
            values[port.name] = name or None if array is None else _plain(array)
    for attribute in side.attributes:
        given = node.attributes.get(attribute.name)
        values[attribute.name] = constant_value(attribute.default) if given is None else given
    return values


def _plain(array: np.ndarray) -> object:
    return tuple(array.reshape(-1).tolist()) if array.ndim else array.item()


def _base(side: Signature) -> str:
    return side.operator.rpartition("::")[2]


def _fixed(compiled: CompiledAlternative) -> set[str]:
    """Variables that a literal binding or a condition holds to one value, so that no example can
    show another."""
    fixed: set[str] = set()
    for clause in (*compiled.rule.clauses, *compiled.alternative.clauses):
        if isinstance(clause, Binding) and isinstance(clause.value, Literal):
            fixed.update(clause.targets)
        elif isinstance(clause, Require):
            fixed |= _held(clause.condition)
    return fixed


def _held(condition: Expression) -> set[str]:
    """Names compared for equality with a literal, or (inputs) with ``none``, in a conjunction."""
    if not isinstance(condition, Apply):
        return set()
    if condition.function == "and":
        return set().union(*map(_held, condition.arguments))
    if condition.function in ("==", "!="):
        left, right = condition.arguments
        if isinstance(left, Name) and isinstance(right, Literal):
            return {left.name} if condition.function == "==" or right.value is None else set()
    return set()
