"""Each rule by itself against ONNX's schemas, in every version it claims, and the runtime's signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import defs

from . import schemas
from .checker_sides import Finding, bare_findings, signature_findings, step_findings
from .checker_world import Version, World, onnx_names, ranges
from .errors import Diagnostic, diagnostic, near
from .syntax import Alternative, Binding, Block, Ignore, Rule, Side, Signature, Step


def check_operators(rule: Rule, world: World) -> Iterator[Diagnostic]:
    """Both sides of every alternative, and what the rule's kind promises."""
    yield from _singa_side(rule.side, world)
    for alternative in rule.alternatives:
        yield from _onnx_side(rule, alternative, world)
        if alternative.arrow != "<->" and alternative.reason is None:
            yield diagnostic("reason-missing", alternative.span, expected='"why" after the side')
        if alternative.producer is not None and alternative.arrow != "<-":
            yield diagnostic("producer-only", alternative.span)
    yield from _kind(rule, world)


# --- SINGA -------------------------------------------------------------------------------------


def _singa_side(side: Side, world: World) -> Iterator[Diagnostic]:
    parts = side.steps if isinstance(side, Block) else (side,)
    for part in parts:
        facts = world.singa(part.operator)
        if facts is None:
            unknown = unknown_operator(part, world, False)
            assert unknown is not None
            yield unknown
            continue
        if isinstance(part, Step):
            found = step_findings(part, facts)
        elif part.inputs is None:
            continue
        else:
            found = signature_findings(part, facts, False, frozenset())
        yield from existing(part, [(finding, None) for finding in found])


# --- ONNX --------------------------------------------------------------------------------------


def _onnx_side(rule: Rule, alternative: Alternative, world: World) -> Iterator[Diagnostic]:
    side = alternative.side
    clauses = rule.clauses + alternative.clauses
    ignores = [clause for clause in clauses if isinstance(clause, Ignore)]
    for part in side.steps if isinstance(side, Block) else (side,):
        unknown = unknown_operator(part, world, True)
        if unknown:
            yield unknown
            continue
        versions = world.claimed(part.operator, alternative.opset)
        yield from _existence(part, alternative, world)
        live = [version for version in versions if not version.deprecated]
        findings = [
            (finding, version) for version in live for finding in _part(rule, part, version, ignores, world)
        ]
        yield from existing(part, findings)
    yield from _ignores(alternative, ignores, world)


def unknown_operator(part: Signature | Step, world: World, onnx: bool) -> Diagnostic | None:
    """The error for an operator that the runtime does not have, or that onnx does not know in a
    domain that it knows."""
    if not onnx:
        if part.operator in world.operators:
            return None
        hint = near(part.operator, world.operators)
        return diagnostic("unknown-singa-operator", part.span, hint=hint, operator=part.operator)
    domain, name = schemas.split(part.operator)
    names = onnx_names(domain)
    if name in names or (domain and not names):
        return None
    return diagnostic("unknown-onnx-operator", part.span, hint=near(name, names), operator=part.operator)


def _existence(part: Signature | Step, alternative: Alternative, world: World) -> Iterator[Diagnostic]:
    """Claimed versions in which the operator is not there yet, or no more."""
    versions = world.versions(part.operator)
    if not versions:
        return
    first, last = alternative.opset
    start = versions[0].first
    explicit = first > 1 or last is not None
    if explicit and first < start:
        claimed = ranges([(first, min(last or start - 1, start - 1))])
        expected = f"opset {start}.. or later"
        yield diagnostic(
            "no-such-version", part.span, expected=expected, operator=part.operator, range=claimed
        )
    gone = [v for v in world.claimed(part.operator, alternative.opset) if v.deprecated]
    if gone:
        claimed = ranges([(v.first, v.last) for v in gone])
        yield diagnostic("deprecated", part.span, operator=part.operator, range=claimed)


