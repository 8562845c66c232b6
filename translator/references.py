"""Independent implementations of ONNX to compare with: onnxruntime, or onnx's own evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx

from .errors import TranslationError

KINDS = ("onnxruntime", "reference")


class ReferenceFailure(Exception):
    """The reference cannot load or run a model, whether for the model's fault or its own."""


class Reference(Protocol):
    """A model in another implementation."""

    name: str

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name; raises ReferenceFailure."""
        ...


class OnnxRuntime:
    """onnxruntime on the CPU, with no optimization that changes numbers."""

    name = "onnxruntime"

    def __init__(self, model: onnx.ModelProto, path: Path | None = None, plain: bool = False) -> None:
        """``path``: where the same model lies, so that it need not be copied.  ``plain``: keep every
        node, so that any value can be an output."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_DISABLE_ALL if plain else levels.ORT_ENABLE_BASIC
        source = str(path) if path else model.SerializeToString()
        try:
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no common base of their own
            raise ReferenceFailure(_first_line(error)) from error
        self._outputs = [output.name for output in self._session.get_outputs()]

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            results = self._session.run(None, dict(inputs))
        except Exception as error:
            raise ReferenceFailure(_first_line(error)) from error
        return dict(zip(self._outputs, (np.asarray(result) for result in results), strict=True))


class Evaluator:
    """onnx's reference evaluator: slow, and the definition in code."""

    name = "reference"

    def __init__(self, model: onnx.ModelProto, path: Path | None = None, plain: bool = False) -> None:
        from .evaluation import evaluator

        try:
            self._evaluator = evaluator(model, path)
        except Exception as error:
            raise ReferenceFailure(_first_line(error)) from error

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            with np.errstate(all="ignore"):
                results: Any = self._evaluator.run(None, dict(inputs))
        except Exception as error:
            raise ReferenceFailure(_first_line(error)) from error
        names = map(str, self._evaluator.output_names)
        return dict(zip(names, map(np.asarray, results), strict=True))


def open_reference(
    kind: str | None, model: onnx.ModelProto, path: Path | None = None, plain: bool = False
) -> Reference:
    """The reference asked for; by default onnxruntime, and the evaluator where that is not
    installed or cannot load the model.  Raises ReferenceFailure, or TranslationError where what was
    asked for is not installed."""
    if kind == "reference":
        return Evaluator(model, path, plain)
    try:
        return OnnxRuntime(model, path, plain)
    except ImportError:
        if kind == "onnxruntime":
            raise TranslationError("onnxruntime is not installed", hint="pip install onnxruntime") from None
    except ReferenceFailure:
        if kind == "onnxruntime":
            raise
    return Evaluator(model, path, plain)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
