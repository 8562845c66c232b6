"""onnx's reference evaluator, with what operators meant in the model's own opset.

The evaluator computes some old versions as if they were new: Softmax, LogSoftmax and Hardmax up to opset
12 flattened x to a matrix at ``axis`` (1 by default), and BatchNormalization up to opset 13 used a batch's
own statistics only where it gave them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from .language.schemas import DEFAULT_DOMAINS


def evaluator(model: onnx.ModelProto, path: Path | None = None) -> ReferenceEvaluator:
    """The evaluator of a model, read from ``path`` where it lies there; raises onnx's errors for one that
    it cannot load."""
    opset = min((entry.version for entry in model.opset_import if entry.domain in DEFAULT_DOMAINS), default=1)
    corrected = [kind for last, kinds in _OLD.items() if opset <= last for kind in kinds]
    return ReferenceEvaluator(str(path) if path else model, new_ops=corrected)


class _OfMatrix(OpRun):
    """An operator along the rows of x as a matrix (ONNX Softmax 1 and 11, and its kin)."""

    op_domain = ""

    def _run(self, x: np.ndarray, **_: Any) -> tuple[np.ndarray]:
        written = any(attribute.name == "axis" for attribute in self.onnx_node.attribute)
        axis = (self.axis if written else 1) % max(x.ndim, 1)  # type: ignore[attr-defined]
        rows = x.reshape(int(np.prod(x.shape[:axis])), -1) if x.size else x
        return (self._of_rows(rows).reshape(x.shape).astype(x.dtype) if x.size else x,)

    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Softmax(_OfMatrix):
    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


class LogSoftmax(_OfMatrix):
    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        shifted = rows - rows.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


class Hardmax(_OfMatrix):
    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.eye(rows.shape[1])[rows.argmax(axis=1)]


class BatchNormalization(OpRun):
    """By the given statistics; with ``spatial = 0`` (up to opset 8) each activation has its own."""

    op_domain = ""

    def _run(self, x: np.ndarray, *given: np.ndarray, **_: Any) -> tuple[np.ndarray]:
        if len(self.onnx_node.output) > 1:
            raise NotImplementedError("BatchNormalization in training, before opset 14")
        if getattr(self, "spatial", 1):
            given = tuple(array.reshape(-1, *(1,) * (x.ndim - 2)) for array in given)
        scale, bias, mean, var = given
        y = scale * (x - mean) / np.sqrt(var + self.epsilon) + bias  # type: ignore[attr-defined]
        return (y.astype(x.dtype),)


_OLD: dict[int, tuple[type[OpRun], ...]] = {12: (Softmax, LogSoftmax, Hardmax), 13: (BatchNormalization,)}
"""The operators that are corrected, by the last opset of their old meaning."""
