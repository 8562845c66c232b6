"""What rules are checked against: ONNX's schemas by version, the runtime's operators by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from onnx import defs

from ...runtime.operator import Operator
from ...runtime.signature import Signature
from . import schemas


@dataclass(frozen=True)
class Version:
    """One schema of an ONNX operator, in force from opset ``first`` to ``last``."""

    first: int
    last: int
    signature: Signature
    deprecated: bool


@dataclass(frozen=True)
class World:
    """``newest`` is the last version of the default operator set that rules must cover."""

    operators: Mapping[str, Operator]
    newest: int = schemas.NEWEST

    def singa(self, operator: str) -> Signature | None:
        """The runtime's signature of an operator, or None."""
        found = self.operators.get(operator)
        return found.signature if found else None

    def versions(self, operator: str) -> tuple[Version, ...]:
        """The versions of an operator (``domain::name``), oldest first; none where it is unknown."""
        domain, name = schemas.split(operator)
        return _versions(domain, name, self.newest if not domain else _newest(domain))

    def claimed(self, operator: str, opset: tuple[int, int | None]) -> tuple[Version, ...]:
        """The versions that an opset range touches, cut to it."""
        first, last = opset[0], opset[1] or 10**6
        return tuple(
            Version(max(v.first, first), min(v.last, last), v.signature, v.deprecated)
            for v in self.versions(operator)
            if v.first <= last and first <= v.last
        )


def onnx_names(domain: str) -> frozenset[str]:
    """Every operator of a domain; none where onnx does not know the domain."""
    return frozenset(name for known, name in _history() if known == domain)


@cache
def _history() -> dict[tuple[str, str], tuple[int, ...]]:
    """Each operator's schema versions, oldest first."""
    found: dict[tuple[str, str], list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    return {key: tuple(sorted(versions)) for key, versions in found.items()}


@cache
def _newest(domain: str) -> int:
    """The last version of a domain's operators; 0 where onnx does not know the domain."""
    return max((versions[-1] for (known, _), versions in _history().items() if known == domain), default=0)


@cache
def _versions(domain: str, name: str, newest: int) -> tuple[Version, ...]:
    starts = [first for first in _history().get((domain, name), ()) if first <= newest]
    if not starts:
        return ()
    ends = [first - 1 for first in starts[1:]] + [newest]
    found = []
    for first, last in zip(starts, ends, strict=True):
        schema = schemas.schema(name, first, domain)
        assert schema is not None
        signature = schemas.as_signature(name, domain, first)
        found.append(Version(first, last, signature, schema.deprecated))
    return tuple(found)


def ranges(numbers: list[tuple[int, int]]) -> str:
    """Opset ranges as text, neighbours joined: ``1..6, 9``."""
    joined: list[list[int]] = []
    for first, last in sorted(numbers):
        if joined and first <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in joined)