def _part(
    rule: Rule, part: Signature | Step, version: Version, ignores: Iterable[Ignore], world: World
) -> Iterator[Finding]:
    facts = version.signature
    if isinstance(part, Step):
        return step_findings(part, facts)
    other = rule.side
    ignored = frozenset(ignore.name for ignore in ignores)
    if isinstance(other, Signature) and (part.inputs is None) != (other.inputs is None):
        bare = part if part.inputs is None else other
        return iter([Finding("bare-side", bare.span, (("operator", bare.operator),))])
    if part.inputs is None:
        singa = world.singa(rule.name)
        return bare_findings(part, rule.name, facts, singa, ignored) if singa else iter(())
    return signature_findings(part, facts, True, ignored)


def existing(
    part: Signature | Step, findings: Iterable[tuple[Finding, Version | None]]
) -> Iterator[Diagnostic]:
    """Findings about an operator that exists, with the versions in which each is one (None: the
    runtime's operator)."""
    groups: dict[Finding, list[tuple[int, int]]] = {}
    for finding, version in findings:
        groups.setdefault(finding, []).extend([(version.first, version.last)] if version else [])
    for finding, versions in groups.items():
        owner = f"{part.operator} at opset {ranges(versions)}" if versions else f"SINGA's {part.operator}"
        yield _named(finding, owner)


def _named(finding: Finding, owner: str) -> Diagnostic:
    parts = {"owner": owner, **dict(finding.parts)}
    return diagnostic(finding.code, finding.span, expected=finding.expected, hint=finding.hint, **parts)


def _ignores(alternative: Alternative, ignores: Iterable[Ignore], world: World) -> Iterator[Diagnostic]:
    """An ignored name must be something of the ONNX side in at least one version."""
    parts = alternative.side.steps if isinstance(alternative.side, Block) else (alternative.side,)
    names: set[str] = set()
    for part in parts:
        for version in world.claimed(part.operator, alternative.opset):
            names.update(attribute.name for attribute in version.signature.attributes)
            names.update(output.name for output in version.signature.outputs)
    for ignore in ignores:
        if ignore.name not in names and names:
            first, last = alternative.opset
            claimed = ranges([(first, last or world.newest)])
            yield diagnostic(
                "unknown-ignore",
                ignore.span,
                hint=near(ignore.name, names),
                operator=parts[-1].operator,
                name=ignore.name,
                range=claimed,
            )


# --- kinds -------------------------------------------------------------------------------------

_CONTRACTS = {
    "renamed": "has the same inputs, attributes and defaults on both sides, and no `where`",
    "unhandled": "has a `const`, `param` or `state` input, or an attribute that is an input in ONNX",
    "bool": "has an ONNX result that no version declares as a floating-point type",
    "composed": "has a block on one side",
}


def _kind(rule: Rule, world: World) -> Iterator[Diagnostic]:
    keeps = {
        "renamed": _only_names,
        "unhandled": _input_for_attribute,
        "bool": _no_float_result,
        "composed": _has_block,
    }.get(rule.kind)
    if keeps and not keeps(rule):
        yield diagnostic("kind-mismatch", rule.span, kind=rule.kind, contract=_CONTRACTS[rule.kind])


def _only_names(rule: Rule) -> bool:
    clauses = rule.clauses + tuple(c for alternative in rule.alternatives for c in alternative.clauses)
    return not any(isinstance(clause, Binding) for clause in clauses) and not _has_block(rule)


def _input_for_attribute(rule: Rule) -> bool:
    sides = [rule.side, *(alternative.side for alternative in rule.alternatives)]
    if any(isinstance(side, Block) for side in sides):
        return True
    return any(
        port.role != "input" for side in sides if isinstance(side, Signature) for port in side.inputs or ()
    )


def _no_float_result(rule: Rule) -> bool:
    for alternative in rule.alternatives:
        if isinstance(alternative.side, Signature):
            domain, name = schemas.split(alternative.side.operator)
            found = schemas.schema(name, alternative.opset[1] or schemas.NEWEST, domain)
            if found and any("float" in text for text in _result_types(found)):
                return False
    return True


def _result_types(schema: defs.OpSchema) -> set[str]:
    """The types that the first output may have."""
    result = schema.outputs[0].type_str
    for constraint in schema.type_constraints:
        if constraint.type_param_str == result:
            return set(constraint.allowed_type_strs)
    return {result}


def _has_block(rule: Rule) -> bool:
    return any(isinstance(side, Block) for side in (rule.side, *(a.side for a in rule.alternatives)))
