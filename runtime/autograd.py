"""SINGA's autograd: the operator classes, and a function for each that applies it.

``training`` switches remembering on: what is applied meanwhile can be gone back through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import operator_classes
from .differentiation import (
    Dummy,
    Operator,
    axis_helper,
    back_broadcast,
    backward,
    gradients,
    infer_dependency,
)
from .operator_classes import *  # noqa: F403
from .operator_classes import BatchNormHandle, ConvHandle, PoolingHandle
from .tensor import Tensor

__all__ = [
    "BatchNormHandle",
    "ConvHandle",
    "Dummy",
    "Operator",
    "PoolingHandle",
    "axis_helper",
    "back_broadcast",
    "backward",
    "gradients",
    "infer_dependency",
    "training",
]

training = False
"""Whether applications are remembered for ``backward``."""

_FUNCTIONS: dict[str, tuple[str, int | None, dict[str, Any]]] = {
    # function: class, how many tensors it takes (None: any number), defaults of the rest where they
    # differ from the class's own
    "mean": ("Mean", None, {}),
    "sum": ("Sum", None, {}),
    "add_all": ("Sum", None, {}),
    "min": ("Min", None, {}),
    "max": ("Max", None, {}),
    "relu": ("ReLU", 1, {}),
    "identity": ("Identity", 1, {}),
    "tanh": ("Tanh", 1, {}),
    "cos": ("Cos", 1, {}),
    "cosh": ("Cosh", 1, {}),
    "acos": ("Acos", 1, {}),
    "acosh": ("Acosh", 1, {}),
    "sin": ("Sin", 1, {}),
    "sinh": ("Sinh", 1, {}),
    "asin": ("Asin", 1, {}),
    "asinh": ("Asinh", 1, {}),
    "tan": ("Tan", 1, {}),
    "atan": ("Atan", 1, {}),
    "atanh": ("Atanh", 1, {}),
    "sigmoid": ("Sigmoid", 1, {}),
    "abs": ("Abs", 1, {}),
    "exp": ("Exp", 1, {}),
    "sign": ("Sign", 1, {}),
    "softsign": ("SoftSign", 1, {}),
    "sqrt": ("Sqrt", 1, {}),
    "softplus": ("SoftPlus", 1, {}),
    "log": ("Log", 1, {}),
    "shape": ("Shape", 1, {}),
    "_not": ("Not", 1, {}),
    "negative": ("Negative", 1, {}),
    "reciprocal": ("Reciprocal", 1, {}),
    "ceil": ("Ceil", 1, {}),
    "floor": ("Floor", 1, {}),
    "round": ("Round", 1, {}),
    "rounde": ("Rounde", 1, {}),
    "erf": ("Erf", 1, {}),
    "nonzero": ("NonZero", 1, {}),
    "less": ("Less", 2, {}),
    "greater": ("Greater", 2, {}),
    "equal": ("Equal", 2, {}),
    "add": ("Add", 2, {}),
    "sub": ("Sub", 2, {}),
    "mul": ("Mul", 2, {}),
    "div": ("Div", 2, {}),
    "pow": ("Pow", 2, {}),
    "matmul": ("Matmul", 2, {}),
    "prelu": ("PRelu", 2, {}),
    "_and": ("And", 2, {}),
    "_or": ("Or", 2, {}),
    "_xor": ("Xor", 2, {}),
    "cossim": ("CosSim", 2, {}),
    "embedding": ("Embedding", 2, {}),
    "add_bias": ("AddBias", 2, {}),
    "ranking_loss": ("RankingLoss", 2, {}),
    "clip": ("Clip", 1, {"min": None, "max": None}),
    "reshape": ("Reshape", 1, {}),
    "elu": ("Elu", 1, {}),
    "selu": ("SeLU", 1, {}),
    "softmax": ("SoftMax", 1, {}),
    "flatten": ("Flatten", 1, {}),
    "unsqueeze": ("Unsqueeze", 1, {"axis": -1}),
    "transpose": ("Transpose", 1, {}),
    "leakyrelu": ("LeakyRelu", 1, {"a": 0.01}),
    "hardsigmoid": ("HardSigmoid", 1, {}),
    "squeeze": ("Squeeze", 1, {}),
    "globalaveragepool": ("GlobalAveragePool", 1, {}),
    "constant_of_shape": ("ConstantOfShape", 1, {}),
    "dropout": ("Dropout", 1, {}),
    "reduce_sum": ("ReduceSum", 1, {}),
    "reduce_mean": ("ReduceMean", 1, {}),
    "slice": ("Slice", 1, {}),
    "split": ("Split", 1, {}),
    "gather": ("Gather", 1, {}),
    "tile": ("Tile", 1, {}),
    "cast": ("Cast", 1, {}),
    "expand": ("Expand", 1, {}),
    "pad": ("Pad", 1, {}),
    "upsample": ("UpSample", 1, {}),
    "depth_to_space": ("DepthToSpace", 1, {}),
    "space_to_depth": ("SpaceToDepth", 1, {}),
    "scatter_elements": ("ScatterElements", 1, {}),
    "binary_cross_entropy": ("BinaryCrossEntropy", 1, {}),
    "cross_entropy": ("CrossEntropy", 1, {}),
    "softmax_cross_entropy": ("SoftMaxCrossEntropy", 1, {}),
    "mse_loss": ("MeanSquareError", 1, {}),
    "where": ("Where", 2, {}),
}


def _function(class_name: str, tensors: int | None, defaults: dict[str, Any]) -> Callable[..., Any]:
    kind = getattr(operator_classes, class_name)

    def apply(*args: Any, **kwargs: Any) -> Any:
        if tensors is None:
            return kind()(*args)
        rest = args[tensors:]
        given = dict(defaults) if not rest else {}
        return kind(*rest, **{**given, **kwargs})(*args[:tensors])

    apply.__doc__ = (
        f"Apply {class_name}: {tensors or 'any number of'} tensors, then what its constructor takes."
    )
    return apply


for _name, (_class, _tensors, _defaults) in _FUNCTIONS.items():
    globals()[_name] = _function(_class, _tensors, _defaults)


def cat(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors one after the other along an axis."""
    return operator_classes.Concat(axis)(*xs)


def onehot(axis: int, indices: Tensor, depth: int, values: Sequence[float]) -> Tensor:
    """``values[1]`` at each index along a new axis of size ``depth``, ``values[0]`` elsewhere."""
    return operator_classes.OneHot(axis, depth, values)(indices)


def gemm(
    A: Tensor,
    B: Tensor,
    C: Tensor | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """alpha A B + beta C, either matrix transposed first."""
    inputs = (A, B) if C is None else (A, B, C)
    return operator_classes.Gemm(alpha, beta, transA, transB)(*inputs)


def conv2d(
    handle: ConvHandle,
    x: Tensor,
    W: Tensor,
    b: Tensor | None = None,
    odd_padding: Sequence[int] = (0, 0, 0, 0),
) -> Tensor:
    """Convolve x [N, C, spatial...] with W [M, C / group, kernel...]."""
    return operator_classes._Conv2d(handle, odd_padding)(*((x, W) if b is None else (x, W, b)))


def pooling_2d(handle: PoolingHandle, x: Tensor, odd_padding: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    """The maximum or mean over windows of x [N, C, spatial...]."""
    return operator_classes._Pooling2d(handle, odd_padding)(x)


def batchnorm_2d(
    handle: BatchNormHandle, x: Tensor, scale: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """Normalise x [N, C, ...] for each channel; in training the running statistics are updated."""
    return operator_classes._BatchNorm2d(handle, running_mean, running_var)(x, scale, bias)
