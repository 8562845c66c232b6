"""The commands gathered, and how an error that ends one is told."""

from __future__ import annotations

import sys

import typer

from ...runtime.errors import RuntimeFault
from ..errors import TranslationError
from . import compute, rules, translate
from .output import FAILED, note, write_json

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended, as shells have it."""

app = typer.Typer(
    name="sonnx",
    help="Translate between Apache SINGA and ONNX, both ways, and run both on OpenCL.",
    no_args_is_help=True,
    # Off a terminal help is plain text, which also takes half the time.
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(translate.demo)
app.command()(translate.convert)
app.command()(translate.check)
app.command()(compute.run)
app.command()(compute.inspect)
app.command()(compute.devices)
app.add_typer(rules.app, name="rules")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        print(f"sonnx {metadata.version('sonnx')}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show it and exit."
    ),
) -> None:
    """Translate between Apache SINGA and ONNX, both ways, and run both on OpenCL."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command line; ends the process with its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        app(arguments, prog_name="sonnx")
    except (TranslationError, RuntimeFault) as error:
        _tell(str(error), "--json" in arguments)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # What reads the results has seen enough of them.
        sys.stderr.close()
        sys.exit(FAILED)


def _tell(message: str, as_json: bool) -> None:
    if as_json:
        write_json({"status": "failed", "message": message})
    note(f"sonnx: {message}")
