"""``sonnx rules``: what the authors of rules work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Device, Json, Model, Rules
from .output import finish, note, write_json, write_line, write_table, wrong_usage

if TYPE_CHECKING:
    from ..language.errors import Diagnostic
    from ..language.syntax import Alternative, Rule
    from ..rulebook import Rulebook

app = typer.Typer(no_args_is_help=True, help="Check, test, list, explain and format translation rules.")

Folders = Annotated[
    list[Path] | None,
    typer.Argument(exists=True, metavar="DIR", help="Folders of rules, on top of the shipped ones."),
]
Operators = Annotated[list[str] | None, typer.Argument(metavar="OPERATOR", help="Of SINGA or of ONNX.")]


@app.command()
def check(folders: Folders = None, json: Json = False) -> None:
    """Find everything that is wrong with rules before they are used; all errors at once.

    Example: sonnx rules check my_rules/
    """
    from ..language import checker

    layers, errors, texts = checker.read_layers(list(_layers(folders or ())))
    errors = [*errors, *checker.check(layers)]
    files = [file for layer in layers for file in layer]
    rules, examples = sum(len(f.rules) for f in files), sum(len(f.examples) for f in files)
    if json:
        write_json({"rules": rules, "examples": examples, "errors": [_diagnostic(e) for e in errors]})
        finish(not errors)
    for error in errors:
        write_line(error.render(texts) + "\n")
    write_line(f"{rules} rules, {examples} examples: {len(errors) or 'no'} error{'s' * (len(errors) != 1)}")
    finish(not errors)


def _layers(folders: Sequence[Path]) -> Iterator[list[Path]]:
    """The rule files of each layer: the shipped ones, those of installed packages, each folder's."""
    from importlib import metadata, resources

    from ..rulebook import ENTRY_POINTS

    shipped = Path(str(resources.files("sonnx.rules")))
    yield sorted(shipped.glob("*.rules"))
    for point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        yield sorted(Path(str(resources.files(point.value))).glob("*.rules"))
    for folder in folders:
        if folder.resolve() == shipped.resolve():
            continue
        files = [folder] if folder.is_file() else sorted(folder.rglob("*.rules"))
        if not files:
            wrong_usage(f"{folder} holds no .rules file")
        yield files


def _diagnostic(error: Diagnostic) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "file": error.span.file,
        "line": error.span.line,
        "column": error.span.column,
        "expected": error.expected,
        "hint": error.hint,
        "related": [{"what": what, "at": str(span)} for what, span in error.related],
    }


@app.command()
def test(operators: Operators = None, rules: Rules = None, device: Device = None, json: Json = False) -> None:
    """Test the laws and the numbers of rules, on their examples and on instances made from them.

    Example: sonnx rules test SoftMax Clip
    """
    from ...runtime import opencl
    from ..language.laws import check_laws
    from ..rulebook import load_rulebook

    book = load_rulebook(rules or (), examples=True)
    tally = check_laws(book, operators or (), device=opencl.choose(device))
    if not tally.examples:
        wrong_usage("no example is of " + " or ".join(operators or ("any operator",)))
    if json:
        failures = [
            {"law": f.law, "example": f.title, "at": str(f.span), "opset": f.opset, "message": f.message}
            for f in tally.failures
        ]
        write_json({"examples": tally.examples, "checks": tally.checks, "failures": failures})
        finish(not failures)
    for failure in tally.failures:
        write_line(str(failure))
    write_line(f"{tally.examples} examples, {tally.checks} checks: {len(tally.failures) or 'no'} failures")
    finish(not tally.failures)


@app.command("list")
def list_rules(operators: Operators = None, rules: Rules = None, json: Json = False) -> None:
    """List the rules in force; of operators that are named, the rules themselves.

    Example: sonnx rules list Gather
    """
    from ..rulebook import load_rulebook

    book = load_rulebook(rules or ())
    wanted = set(operators or ())
    chosen = [rule for rule in book.rules if not wanted or wanted & _operators(rule)]
    chosen.sort(key=lambda rule: (rule.name.lower(), rule.span.file, rule.span.line))
    if wanted and not chosen:
        _unknown(book, wanted)
    if json:
        write_json([_rule(rule) for rule in chosen])
    elif wanted:
        write_line("\n\n".join(_text(rule, book) for rule in chosen))
    else:
        rows = [(rule.name, rule.kind, ", ".join(_ranges(rule)), f"{rule.span}") for rule in chosen]
        write_table(("SINGA", "kind", "ONNX", "rule"), rows)


def _operators(rule: Rule) -> set[str]:
    """Every operator of either side, and the rule's name."""
    names = {rule.name, *_side_operators(rule.side)}
    for alternative in rule.alternatives:
        names.update(name.rpartition("::")[2] for name in _side_operators(alternative.side))
    return names


