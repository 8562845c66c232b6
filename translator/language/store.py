"""Parsed files kept in the user's cache by their content, so that start-up does not parse.

An entry is JSON: it can hold syntax nodes and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import platformdirs

from . import syntax
from .syntax import RuleFile, Span

_NODES: tuple[type, ...] = (
    syntax.Name,
    syntax.Literal,
    syntax.Apply,
    syntax.Port,
    syntax.AttributePort,
    syntax.Signature,
    syntax.Step,
    syntax.Block,
    syntax.Subgraph,
    syntax.Binding,
    syntax.Require,
    syntax.Ignore,
    syntax.Alternative,
    syntax.Rule,
    syntax.Given,
    syntax.Example,
)
_SPAN, _TUPLE = len(_NODES), len(_NODES) + 1
_NUMBERS = {node: number for number, node in enumerate(_NODES)}
_FIELDS = [tuple(field.name for field in fields(node)) for node in _NODES]


def kept(text: str, path: str, examples: bool = True) -> RuleFile:
    """``parser.parse`` by way of the cache.  Raises RuleSyntaxError."""
    entry = _folder() / f"{_key(text, examples)}.json"
    try:
        items = _decode(json.loads(entry.read_bytes()), path)
        rules, shown = items
        return RuleFile(path, text, rules, shown)
    except (OSError, ValueError, TypeError, IndexError):
        from .parser import parse  # only a miss pays for loading Lark

        parsed = parse(text, path, examples)
        _keep(entry, json.dumps(_encode((parsed.rules, parsed.examples)), separators=(",", ":")))
        return parsed


def _encode(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_TUPLE, *map(_encode, value)]
    if isinstance(value, Span):
        return [_SPAN, value.line, value.column, value.end_line, value.end_column]
    number = _NUMBERS.get(type(value))
    if number is None:
        return value
    return [number, *(_encode(getattr(value, name)) for name in _FIELDS[number])]


def _decode(value: Any, path: str) -> Any:
    if type(value) is not list:
        return value
    kind = value[0]
    if kind == _SPAN:
        _, line, column, end_line, end_column = value
        return Span(path, line, column, end_line, end_column)
    parts = [_decode(part, path) for part in value[1:]]
    return tuple(parts) if kind == _TUPLE else _NODES[kind](*parts)


@cache
def _folder() -> Path:
    return Path(os.environ.get("SONNX_CACHE_DIR") or platformdirs.user_cache_path("sonnx")) / "rules"


@cache
def _version() -> bytes:
    """Changes with the language itself, so that no entry outlives the code that wrote it."""
    package = files("sonnx.translator.language")
    names = ("grammar.lark", "source.py", "parser.py", "syntax.py", "store.py")
    return hashlib.sha256(b"\0".join((package / name).read_bytes() for name in names)).digest()


def _key(text: str, examples: bool) -> str:
    return hashlib.sha256(b"\0".join((_version(), bytes([examples]), text.encode()))).hexdigest()


def _keep(entry: Path, content: str) -> None:
    """Write an entry aside and rename it; a cache that cannot be written is none."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=entry.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(aside, entry)
    except OSError:
        return
