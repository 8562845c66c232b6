"""The rules in force: shipped ones, those of installed packages, those of the user's folders.

Layers are read in that order.  A rule of a later layer that replaces one of an earlier layer says
``override``; without it, an equal name is an error.  Rules are found by the ONNX operator (import)
and by the SINGA operator (export).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import metadata, resources
from pathlib import Path

from .errors import RuleError
from .language.compile import CompiledAlternative, CompileError, compile_alternative
from .language.parser import parse_file
from .language.schemas import split
from .language.syntax import Alternative, Block, Example, Rule, RuleFile

ENTRY_POINTS = "sonnx.rules"
"""The entry-point group of packages that bring rules: each names a package that holds .rules files."""


@dataclass
class Entry:
    """One alternative of a rule in the index."""

    rule: Rule
    alternative: Alternative

    @property
    def anchor(self) -> str:
        """The ONNX operator that an import recognises the alternative by: a block's last."""
        side = self.alternative.side
        return side.steps[-1].operator if isinstance(side, Block) else side.operator

    def onnx_names(self) -> list[str]:
        """The ONNX operators of its side."""
        side = self.alternative.side
        return [step.operator for step in side.steps] if isinstance(side, Block) else [side.operator]

    def covers(self, opset: int) -> bool:
        """Whether it is for a version of the default operator set (other sets: every version)."""
        first, last = self.alternative.opset
        return bool(split(self.anchor)[0]) or (first <= opset and (last is None or opset <= last))

    @cached_property
    def compiled(self) -> CompiledAlternative:
        """The alternative ready to be applied; raises RuleError."""
        try:
            return compile_alternative(self.rule, self.alternative)
        except CompileError as error:
            raise RuleError(str(error), hint="`sonnx rules check` lists every such error") from None


class Rulebook:
    """All rules, indexed; an alternative is compiled when it is first needed."""

    def __init__(self, layers: Sequence[Sequence[RuleFile]]) -> None:
        self.files = [file for layer in layers for file in layer]
        self.rules = _merge(layers)
        self.examples: list[Example] = [example for file in self.files for example in file.examples]
        self._by_onnx: dict[tuple[str, str], list[Entry]] = {}
        self._by_singa: dict[str, list[Entry]] = {}
        self._blocks: dict[str, list[Entry]] = {}
        self._import_cache: dict[tuple[str, str, int, str], tuple[CompiledAlternative, ...]] = {}
        self._export_cache: dict[tuple[str, int], tuple[CompiledAlternative, ...]] = {}
        self._entries = [Entry(rule, alternative) for rule in self.rules for alternative in rule.alternatives]
        for entry in self._entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        rule, arrow = entry.rule, entry.alternative.arrow
        if arrow != "->":
            self._by_onnx.setdefault(split(entry.anchor), []).append(entry)
        if arrow == "<-":
            return
        if isinstance(rule.side, Block):
            self._blocks.setdefault(rule.name, []).append(entry)
        else:
            self._by_singa.setdefault(rule.side.operator, []).append(entry)

    def importing(
        self, domain: str, operator: str, opset: int, producer: str
    ) -> tuple[CompiledAlternative, ...]:
        """The alternatives that may import an ONNX node, in the order in which they are tried:
        whole patterns first, then what holds for the producer, then preferred rules."""
        key = (domain, operator, opset, producer)
        if key not in self._import_cache:
            found = [
                entry.compiled
                for entry in self._by_onnx.get((domain, operator), ())
                if entry.covers(opset) and entry.alternative.producer in (None, producer)
            ]
            found.sort(key=lambda c: (-len(c.onnx), c.alternative.producer is None, c.rule.prefer is None))
            self._import_cache[key] = tuple(found)
        return self._import_cache[key]

    def exporting(self, operator: str, opset: int) -> tuple[CompiledAlternative, ...]:
        """The alternatives that may export a SINGA node to a version of ONNX, in order."""
        key = (operator, opset)
        if key not in self._export_cache:
            found = self._by_singa.get(operator, ())
            self._export_cache[key] = tuple(entry.compiled for entry in found if entry.covers(opset))
        return self._export_cache[key]

    @cached_property
    def reversible(self) -> Rulebook:
        """The alternatives that hold in both directions, alone."""
        rules = [
            replace(rule, alternatives=both)
            for rule in self.rules
            if (both := tuple(a for a in rule.alternatives if a.arrow == "<->"))
        ]
        return Rulebook([[RuleFile("", "", tuple(rules))]])

    def folding(self, rule: str, opset: int) -> list[CompiledAlternative]:
        """The alternatives that fold a group of SINGA nodes, made by that rule, back into one."""
        return [entry.compiled for entry in self._blocks.get(rule, ()) if entry.covers(opset)]

    def entries(self) -> Iterator[Entry]:
        """Every alternative of every rule."""
        return iter(self._entries)

    def entries_for(self, domain: str, operator: str) -> list[Entry]:
        """Every alternative whose last ONNX operator is that one."""
        return [entry for entry in self._entries if split(entry.anchor) == (domain, operator)]

    def onnx_operators(self) -> list[tuple[str, str]]:
        """The domain and name of every ONNX operator that a rule is for."""
        return sorted({split(entry.anchor) for entry in self._entries})

    def exports_of(self, operator: str) -> list[CompiledAlternative]:
        """Every alternative that exports a SINGA operator, whatever the opset."""
        return [entry.compiled for entry in self._by_singa.get(operator, ())]

    def imports_of(self, domain: str, operator: str) -> list[CompiledAlternative]:
        """Every alternative that imports an ONNX operator, whatever the opset."""
        return [entry.compiled for entry in self._by_onnx.get((domain, operator), ())]


