"""The laws of rules, on their examples and on instances generated from them.

For an example that goes both ways: importing its ONNX nodes gives its SINGA nodes, exporting its
SINGA nodes gives its ONNX nodes in normal form, importing what was exported gives the SINGA nodes
back, and both sides compute the same numbers (ONNX's reference evaluator against the runtime).
Each is tested at every opset of the example where a schema it uses changes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ...runtime.dtypes import is_float
from ...runtime.errors import RuntimeFault
from ...runtime.graph import Graph
from ..errors import TranslationError
from . import schemas
from .canonical import difference, of_model, of_singa
from .examples import ExampleError, input_arrays, onnx_model, singa_graph, versions
from .instances import variants
from .syntax import Example, Span

if TYPE_CHECKING:
    from ..rulebook import Rulebook

OLDEST_EXPORT = 9

TOLERANCES = {"float64": 1e-6, "float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative errors allowed between two evaluations in a type; small floats must agree in 1 of 8."""


EVALUATOR_IGNORES = {"AveragePool", "LSTM", "GRU", "RNN"}
"""Operators of which the reference evaluator passes over attributes instead of refusing them:
activations and directions, and that up to opset 6 a mean is of what is not padding."""


@dataclass(frozen=True)
class Failure:
    """One law that does not hold: of which example, at which opset, and why."""

    law: str
    title: str
    span: Span
    opset: int
    message: str

    def __str__(self) -> str:
        return f"{self.span}: {self.title!r} at opset {self.opset}: {self.law}: {self.message}"


@dataclass
class Tally:
    """How many laws were tested on how many instances; ``failures`` are those that do not hold."""

    examples: int
    checks: int
    failures: list[Failure]


def operators_of(example: Example) -> set[str]:
    """Every operator of either side, as a person may name it."""
    names = {step.operator for step in example.singa}
    return names | {schemas.split(step.operator)[1] for step in example.onnx}


def check_laws(
    rulebook: Rulebook, operators: Iterable[str] = (), numbers: bool = True, device: Any = None
) -> Tally:
    """Test the laws on all examples, or on those of some operators (of either side)."""
    wanted = set(operators)
    chosen = [e for e in rulebook.examples if not wanted or wanted & operators_of(e)]
    tally = Tally(len(chosen), 0, [])
    for example in chosen:
        for failure in check_example(rulebook, example, numbers, device):
            tally.checks += 1
            if failure:
                tally.failures.append(failure)
    return tally


def check_example(
    rulebook: Rulebook, example: Example, numbers: bool = True, device: Any = None
) -> Iterator[Failure | None]:
    """Each law on the example, and those that need no expected result on its variants: a Failure
    where it does not hold, else None."""
    try:
        opsets = versions(example)
        graph = singa_graph(example)
        models = {opset: onnx_model(example, opset) for opset in opsets}
    except (ExampleError, ValueError, TypeError, KeyError) as error:
        yield Failure("the example is a model", example.title, example.span, example.opset[0], str(error))
        return
    bench = _Bench(rulebook, example, graph, device)
    for opset, model in models.items():
        if example.arrow != "->":
            yield bench.imports(model, opset)
        if example.arrow != "<-" and opset >= OLDEST_EXPORT:
            yield bench.exports(model, opset)
    if numbers and example.producer is None:
        yield bench.computes(models[opsets[-1]], opsets[-1])
    if example.arrow == "<->":
        newest = max(opsets)
        for variant in variants(graph):
            if newest >= OLDEST_EXPORT:
                yield bench.returns(variant, newest)


