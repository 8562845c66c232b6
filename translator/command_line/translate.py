"""Commands about many models: demo, convert, check."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Jobs, Json, ReportFile, Rules, Sources
from .output import finish, note, progress, write_json, write_line, write_table, wrong_usage

if TYPE_CHECKING:
    from ..report import Report


class Target(str, Enum):
    """What to convert to."""

    singa = "singa"
    onnx = "onnx"


def convert(
    sources: Sources,
    output: Annotated[Path, typer.Option("-o", "--output", file_okay=False, help="The folder to write to.")],
    to: Annotated[Target, typer.Option("--to", help="What to make of the models.")] = Target.singa,
    opset: Annotated[int | None, typer.Option(help="ONNX's version to write; else the source's.")] = None,
    rules: Rules = None,
    jobs: Jobs = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip what is converted and unchanged.")] = False,
    report: ReportFile = None,
    json: Json = False,
) -> None:
    """Convert models and whole directories of them, their structure kept.

    One that cannot be converted is reported and stops no other; no partial file is left.

    Example: sonnx convert models/ -o converted/ --jobs 4 --resume --report report.html
    """
    from ..convert import Settings, convert_all, plan_jobs
    from ..report import Report
    from ..rulebook import load_rulebook

    _check_report(report)
    folders = tuple(str(folder) for folder in rules or ())
    load_rulebook(folders)
    settings = Settings(to.value, opset, folders)
    work, clashes = plan_jobs(sources, output, settings, resume)
    if not work and not clashes:
        wrong_usage("there is no model to convert in " + ", ".join(map(str, sources)))
    result = Report("convert", {"to": to.value, "opset": opset, "output": str(output)}, list(clashes))
    with progress(len(work)) as bar:
        for entry in convert_all(work, output, jobs or os.cpu_count() or 1):
            result.entries.append(entry)
            bar.advance(entry.file)
    _finish(result, report, json)


def _check_report(report: Path | None) -> None:
    if report is not None and report.suffix not in (".html", ".json"):
        wrong_usage(f"--report {report}: it ends in .html or in .json")


def _finish(result: Report, report: Path | None, json: bool) -> None:
    """Show the entries, write the report, end with the exit code."""
    result.entries.sort(key=lambda entry: entry.file)
    if report:
        result.write(report)
    if json:
        write_json(result.document())
        finish(result.good)
    rows = [
        (entry.file, entry.status, f"{entry.seconds:.2f}", _remark(entry.target, entry.message))
        for entry in result.entries
    ]
    write_table(("model", "result", "seconds>", ""), rows)
    for entry in result.entries:
        if entry.status == "failed" and "\n" in entry.message:
            write_line(f"\n{entry.file}:\n{entry.message}")
    write_line(", ".join(f"{count} {status}" for status, count in result.counts().items()))
    if report:
        note(f"report: {report}")
    finish(result.good)


def _remark(target: str, message: str) -> str:
    return message.splitlines()[0] if message else target