def _merge(layers: Sequence[Sequence[RuleFile]]) -> list[Rule]:
    """The rules that remain once overrides replaced what they override; later layers first."""
    merged: list[Rule] = []
    for layer in layers:
        earlier = {rule.name: rule for rule in merged}
        own = [rule for file in layer for rule in file.rules]
        for rule in own:
            if rule.name in earlier and not rule.override:
                other = earlier[rule.name]
                raise RuleError(
                    f"{rule.span}: {rule.name} is a rule of {other.span} already",
                    hint=f"write 'override {rule.kind} {rule.name}' to replace it, or use another name",
                )
            if rule.override and rule.name not in earlier:
                raise RuleError(f"{rule.span}: {rule.name} overrides nothing")
        replaced = {rule.name for rule in own if rule.override}
        merged = own + [rule for rule in merged if rule.name not in replaced]
    return merged


def shipped_files(examples: bool = True) -> list[RuleFile]:
    """The rules that come with this package."""
    return _read_package("sonnx.rules", examples)


def installed_layers(examples: bool = True) -> list[list[RuleFile]]:
    """The rules of installed packages, one layer for each entry point, by its name."""
    points = sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    return [_read_package(point.value, examples) for point in points]


def folder_files(folder: str | Path, examples: bool = True) -> list[RuleFile]:
    """The rules of a folder (or of one file); raises RuleError where there are none."""
    path = Path(folder)
    if path.is_file():
        return [parse_file(path, examples)]
    if not path.is_dir():
        raise RuleError("no such folder of rules", file=str(path))
    files = [parse_file(p, examples) for p in sorted(path.rglob("*.rules"))]
    if not files:
        raise RuleError("no .rules file in this folder", file=str(path))
    return files


def _read_package(name: str, examples: bool) -> list[RuleFile]:
    folder = resources.files(name)
    if not isinstance(folder, Path):
        raise RuleError(f"the package {name} must be unpacked in a folder for its rules to be read")
    return [parse_file(path, examples) for path in sorted(folder.glob("*.rules"))]


@cache
def _loaded(folders: tuple[str, ...], examples: bool) -> Rulebook:
    layers = [shipped_files(examples), *installed_layers(examples)]
    return Rulebook([*layers, *(folder_files(folder, examples) for folder in folders)])


def load_rulebook(folders: Iterable[str | Path] = (), examples: bool = False) -> Rulebook:
    """The rules in force with these folders on top; read once and kept.

    ``examples``: with their examples, which only tests of rules need.  Raises RuleError.
    """
    return _loaded(tuple(str(Path(folder)) for folder in folders), examples)
