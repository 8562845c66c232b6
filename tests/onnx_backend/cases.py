"""ONNX's own node tests: what each holds, how it is run here and how its outputs are compared."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from sonnx.translator import SingaBackend

SINGA_OPERATORS = frozenset(
    """Abs Acos Acosh Add And Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Clip Concat
    ConstantOfShape Conv Cos Cosh DepthToSpace Div Dropout Elu Equal Erf Expand Flatten Floor Gather Gemm
    GlobalAveragePool Greater HardSigmoid Identity LeakyRelu Less Log Logsoftmax Logistic MatMul Max MaxPool
    Mean Min Mul Neg NonZero Not OneHot Or PRelu Pad Pow ReduceMean ReduceSum Relu Reshape Round
    ScatterElements Selu Shape Sigmoid Sign Sin Sinh Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt
    Squeeze Sub Sum Tan Tanh Tile Transpose Unsqueeze Upsample Where Xor""".split()
)


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


def failure(case: Case) -> str | None:
    """Why a test fails; None where it passes."""
    try:
        results = SingaBackend.prepare(case.model).run(list(case.inputs))
    except Exception as error:  # a crash is a failure of the test, told with its kind
        return f"{type(error).__name__}: {error}"
    return difference(case, list(results))


def difference(case: Case, results: Sequence[Any]) -> str | None:
    """How outputs differ from the stated ones in number, type, shape or value."""
    if len(results) != len(case.outputs):
        return f"{len(results)} outputs, {len(case.outputs)} stated"
    random = "_seeded" not in case.name and bool(case.operators & {"RandomNormal", "RandomUniform"})
    for place, (got, stated) in enumerate(zip(results, case.outputs, strict=True)):
        if got.dtype != stated.dtype or got.shape != stated.shape:
            return f"output {place} is {got.dtype}{got.shape}, stated {stated.dtype}{stated.shape}"
        if random:
            continue
        wide = _widened(stated)
        close = np.isclose(_widened(got), wide, rtol=case.rtol, atol=case.atol, equal_nan=True)
        if not close.all():
            return f"output {place}: {np.size(close) - np.count_nonzero(close)} of {close.size} values differ"
    return None


def _widened(array: np.ndarray) -> np.ndarray:
    """In a type that numpy compares: the small floats and integers as float64."""
    return array if array.dtype.kind in "bc" else array.astype(np.float64)


if __name__ == "__main__":
    import collections, time
    groups = collections.defaultdict(list)
    passed = 0
    for case in cases():
        if sys.argv[1:] and not any(a in case.name for a in sys.argv[1:]): continue
        why = failure(case)
        if why is None: passed += 1
        else: groups[",".join(sorted(case.operators))].append((case.name, why))
    for ops, fs in sorted(groups.items()):
        print(f"== {ops} {len(fs)}")
        for n, w in fs[:6]: print("   ", n, "|", w[:260].replace("\n", " / "))
    print(passed, "passed")
