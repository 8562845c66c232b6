"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Sources = Annotated[
    list[Path], typer.Argument(exists=True, metavar="SRC", help="Models, or directories of them.")
]
Model = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A .onnx or .singa file.")
]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON on standard output.")]
Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", exists=True, metavar="DIR", help="More rules; may be given several times."),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="WHICH",
        help="An index in the list of devices, gpu, cpu, or a part of a name; else $SONNX_DEVICE.",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", dir_okay=False, help="Also write a report: .html or .json."),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="How many models at a time.")]
Opset = Annotated[int | None, typer.Option("--opset", help="ONNX's version to write; else the source's.")]
RelativeTolerance = Annotated[
    float | None, typer.Option("--rtol", min=0, help="Relative tolerance; else that of the type.")
]
AbsoluteTolerance = Annotated[
    float | None, typer.Option("--atol", min=0, help="Absolute tolerance; else that of the type.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seeds the random inputs.")]
Dimensions = Annotated[
    list[str] | None,
    typer.Option(
        "--dim", metavar="NAME=SIZE", help="A dynamic dimension's size; INPUT:AXIS where it has no name."
    ),
]
InputFiles = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "--input",
        metavar="[NAME=]FILE",
        help="An input: .npy, .pb (a TensorProto), or .npz (all that it holds). May be given several times.",
    ),
]
