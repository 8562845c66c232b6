"""Converts any number of models: each in turn or in parallel processes, none able to stop another.

What was converted is noted line by line in ``DIR/.sonnx-convert.jsonl``: the hashes of everything it
was made from and of what it became.  ``resume`` skips a model for which they all still hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import TranslationError
from .files import (
    ONNX,
    SINGA,
    Found,
    digest,
    find_models,
    is_singa,
    read_graph,
    remove_unfinished,
    write_graph,
)
from .report import Entry
from .workers import Died, run_all

if TYPE_CHECKING:
    from ..runtime.graph import Graph

JOURNAL = ".sonnx-convert.jsonl"
SUFFIX = {"singa": SINGA, "onnx": ONNX}
SOURCES = {"singa": (ONNX,), "onnx": (SINGA, ONNX)}
"""What is looked for in a directory: an archive is not converted to an archive."""


@dataclass(frozen=True)
class Settings:
    """How to convert: ``to`` is ``singa`` or ``onnx``; ``opset`` None keeps the source's."""

    to: str = "singa"
    opset: int | None = None
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One model: where it is, where it goes, what the journal says of it (empty: nothing)."""

    source: Path
    target: Path
    settings: Settings
    key: str
    before: dict[str, Any] = field(default_factory=dict)


def plan_jobs(
    sources: Sequence[str | Path], folder: Path, settings: Settings, resume: bool = False
) -> tuple[list[Job], list[Entry]]:
    """What is to be done, and what cannot be: two sources that would become the same file."""
    journal = read_journal(folder) if resume else {}
    jobs: list[Job] = []
    clashes: list[Entry] = []
    owners: dict[Path, Path] = {}
    for found in find_models(sources, SOURCES[settings.to], without=folder):
        relative = found.relative.with_suffix(SUFFIX[settings.to])
        target = folder / relative
        owner = owners.setdefault(target, found.path)
        if owner is not found.path:
            if owner.resolve() != found.path.resolve():
                clashes.append(_clash(found, target, owner))
            continue
        key = relative.as_posix()
        jobs.append(Job(found.path, target, settings, key, journal.get(key, {})))
    return jobs, clashes


def _clash(found: Found, target: Path, owner: Path) -> Entry:
    message = f"{owner} becomes {target} too; give them in separate folders or runs"
    return Entry(str(found.path), "failed", message=message)


def convert_all(jobs: Sequence[Job], folder: Path, processes: int) -> Iterator[Entry]:
    """Convert; an entry for each job as it ends, in the journal before it is given.

    Raises TranslationError where the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        journal = (folder / JOURNAL).open("a", encoding="utf-8")
    except OSError as error:
        raise TranslationError(f"cannot be written to: {error.strerror}", file=str(folder)) from None
    results: Iterable[tuple[Job, Any]]
    if len(jobs) > 1:
        results = run_all(convert_one, jobs, processes)
    else:
        results = ((job, convert_one(job)) for job in jobs)
    with journal:
        for job, result in results:
            if isinstance(result, Died):
                remove_unfinished(job.target)
                yield Entry(str(job.source), "failed", message=result.reason)
                continue
            entry, record = result
            if record is not None:
                journal.write(json.dumps(record) + "\n")
                journal.flush()
            yield entry


def convert_one(job: Job) -> tuple[Entry, dict[str, Any] | None]:
    """Convert one model; never raises.  The entry, and the journal's line where one is due."""
    begin = time.perf_counter()
    try:
        if job.before and _unchanged(job):
            return Entry(str(job.source), "skipped", target=str(job.target), message="unchanged"), None
        with ThreadPoolExecutor(1) as beside:
            source = beside.submit(digest, job.source)
            details = _convert(job)
            record = _record(job, source.result())
    except TranslationError as error:
        return _failed(job, error.without_file(), begin, error.node), None
    except MemoryError:
        return _failed(job, "there is not enough memory for it", begin), None
    except Exception as error:  # one model's surprise is that model's failure, and is told as such
        return _failed(job, f"unexpected {type(error).__name__}: {error}", begin), None
    seconds = time.perf_counter() - begin
    return Entry(str(job.source), "ok", target=str(job.target), seconds=seconds, details=details), record


def _failed(job: Job, message: str, begin: float, node: str = "") -> Entry:
    seconds = time.perf_counter() - begin
    return Entry(str(job.source), "failed", message=message, node=node, seconds=seconds)


def _convert(job: Job) -> dict[str, Any]:
    graph = read_graph(job.source, job.settings.rules)
    write_graph(graph, job.target, job.settings.opset, job.settings.rules)
    details = {"nodes": len(graph.nodes), "bytes": job.target.stat().st_size, "rules": rules_used(graph)}
    expanded = graph.metadata.get("expanded")
    return details | ({"expanded": expanded} if expanded else {})


def rules_used(graph: Graph) -> dict[str, int]:
    """How many nodes each rule made, those of subgraphs included; most first."""
    counts: dict[str, int] = {}
    for node in all_nodes(graph):
        rule = node.origin.rule if node.origin else ""
        counts[rule] = counts.get(rule, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def all_nodes(graph: Graph) -> Iterator[Any]:
    """The nodes of a graph and of the graphs inside it."""
    for node in graph.nodes:
        yield node
        for inner in node.subgraphs():
            yield from all_nodes(inner)


# --- the journal -------------------------------------------------------------------------------------


def read_journal(folder: Path) -> dict[str, dict[str, Any]]:
    """The last record of each target; lines that a crash cut short count as absent."""
    records: dict[str, dict[str, Any]] = {}
    try:
        lines = (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return records
    for line in lines:
        try:
            record = json.loads(line)
            records[record["key"]] = record
        except (ValueError, TypeError, KeyError):
            continue
    return records


def _record(job: Job, source: str) -> dict[str, Any]:
    """What a conversion depended on (``source``: its file's hash), and what it gave."""
    needs = {os.path.relpath(p, job.source.parent): digest(p) for p in _external_files(job.source)}
    return {
        "key": job.key,
        "source": source,
        "needs": needs,
        "target": _stamp(job.target),
        "settings": _settings_key(job.settings),
    }


def _unchanged(job: Job) -> bool:
    before = job.before
    try:
        return (
            before["settings"] == _settings_key(job.settings)
            and before["target"] == _stamp(job.target)
            and before["source"] == digest(job.source)
            and all(digest(job.source.parent / name) == was for name, was in before["needs"].items())
        )
    except (TranslationError, OSError, KeyError, AttributeError):
        return False


def _stamp(path: Path) -> list[int]:
    """Size and time of the last change: enough for a file that only this program writes."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _settings_key(settings: Settings) -> str:
    """A hash of the options, the program's version and every rule in force."""
    from .rulebook import load_rulebook

    hasher = hashlib.sha256(f"{settings.to} {settings.opset} {version()}".encode())
    for file in load_rulebook(settings.rules).files:
        hasher.update(f"\0{file.text}".encode())
    return hasher.hexdigest()


def version() -> str:
    """The installed program's version."""
    from importlib import metadata

    return metadata.version("sonnx")


def _external_files(source: Path) -> list[Path]:
    """The files beside an ONNX model that hold its weights."""
    if is_singa(source):
        return []
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    from .reading import read_model

    tensors = read_model(source).model.graph.initializer
    names = {ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor)}
    return [source.parent / name for name in sorted(names)]
