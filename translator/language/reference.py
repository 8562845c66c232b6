"""The parts of docs/language.md that the code knows: lenses, condition functions, errors.

``python -m sonnx.translator.language.reference docs/language.md`` writes them into the file.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .conditions import TENSOR_CONDITIONS, VALUE_CONDITIONS
from .kinds import KINDS
from .lenses import LENSES

_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)


def render(document: str) -> str:
    """The document with its generated sections written anew; raises KeyError for an unknown one."""
    return _SECTION.sub(lambda match: match[1] + _SECTIONS[match[2]]() + match[3], document)


def _lenses() -> str:
    rows = ((f"`{name}`", _text(lens.documentation)) for name, lens in sorted(LENSES.items()))
    return _table(("lens", "get computes the left from the right, put the right from the left"), rows)


def _conditions() -> str:
    functions = {**TENSOR_CONDITIONS, **VALUE_CONDITIONS}
    return _table(("function", "gives"), (_function(f) for _, f in sorted(functions.items())))


def _function(function: Callable[..., Any]) -> tuple[str, str]:
    call, _, meaning = _text(inspect.getdoc(function) or "").partition(": ")
    return call.replace("``", "`"), meaning


def _errors() -> str:
    rows = ((f"`{code}`", _PART.sub(_part, kind.message), kind.meaning) for code, kind in KINDS.items())
    return _table(("kind", "message", "meaning"), rows)


_PART = re.compile(r"\{(\w+)(!r)?\}")


def _part(match: re.Match[str]) -> str:
    """What a message is filled in with, in capitals."""
    return f"'{match[1].upper()}'" if match[2] else match[1].upper()


_SECTIONS = {"lenses": _lenses, "conditions": _conditions, "errors": _errors}


def _text(documentation: str) -> str:
    """A docstring as one line of Markdown."""
    return " ".join(documentation.split()).replace("``", "`")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines)


def main(path: str) -> None:
    """Rewrite the generated sections of a file."""
    file = Path(path)
    file.write_text(render(file.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
