"""``sonnx check``: a model taken through ONNX, SINGA and ONNX again, its numbers compared on the way.

Import, run on OpenCL, write an archive and read it, export, check, import what was exported, run
again; each result is compared with an independent reference on random inputs that fit the model.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..runtime import opencl
from ..runtime.errors import RuntimeFault
from ..runtime.executor import Executor
from .archive import load, save
from .comparison import Difference, Tolerance, compare_all, worst
from .convert import rules_used
from .errors import TranslationError
from .exporter import export_model
from .fidelity import compare_models
from .files import is_singa, read_graph
from .importer import import_model
from .localise import first_difference
from .references import Reference, ReferenceFailure, open_reference
from .report import Entry
from .samples import assignments, given_sizes, model_inputs, random_inputs
from .workers import Died, run_all

if TYPE_CHECKING:
    from ..runtime.graph import Graph


@dataclass(frozen=True)
class Settings:
    """How to check.  ``against``: onnxruntime, reference, or None for the first that can.

    ``inputs`` replace random ones by name; ``sizes`` fix dynamic dimensions; ``stored`` are results
    known from elsewhere, in the order of the model's outputs, which the runtime is to give too.
    """

    device: str | None = None
    against: str | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    seed: int = 0
    opset: int | None = None
    rules: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    stored: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Job:
    """One model to check."""

    path: Path
    settings: Settings


class CheckFailure(Exception):
    """A comparison that failed, in words."""


def check_all(jobs: Sequence[Job], processes: int) -> Iterator[Entry]:
    """Check models, each in a process that the others outlive; an entry for each as it ends."""
    for job, result in run_all(check_job, jobs, processes):
        yield Entry(str(job.path), "failed", result.reason) if isinstance(result, Died) else result


def check_job(job: Job) -> Entry:
    """``check_model`` of a job."""
    return check_model(job.path, job.settings)


def check_model(path: Path, settings: Settings) -> Entry:
    """Check one model; never raises for what is wrong with the model."""
    check = Check(path, settings)
    begin = time.perf_counter()
    status, message, node = "ok", "", ""
    try:
        check.run()
    except TranslationError as error:
        status, message, node = "failed", error.without_file(), error.node
    except (CheckFailure, ReferenceFailure, RuntimeFault) as error:
        status, message = "failed", str(error)
    except MemoryError:
        status, message = "failed", "there is not enough memory for it"
    except Exception as error:  # one model's surprise is that model's failure, and is told as such
        status, message = "failed", f"unexpected {type(error).__name__}: {error}"
    seconds = time.perf_counter() - begin
    return Entry(str(path), status, message, node, seconds=seconds, details=check.details)


class Check:
    """One model on its way; ``details`` gathers what becomes known."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.device = opencl.choose(settings.device)
        self.details: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}

    def run(self) -> None:
        """All steps; raises at the first that fails."""
        settings = self.settings
        with self._timed("import"):
            graph = read_graph(self.path, settings.rules)
        model = self._source(graph)
        self.details |= {"nodes": len(model.graph.node), "singa_nodes": len(graph.nodes)}
        self.details["rules"] = rules_used(graph)
        self.details["seconds"] = self.seconds
        with self._timed("reference"):
            reference, inputs, expected = self._expect(model)
        self.details["against"] = reference.name
        self.details["inputs"] = {name: list(array.shape) for name, array in inputs.items()}
        self._compare("the model", model, graph, inputs, expected, "run")
        with self._timed("archive"):
            graph = through_archive(graph)
        with self._timed("export"):
            exported = export_model(graph, settings.opset, settings.rules)
        self._check_valid(exported)
        fidelity = compare_models(model, exported)
        self.details["returned_nodes"] = f"{fidelity.same} of {fidelity.nodes}"
        if fidelity.differences:
            self.details["changed_nodes"] = fidelity.differences
        with self._timed("import again"):
            again = import_model(exported.SerializeToString(), settings.rules)
        self._compare("the model that came back", exported, again, inputs, expected, "run again")
        self._confirm(exported, inputs, expected)

    def _source(self, graph: Graph) -> onnx.ModelProto:
        """The model as ONNX: what the reference runs."""
        if is_singa(self.path):
            return export_model(graph, self.settings.opset, self.settings.rules)
        return onnx.load(str(self.path))

    def _expect(
        self, model: onnx.ModelProto
    ) -> tuple[Reference, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Inputs that the reference can run with, and its results."""
        settings = self.settings
        path = None if is_singa(self.path) else self.path
        reference = open_reference(settings.against, model, path)
        failure: Exception | None = None
        empty: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None = None
        for sizes in assignments(model, {**given_sizes(model, settings.inputs), **settings.sizes}):
            drawn = random_inputs(model, sizes, settings.seed, settings.inputs)
            inputs = {v.name: settings.inputs.get(v.name, drawn.get(v.name)) for v in model_inputs(model)}
            try:
                expected = reference.run(inputs)  # type: ignore[arg-type]
            except ReferenceFailure as error:
                failure = failure or error
                continue
            if all(array.size for array in expected.values()):
                return reference, inputs, expected  # type: ignore[return-value]
            empty = empty or (inputs, expected)  # type: ignore[assignment]
        if empty:
            return (reference, *empty)
        raise ReferenceFailure(
            f"{reference.name} runs with no inputs that were tried ({failure}); "
            "give sizes with --dim or inputs with -i"
        )

    def _compare(
        self,
        what: str,
        model: onnx.ModelProto,
        graph: Graph,
        inputs: Mapping[str, np.ndarray],
        expected: Mapping[str, np.ndarray],
        step: str,
    ) -> None:
        """Run a graph on the device and compare; raises CheckFailure with the first node that differs."""
        with self._timed(f"{step}, planning included"):
            executor = Executor(graph, self.device)
            actual = executor.run(inputs)
        with self._timed(step):
            repeated = executor.run(inputs)
        differences = compare_all(expected, actual, self.settings.tolerance)
        found = worst(differences)
        self._note_error(found)
        if found.problem:
            tolerance, against = self.settings.tolerance, self.settings.against
            suspect = first_difference(model, graph, inputs, self.device, tolerance, against)
            self.details["first_differing_node"] = str(suspect)
            raise CheckFailure(f"output {found.name!r} of {what} has {found.problem}\nfirst: {suspect}")
        known = dict(zip(actual, self.settings.stored, strict=False))
        stored = worst(compare_all(known, actual, self.settings.tolerance))
        if stored.problem:
            raise CheckFailure(f"stored output {stored.name!r}: {what} has {stored.problem}")
        changed = worst(compare_all(actual, repeated, self.settings.tolerance))
        if changed.problem:
            raise CheckFailure(f"a second run of {what} gives another {changed.name!r}: {changed.problem}")

    def _note_error(self, found: Difference) -> None:
        if found.relative >= self.details.get("relative_error", 0.0):
            self.details |= {"largest_error": found.error, "relative_error": found.relative}
            self.details["largest_error_at"] = found.name

    def _check_valid(self, model: onnx.ModelProto) -> None:
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise CheckFailure(f"what was exported is not valid ONNX: {error}") from error

    def _confirm(
        self, model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
    ) -> None:
        """The reference gives the same for what was exported."""
        with self._timed("reference again"):
            results = open_reference(self.settings.against, model).run(inputs)
        found = worst(compare_all(expected, results, self.settings.tolerance))
        if found.problem:
            problem = f"{found.name!r} has {found.problem}"
            raise CheckFailure(f"the reference computes something else from what was exported: {problem}")

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[step] = round(time.perf_counter() - begin, 4)


def through_archive(graph: Graph) -> Graph:
    """A graph written to an archive and read again."""
    with tempfile.TemporaryDirectory(prefix="sonnx-") as folder:
        path = Path(folder) / "model.singa"
        save(graph, path)
        again = load(path)
        for state in again.states.values():
            # The file is gone when this returns: what is a view of it is read now.
            state.array = np.array(state.array)
        return again
