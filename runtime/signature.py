"""What an operator takes and gives, read from one line: ``"Clip(x; min: number?, max: number?) -> y"``.

Inputs come first (``x``, optional ``b?``, variadic ``xs...``), attributes after ``;`` with their
type and default, outputs after ``->``.  The rule checker, the planner, the documentation and the
Python interface all read the same signature.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

ATTRIBUTE_TYPES = frozenset(
    {
        "int",
        "ints",
        "float",
        "floats",
        "string",
        "strings",
        "number",
        "bool",
        "dtype",
        "tensor",
        "graph",
        "any",
    }
)
"""``number``: a Python int or float in the data's own type; ``dtype``: a numpy dtype;
``tensor``: a numpy array of any shape."""

_PORT = re.compile(r"(?P<name>\w+)(?P<mark>\?|\.\.\.)?$")
_ATTRIBUTE = re.compile(r"(?P<name>\w+)\s*:\s*(?P<type>\w+)(?P<optional>\?)?(?:\s*=\s*(?P<default>.+))?$")
_WHOLE = re.compile(
    r"(?P<name>\w+)\((?P<inputs>[^;)]*)(?:;(?P<attributes>.*))?\)\s*->\s*(?P<outputs>.+)$", re.S
)


@dataclass(frozen=True)
class Input:
    """One input: ``optional`` may be absent; ``variadic`` (only the last) stands for any number."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class Attribute:
    """One attribute; ``required`` where it has no default and is not optional."""

    name: str
    type: str
    optional: bool = False
    default: Any = None

    @property
    def required(self) -> bool:
        return not self.optional and self.default is None


@dataclass(frozen=True)
class Signature:
    """An operator's name, inputs, attributes and outputs (outputs use Input's marks)."""

    name: str
    inputs: tuple[Input, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Input, ...]

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, or None."""
        return next((a for a in self.attributes if a.name == name), None)


def parse_signature(text: str) -> Signature:
    """Read a signature line; raises ValueError where it is malformed."""
    match = _WHOLE.match(" ".join(text.split()))
    if not match:
        raise ValueError(f"not a signature: {text!r}")
    return Signature(
        match["name"],
        tuple(_port(part) for part in _split(match["inputs"])),
        tuple(_attribute(part) for part in _split(match["attributes"] or "")),
        tuple(_port(part) for part in _split(match["outputs"])),
    )


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts = re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|'[^']*'|[^,])+", text)
    return [part.strip() for part in parts if part.strip()]


def _port(text: str) -> Input:
    match = _PORT.match(text)
    if not match:
        raise ValueError(f"not an input or output: {text!r}")
    return Input(match["name"], match["mark"] == "?", match["mark"] == "...")


def _attribute(text: str) -> Attribute:
    match = _ATTRIBUTE.match(text)
    if not match or match["type"] not in ATTRIBUTE_TYPES:
        raise ValueError(f"not an attribute: {text!r}")
    default = ast.literal_eval(match["default"]) if match["default"] else None
    return Attribute(match["name"], match["type"], bool(match["optional"]), default)
