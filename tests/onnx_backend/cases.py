"""ONNX's own node tests: what each holds, how it is run here and how its outputs are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from sonnx.translator import SingaBackend

SINGA_OPERATORS = frozenset(
    [
        "Acos",
        "Acosh",
        "Add",
        "And",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "AveragePool",
        "BatchNormalization",
        "Cast",
        "Ceil",
        "Clip",
        "Concat",
        "ConstantOfShape",
        "Conv",
        "Cos",
        "Cosh",
        "Div",
        "Dropout",
        "Elu",
        "Equal",
        "Erf",
        "Expand",
        "Flatten",
        "Gather",
        "Gemm",
        "GlobalAveragePool",
        "Greater",
        "HardSigmoid",
        "Identity",
        "LeakyRelu",
        "Less",
        "Log",
        "MatMul",
        "Max",
        "MaxPool",
        "Mean",
        "Min",
        "Mul",
        "Neg",
        "NonZero",
        "Not",
        "OneHot",
        "Or",
        "Pad",
        "Pow",
        "PRelu",
        "Reciprocal",
        "ReduceMean",
        "ReduceSum",
        "Relu",
        "Reshape",
        "ScatterElements",
        "Selu",
        "Shape",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Slice",
        "Softmax",
        "Softplus",
        "Softsign",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tan",
        "Tanh",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Upsample",
        "Where",
        "Xor",
    ]
)
"""The ONNX operators of Apache SINGA's documentation."""


@dataclass(frozen=True)
class Case:
    """One node test: a model, its inputs and the outputs that ONNX states for them."""

    name: str
    model: onnx.ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    rtol: float
    atol: float

    @property
    def operators(self) -> frozenset[str]:
        """The operators that the model is made of."""
        return frozenset(node.op_type for node in self.model.graph.node)

    @property
    def of_singa(self) -> bool:
        """Whether Apache SINGA's documentation covers every operator."""
        return self.operators <= SINGA_OPERATORS and not any(node.domain for node in self.model.graph.node)


@cache
def cases() -> tuple[Case, ...]:
    """Every node test of the installed onnx."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for test in load_model_tests(kind="node"):
        inputs, outputs = test.data_sets[0]
        yield Case(
            test.name,
            test.model,
            tuple(map(_array, inputs)),
            tuple(map(_array, outputs)),
            test.rtol,
            test.atol,
        )


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def failure(case: Case, units: int = 0) -> str | None:
    """Why a test fails; None where it passes.  ``units`` in the last place, where given, are what the
    outputs may differ by."""
    try:
        results = SingaBackend.prepare(case.model).run(list(case.inputs))
    except Exception as error:  # a crash is a failure of the test, told with its kind
        return f"{type(error).__name__}: {error}"
    return difference(case, list(results), units)


def difference(case: Case, results: Sequence[Any], units: int = 0) -> str | None:
    """How outputs differ from the stated ones in number, type, shape or value."""
    if len(results) != len(case.outputs):
        return f"{len(results)} outputs, {len(case.outputs)} stated"
    for place, (got, stated) in enumerate(zip(results, case.outputs, strict=True)):
        if got.dtype != stated.dtype or got.shape != stated.shape:
            return f"output {place} is {got.dtype}{got.shape}, stated {stated.dtype}{stated.shape}"
        rtol = units * float(ml_dtypes.finfo(stated.dtype).eps) if units else case.rtol
        close = np.isclose(_widened(got), _widened(stated), rtol=rtol, atol=case.atol, equal_nan=True)
        if not close.all():
            return f"output {place}: {np.size(close) - np.count_nonzero(close)} of {close.size} values differ"
    return None


def _widened(array: np.ndarray) -> np.ndarray:
    """In a type that numpy compares: the small floats and integers as float64."""
    return array if array.dtype.kind in "bc" else array.astype(np.float64)