@dataclass
class _Bench:
    """One example being tested."""

    rulebook: Rulebook
    example: Example
    graph: Graph
    device: Any

    def _failure(self, law: str, opset: int, message: object) -> Failure:
        return Failure(law, self.example.title, self.example.span, opset, str(message))

    def imports(self, model: onnx.ModelProto, opset: int) -> Failure | None:
        """Importing the ONNX side gives the SINGA side; and exporting that, the ONNX side again."""
        law = "import"
        try:
            graph = self._import(model)
            found = difference(of_singa(self.graph), of_singa(graph))
            if not found and self.example.arrow == "<->" and opset >= OLDEST_EXPORT:
                law = "import, then export"
                found = difference(of_model(model), of_model(self._export(graph, opset)))
        except TranslationError as error:
            return self._failure(law, opset, error)
        return self._failure(law, opset, found) if found else None

    def exports(self, model: onnx.ModelProto, opset: int) -> Failure | None:
        """Exporting the SINGA side gives the ONNX side; and importing that, the SINGA side again."""
        law = "export"
        try:
            exported = self._export(self.graph, opset)
            found = difference(of_model(model), of_model(exported))
            if not found and self.example.arrow == "<->":
                law = "export, then import"
                found = difference(of_singa(self.graph), of_singa(self._import(exported)))
        except TranslationError as error:
            return self._failure(law, opset, error)
        return self._failure(law, opset, found) if found else None

    def returns(self, variant: Graph, opset: int) -> Failure | None:
        """What can be exported by an alternative that holds both ways comes back as it was."""
        from ..exporter import export_model

        law = "export, then import, of a variant"
        try:
            exported = export_model(variant, opset, self.rulebook.reversible)
        except TranslationError:
            return None
        try:
            found = difference(of_singa(variant), of_singa(self._import(exported)))
        except TranslationError as error:
            return self._failure(law, opset, error)
        return self._failure(law, opset, found) if found else None

    def computes(self, model: onnx.ModelProto, opset: int) -> Failure | None:
        """Both sides give the same numbers, by one of the independent implementations at least."""
        law = "numbers"
        inputs = input_arrays(self.example, zlib.crc32(self.example.title.encode()))
        found: list[np.ndarray] | None = None
        message: str | None = None
        for expected in references(model, inputs):
            try:
                found = list(self._run(inputs).values()) if found is None else found
            except (RuntimeFault, TranslationError) as error:
                return self._failure(law, opset, error)
            pairs = zip(expected, found, strict=True)
            unlike = [
                f"output {place}: {why}" for place, (a, b) in enumerate(pairs) if (why := _unlike(a, b))
            ]
            if not unlike:
                return None
            message = message or unlike[0]
        return self._failure(law, opset, message) if message else None

    def _run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        from ...runtime.executor import Executor

        return Executor(self.graph, self.device).run(inputs)

    def _import(self, model: onnx.ModelProto) -> Graph:
        from ..importer import import_model

        return import_model(model, self.rulebook)

    def _export(self, graph: Graph, opset: int) -> onnx.ModelProto:
        from ..exporter import export_model

        return export_model(graph, opset, self.rulebook)


def references(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> Iterator[list[np.ndarray]]:
    """What onnxruntime computes, if it is installed, and what ONNX's reference evaluator does: each
    has errors of its own, on padding with ``ceil_mode`` for one, and versions that it lacks."""
    from ..references import Evaluator, OnnxRuntime, ReferenceFailure

    with suppress(ImportError, ReferenceFailure):
        yield list(OnnxRuntime(model).run(inputs).values())
    if not EVALUATOR_IGNORES & {node.op_type for node in model.graph.node}:
        with suppress(ReferenceFailure):
            yield list(Evaluator(model).run(inputs).values())


def _unlike(want: np.ndarray, got: np.ndarray) -> str | None:
    """How two results differ, or None."""
    if want.shape != got.shape:
        return f"shape {list(got.shape)} where the reference has {list(want.shape)}"
    if want.dtype != got.dtype:
        return f"{got.dtype} where the reference has {want.dtype}"
    if not is_float(want.dtype):
        bad = np.flatnonzero(want.reshape(-1) != got.reshape(-1))
    else:
        rtol = TOLERANCES.get(want.dtype.name, 0.125)
        close = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol, rtol * 1e-2, equal_nan=True)
        bad = np.flatnonzero(~close)
    if not bad.size:
        return None
    first = bad[0]
    return (
        f"{bad.size} of {want.size} numbers differ, the first at {first}: "
        f"{got.reshape(-1)[first]} where the reference has {want.reshape(-1)[first]}"
    )
