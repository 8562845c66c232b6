"""Everything that can be known of rules before they are used; all errors of a folder at once.

Each concern is a module: ``checker_operators`` (schemas and signatures), ``checker_bindings``
(names and directions), ``checker_ranges`` (opsets), ``checker_layers`` (names across files),
``checker_order`` (ambiguous and shadowed), ``checker_chains``, ``checker_examples``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...runtime.operator import Operator
from . import schemas
from .checker_bindings import check_bindings, check_directions
from .checker_chains import check_chains
from .checker_examples import Coverage, check_coverage, check_example, check_matches, opsets_of
from .checker_instances import Instance, of_example
from .checker_layers import check_layers, merged
from .checker_operators import check_operators
from .checker_order import check_order
from .checker_ranges import check_ranges
from .checker_world import World
from .compile import CompiledAlternative, compile_rule
from .errors import Diagnostic, RuleSyntaxError
from .parser import parse_file
from .syntax import Example, RuleFile, Span
from .values import Mismatch

Layers = Sequence[Sequence[RuleFile]]


def check(
    layers: Layers, operators: Mapping[str, Operator] | None = None, newest: int = schemas.NEWEST
) -> list[Diagnostic]:
    """All errors of rules in layers (the first is the shipped one), in the order of the files.

    ``operators`` are the runtime's unless given; ``newest`` is the last opset to be covered.
    """
    if operators is None:
        from ...runtime.operators import registry

        operators = registry
    world = World(operators, newest)
    files = [file for layer in layers for file in layer]
    found = list(check_layers(layers))
    compiled: list[CompiledAlternative] = []
    for rule in (rule for file in files for rule in file.rules):
        errors = [*check_operators(rule, world), *check_bindings(rule)]
        found += errors or check_directions(rule, world)
    broken = {error.span for error in found}
    rules = merged(layers)
    found += [*check_ranges(rules, world), *check_chains(rules)]
    for rule in rules:
        if not any(_inside(span, rule.span) for span in broken):
            compiled += compile_rule(rule, world.operators)
    found += _check_examples([e for file in files for e in file.examples], compiled, world, bool(broken))
    order = {file.path: place for place, file in enumerate(files)}
    unique = dict.fromkeys(found)
    return sorted(unique, key=lambda e: (order.get(e.span.file, 0), e.span.line, e.span.column))


def _inside(span: Span, outer: Span) -> bool:
    return span.file == outer.file and outer.line <= span.line <= outer.end_line


def _check_examples(
    examples: Sequence[Example], compiled: Sequence[CompiledAlternative], world: World, broken: bool
) -> list[Diagnostic]:
    """Examples by themselves, then against the rules that are sound.  Where some rule is not, an
    example that matches nothing may be that rule's, so it is not reported."""
    found: list[Diagnostic] = []
    sound: list[Example] = []
    for example in examples:
        errors = list(check_example(example, world))
        found += errors
        if not errors:
            sound.append(example)
    coverage: dict[int, Coverage] = {}
    for item in check_matches(sound, compiled, world):
        if isinstance(item, tuple):
            coverage[item[0]] = item[1]
        elif not broken:
            found.append(item)
    if len(sound) == len(examples):
        for each in compiled:
            found += check_coverage(each, coverage[id(each)], world)
    found += check_order(compiled, _instances(sound, world), world)
    return found


def _instances(examples: Sequence[Example], world: World) -> list[Instance]:
    """The ONNX side of every example, once (its opset is set where it is matched)."""
    instances = []
    for example in examples:
        opsets = opsets_of(example, world)
        try:
            if opsets and example.arrow != "->":
                instances.append(of_example(example, opsets[-1], world, True))
        except (Mismatch, ValueError, OverflowError, TypeError):
            continue
    return instances


def read_layers(
    folders: Sequence[Sequence[str | Path]],
) -> tuple[list[list[RuleFile]], list[Diagnostic], dict[str, str]]:
    """Parse the files of each layer: what could be parsed, the errors of what could not, all texts."""
    layers: list[list[RuleFile]] = []
    errors: list[Diagnostic] = []
    texts: dict[str, str] = {}
    for paths in folders:
        layer: list[RuleFile] = []
        for path in paths:
            try:
                file = parse_file(path)
            except RuleSyntaxError as error:
                errors += error.diagnostics
                texts[str(path)] = error.text
                continue
            layer.append(file)
            texts[file.path] = file.text
        layers.append(layer)
    return layers, errors, texts
