"""What can be wrong with rules: a closed list of kinds, and how an error is shown.

Every kind is a row of ``KINDS``: its code, its message (a format string) and what it means.
docs/language.md lists them from here, and tests/language/fail has a file for each.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import RuleError
from .kinds import KINDS
from .syntax import Span


@dataclass(frozen=True)
class Diagnostic:
    """One error: ``code`` is a key of ``KINDS``; ``span`` is where it is.

    ``expected`` says what would be right, ``hint`` which near name exists or what to write;
    ``related`` are other places that it is about (the other of two rules), each with what it is.
    """

    code: str
    message: str
    span: Span
    expected: str = ""
    hint: str = ""
    related: tuple[tuple[str, Span], ...] = ()

    def render(self, texts: Mapping[str, str]) -> str:
        """The message with each place's line and a caret; ``texts`` are the files by path."""
        parts = [f"{self.span}: {self.code}: {self.message}", *_excerpt(self.span, texts)]
        if self.expected:
            parts.append(f"  expected {self.expected}")
        if self.hint:
            parts.append(f"  {self.hint}")
        for what, span in self.related:
            parts += [f"  {span}: {what}", *_excerpt(span, texts)]
        return "\n".join(parts)


def diagnostic(
    code: str,
    span: Span,
    *,
    expected: str = "",
    hint: str = "",
    related: tuple[tuple[str, Span], ...] = (),
    **parts: object,
) -> Diagnostic:
    """An error of a kind of ``KINDS``; ``parts`` fill in its message."""
    return Diagnostic(code, KINDS[code].message.format(**parts), span, expected, hint, related)


def near(name: str, known: Iterable[str]) -> str:
    """``did you mean 'axes'?`` where a known name is near, else nothing."""
    candidates = sorted(set(known))
    found = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    if not found:
        lower = {candidate.lower(): candidate for candidate in candidates}
        found = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)]
    return f"did you mean {found[0]!r}?" if found else ""


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Names in a message: ``'a', 'b' or 'c'``."""
    quoted = [repr(name) for name in names]
    if len(quoted) > limit:
        return ", ".join(quoted[:limit]) + f" and {len(quoted) - limit} more"
    return (
        " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted) or "nothing"
    )


def counted(number: int, what: str) -> str:
    """``1 input``, ``2 inputs``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _excerpt(span: Span, texts: Mapping[str, str]) -> list[str]:
    """The line of a span with carets under the part it covers (of its first line)."""
    lines = texts.get(span.file, "").split("\n")
    if not any(lines) or not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1].replace("\t", " ")
    end = span.end_column if span.end_line == span.line else len(line.rstrip()) + 1
    caret = " " * (span.column - 1) + "^" * max(end - span.column, 1)
    return [f"    {line}".rstrip(), f"    {caret}"]


class RuleSyntaxError(RuleError):
    """Text that is not of the rule language; ``diagnostics`` are all errors found in it."""

    def __init__(self, diagnostics: Sequence[Diagnostic], text: str) -> None:
        self.diagnostics = tuple(diagnostics)
        self.text = text
        texts = {each.span.file: text for each in diagnostics}
        super().__init__("\n".join(each.render(texts) for each in diagnostics))

    def __reduce__(self) -> tuple:
        return RuleSyntaxError, (self.diagnostics, self.text)
