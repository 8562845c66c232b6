"""Commands about many models: demo, convert, check."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    AbsoluteTolerance,
    Device,
    Dimensions,
    InputFiles,
    Jobs,
    Json,
    Opset,
    RelativeTolerance,
    ReportFile,
    Rules,
    Seed,
    Sources,
)
from .output import finish, note, progress, write_json, write_line, write_table, wrong_usage

if TYPE_CHECKING:
    from ..report import Entry, Report
    from ..verify import Job


class Target(str, Enum):
    """What to convert to."""

    singa = "singa"
    onnx = "onnx"


def convert(
    sources: Sources,
    output: Annotated[Path, typer.Option("-o", "--output", file_okay=False, help="The folder to write to.")],
    to: Annotated[Target, typer.Option("--to", help="What to make of the models.")] = Target.singa,
    opset: Opset = None,
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


class Against(str, Enum):
    """What to compare with."""

    onnxruntime = "onnxruntime"
    reference = "reference"


def check(
    sources: Sources,
    against: Annotated[
        Against | None, typer.Option(help="What to compare with; else the first that can run the model.")
    ] = None,
    rtol: RelativeTolerance = None,
    atol: AbsoluteTolerance = None,
    seed: Seed = 0,
    inputs: InputFiles = None,
    dimensions: Dimensions = None,
    opset: Opset = None,
    rules: Rules = None,
    device: Device = None,
    jobs: Jobs = None,
    report: ReportFile = None,
    json: Json = False,
) -> None:
    """Take models to SINGA and back, run both on OpenCL, compare with an independent reference.

    Inputs are random and fit the model's types, shapes and value ranges. Of a model that fails, the
    first node that differs is named.

    Example: sonnx check models/ --against onnxruntime --report report.html
    """
    _check_report(report)
    from ..comparison import Tolerance
    from ..files import ONNX, SINGA, find_models
    from ..rulebook import load_rulebook
    from ..verify import Job, Settings
    from .inputs import read_inputs, read_sizes

    folders = tuple(str(folder) for folder in rules or ())
    load_rulebook(folders)
    settings = Settings(
        device=_usable(device),
        against=against.value if against else None,
        tolerance=Tolerance(rtol, atol),
        seed=seed,
        opset=opset,
        rules=folders,
        sizes=read_sizes(dimensions or ()),
        inputs=read_inputs(inputs or ()),
    )
    work = [Job(found.path, settings) for found in find_models(sources, (ONNX, SINGA))]
    if not work:
        wrong_usage("there is no model to check in " + ", ".join(map(str, sources)))
    options = {"against": settings.against, "rtol": rtol, "atol": atol, "seed": seed, "opset": opset}
    _check_all("check", options, work, jobs or 1, report, json)


def demo(
    device: Device = None,
    jobs: Jobs = None,
    report: Annotated[
        Path,
        typer.Option("--report", metavar="FILE", help="Where the report goes: .html, and .json beside it."),
    ] = Path("sonnx-demo.html"),
    json: Json = False,
) -> None:
    """Check the nine networks inside the installed onnx package, against their stored outputs too.

    Example: sonnx demo
    """
    from ..demo import light_jobs

    work = light_jobs(_usable(device))
    _check_all("demo", {}, work, jobs or 1, report.with_suffix(".html"), json, report.with_suffix(".json"))


def _usable(device: str | None) -> str:
    """The index of the device that is meant; raises NoDeviceError before any work is begun."""
    from ...runtime import opencl

    return str(opencl.choose(device).index)


def _check_all(
    command: str,
    options: dict[str, object],
    work: list[Job],
    processes: int,
    report: Path | None,
    json: bool,
    second: Path | None = None,
) -> None:
    from ...runtime import opencl
    from ..report import Report
    from ..verify import check_all

    chosen = opencl.choose(work[0].settings.device)
    result = Report(command, options, device=f"{chosen.name} [{chosen.platform}]")
    with progress(len(work)) as bar:
        for entry in check_all(work, processes):
            result.entries.append(entry)
            bar.advance(entry.file)
    if second:
        result.write(second)
    _finish(result, report, json, CHECKED)


def _check_report(report: Path | None) -> None:
    if report is not None and report.suffix not in (".html", ".json"):
        wrong_usage(f"--report {report}: it ends in .html or in .json")


CONVERTED = ("model", "result", "seconds>", "")
CHECKED = ("model", "result", "seconds>", "nodes>", "returned>", "relative error>", "against", "")
"""The columns of a table of entries, by what was done."""


def _finish(result: Report, report: Path | None, json: bool, columns: Sequence[str] = CONVERTED) -> None:
    """Show the entries, write the report, end with the exit code."""
    result.entries.sort(key=lambda entry: entry.file)
    if report:
        result.write(report)
    if json:
        write_json(result.document())
        finish(result.good)
    write_table(columns, [_row(entry, columns) for entry in result.entries])
    for entry in result.entries:
        if entry.status == "failed" and "\n" in entry.message:
            write_line(f"\n{entry.file}:\n{entry.message}")
    write_line(", ".join(f"{count} {status}" for status, count in result.counts().items()))
    if report:
        note(f"report: {report}")
    finish(result.good)


def _row(entry: Entry, columns: Sequence[str]) -> list[str]:
    details = entry.details
    error = details.get("relative_error")
    cells = {
        "model": entry.file,
        "result": entry.status,
        "seconds>": f"{entry.seconds:.2f}",
        "nodes>": str(details.get("nodes", "")),
        "returned>": str(details.get("returned_nodes", "")),
        "relative error>": "" if error is None else f"{error:.1e}",
        "against": str(details.get("against", "")),
        "": entry.message.splitlines()[0] if entry.message else entry.target,
    }
    return [cells[column] for column in columns]
