"""Where a command writes: results on stdout, as tables or as JSON; progress on stderr, on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes: all good; some model failed; wrong usage (click's own code for it)."""

STATUS_STYLES = {"ok": "green", "failed": "red", "skipped": "yellow"}


def stdout() -> Console:
    """The console for results; as wide as it needs to be where it is no terminal."""
    from rich.console import Console

    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def write_json(document: Any) -> None:
    """One JSON document on stdout."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table on stdout: columns whose name ends in ``>`` are numbers, set to the right.

    Off a terminal it is plain text, one line a row, tabs between the cells.
    """
    names = [column.rstrip(">") for column in columns]
    if not sys.stdout.isatty():
        if title:
            print(title)
        for row in (names, *rows):
            print("\t".join(str(cell) for cell in row))
        return
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column, name in zip(columns, names, strict=True):
        table.add_column(name, justify="right" if column.endswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    stdout().print(table)


def _cell(cell: object) -> str:
    from rich.markup import escape

    text = str(cell)
    style = STATUS_STYLES.get(text)
    return f"[{style}]{text}[/{style}]" if style else escape(text)


def write_line(text: str = "") -> None:
    """A line of the result."""
    print(text)


def note(text: str) -> None:
    """A remark that is no result, on stderr."""
    print(text, file=sys.stderr)


def wrong_usage(message: str) -> NoReturn:
    """End with exit code 2 and a message as click gives them."""
    note(f"sonnx: {message}")
    raise typer.Exit(USAGE)


def finish(good: bool) -> NoReturn:
    """End with the exit code for the result."""
    raise typer.Exit(OK if good else FAILED)


class Bar:
    """A progress bar, or nothing where stderr is no terminal."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total) if progress else None

    def advance(self, text: str = "") -> None:
        """One more is done; ``text`` says which."""
        if self._progress and self._task is not None:
            self._progress.update(self._task, advance=1, description=text)


@contextmanager
def progress(total: int, quiet: bool = False) -> Iterator[Bar]:
    """A bar for ``total`` items while the block runs."""
    if quiet or not sys.stderr.isatty():
        yield Bar(None, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=stderr(), transient=True) as shown:
        yield Bar(shown, total)