def _side_operators(side: Any) -> list[str]:
    return [step.operator for step in side.steps] if hasattr(side, "steps") else [side.operator]


def _ranges(rule: Rule) -> list[str]:
    return [
        f"{alternative.arrow} {'+'.join(_side_operators(alternative.side))} {_opsets(alternative)}"
        for alternative in rule.alternatives
    ]


def _opsets(alternative: Alternative) -> str:
    first, last = alternative.opset
    return f"{first}..{'' if last is None else last}"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "kind": rule.kind,
        "file": rule.span.file,
        "line": rule.span.line,
        "documentation": rule.documentation,
        "singa": _side_operators(rule.side),
        "alternatives": [
            {
                "arrow": alternative.arrow,
                "onnx": _side_operators(alternative.side),
                "opset": _opsets(alternative),
                "producer": alternative.producer,
                "reason": alternative.reason,
            }
            for alternative in rule.alternatives
        ],
    }


def _text(rule: Rule, book: Rulebook) -> str:
    """A rule as it is written, after its place and its documentation."""
    text = next(file.text for file in book.files if file.path == rule.span.file)
    lines = text.split("\n")[rule.span.line - 1 : rule.span.end_line]
    above = [f"# {line}" for line in (f"{rule.span}", *rule.documentation.splitlines())]
    return "\n".join([*above, *lines])


def _unknown(book: Rulebook, wanted: set[str]) -> None:
    from ..language.errors import near

    known = {name for rule in book.rules for name in _operators(rule)}
    for name in sorted(wanted):
        hint = near(name, known)
        note(f"sonnx: no rule is about {name!r}{f'; {hint}' if hint else ''}")
    finish(False)


@app.command()
def explain(
    model: Model,
    node: Annotated[str | None, typer.Option(help="Only the node of this name, or with this output.")] = None,
    rules: Rules = None,
    json: Json = False,
) -> None:
    """Show which rule took each node of an ONNX model, or why none did.

    Example: sonnx rules explain model.onnx --node conv1
    """
    from dataclasses import asdict

    from .. import explain as explaining

    found = explaining.explain(model, rules or (), node)
    if json:
        write_json([asdict(explanation) | {"matched": explanation.matched} for explanation in found])
    else:
        for explanation in found:
            write_line(str(explanation))
        missing = sum(not explanation.matched for explanation in found)
        write_line(f"{len(found)} nodes, {missing or 'none'} without a rule")
    finish(all(explanation.matched for explanation in found))


class Layout(str, Enum):
    """How to show coverage."""

    table = "table"
    markdown = "markdown"
    json = "json"


@app.command()
def coverage(
    operators: Operators = None,
    layout: Annotated[Layout, typer.Option("--format", help="How to show it.")] = Layout.table,
    everything: Annotated[bool, typer.Option("--all", help="All of ONNX, not only what rules name.")] = False,
    rules: Rules = None,
    json: Json = False,
) -> None:
    """Show what is covered: ONNX operator by version and direction, SINGA operator by direction.

    Example: sonnx rules coverage --format markdown
    """
    from ..coverage import all_operators, measure
    from ..rulebook import load_rulebook

    found = measure(load_rulebook(rules or ()), all_operators() if everything else operators or ())
    if json or layout is Layout.json:
        write_line(found.as_json())
    elif layout is Layout.markdown:
        write_line(found.as_markdown())
    else:
        rows = [
            (row.operator, ", ".join(row.singa), _yes(row.imported), _yes(row.exported)) for row in found.onnx
        ]
        write_table(("ONNX", "SINGA", "imported", "exported"), rows)
        missing = found.missing()
        write_line("\n".join(["", *missing, f"{len(missing) or 'nothing'} missing"]))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@app.command("format")
def format_rules(
    paths: Annotated[list[Path], typer.Argument(exists=True, metavar="DIR", help="Rule files, or folders.")],
    check: Annotated[bool, typer.Option("--check", help="Only say what would change.")] = False,
    json: Json = False,
) -> None:
    """Give rule files the one layout; nothing but white space changes.

    Example: sonnx rules format my_rules/
    """
    from ...runtime.checkpoint import replacing
    from ..language.format import format_text

    changed = []
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*.rules")):
            text = file.read_text("utf-8")
            laid_out = format_text(text, str(file))
            if laid_out == text:
                continue
            changed.append(str(file))
            if not check:
                with replacing(file) as target:
                    target.write(laid_out.encode())
    if json:
        write_json({"changed": changed, "written": not check})
    else:
        for name in changed:
            write_line(f"{name}: {'would change' if check else 'changed'}")
    finish(not (check and changed))
