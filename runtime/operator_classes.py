"""SINGA's operator classes: constructors as SINGA has them, computed by the runtime's operators.

Most are rows of a table; those whose constructors take tensors or handles are written out.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import tensor as _tensor
from .differentiation import Builtin, Operator, recording
from .eager import apply
from .errors import InputError
from .random import keep_mask
from .tensor import Tensor

_BOOLEAN = {"Less", "Greater", "Equal", "And", "Or", "Not", "Xor"}
"""SINGA has no bool: these give 0 and 1 in float32."""

REQUIRED = inspect.Parameter.empty

_PLAIN = [
    "ReLU",
    "Less",
    "Identity",
    "Matmul",
    "Greater",
    "PRelu",
    "Add",
    "Equal",
    "Sum",
    "Tanh",
    "Cos",
    "Cosh",
    "Acos",
    "Acosh",
    "Sin",
    "Sinh",
    "Asin",
    "Asinh",
    "Tan",
    "Atan",
    "Atanh",
    "Sigmoid",
    "Mul",
    "Abs",
    "Exp",
    "Sign",
    "Pow",
    "SoftSign",
    "Sqrt",
    "SoftPlus",
    "Sub",
    "Min",
    "Log",
    "Div",
    "Shape",
    "Max",
    "And",
    "Or",
    "Not",
    "Xor",
    "Negative",
    "Reciprocal",
    "Ceil",
    "Floor",
    "NonZero",
    "CosSim",
    "Round",
    "Rounde",
    "Embedding",
    "Erf",
    "Mean",
]
"""Classes whose constructors take nothing."""

_CLASSES: dict[str, dict[str, Any]] = {name: {} for name in _PLAIN} | {
    # class: what its constructor takes, in order, by the names of the runtime operator's attributes
    "Clip": {"min": REQUIRED, "max": REQUIRED},
    "AddBias": {"axis": 0},
    "Reshape": {"shape": REQUIRED},
    "Elu": {"alpha": 1.0},
    "SeLU": {"alpha": 1.67326, "gamma": 1.0507},
    "SoftMax": {"axis": 1},
    "Flatten": {"axis": 1},
    "Concat": {"axis": 0},
    "Unsqueeze": {"axis": REQUIRED},
    "Transpose": {"perm": REQUIRED},
    "LeakyRelu": {"a": REQUIRED},
    "HardSigmoid": {"alpha": 0.2, "gamma": 0.5},
    "Squeeze": {"axis": ()},
    "Gemm": {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0},
    "ReduceSum": {"axes": None, "keepdims": 1},
    "ReduceMean": {"axes": None, "keepdims": 1},
    "Slice": {"starts": REQUIRED, "ends": REQUIRED, "axes": None, "steps": None},
    "Tile": {"repeats": REQUIRED},
    "Expand": {"shape": REQUIRED},
    "Pad": {"mode": REQUIRED, "pads": REQUIRED, "constant": 0.0},
    "UpSample": {"mode": REQUIRED, "scales": REQUIRED},
    "DepthToSpace": {"blocksize": REQUIRED, "mode": "DCR"},
    "SpaceToDepth": {"blocksize": REQUIRED, "mode": "DCR"},
    "RankingLoss": {"M": 0.2},
}


def _class(name: str, takes: dict[str, Any], **members: Any) -> type[Builtin]:
    """A class whose constructor takes what the table says and keeps it as attributes."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(n, kind, default=d) for n, d in takes.items()])

    def __init__(self: Builtin, *args: Any, **kwargs: Any) -> None:
        Builtin.__init__(self)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.given = dict(bound.arguments)

    return type(
        name,
        (Builtin,),
        {
            "operator": name,
            "__init__": __init__,
            "__signature__": signature,
            "__doc__": f"SINGA's {name}{signature}.",
            **members,
        },
    )


def _boolean_forward(self: Builtin, *xs: Tensor) -> Tensor:
    return Builtin.forward(self, *xs).as_type(_tensor.float32)


def _boolean_backward(self: Builtin, *dys: Tensor) -> tuple[None, ...]:
    return (None,) * len(self.src)


for _name, _takes in _CLASSES.items():
    _members = {"forward": _boolean_forward, "backward": _boolean_backward} if _name in _BOOLEAN else {}
    globals()[_name] = _class(_name, _takes, **_members)


# --- operators whose constructors take tensors or handles ----------------------------------------


class _Loss(Builtin):
    """A loss whose target ``t`` the constructor takes: its gradient is not wanted."""

    def __init__(self, t: Tensor | np.ndarray) -> None:
        super().__init__()
        self.t = t

    def forward(self, x: Tensor) -> Any:
        if not isinstance(self.t, Tensor):
            self.t = Tensor(device=x.device, data=np.asarray(self.t), requires_grad=False)
        return super().forward(x, self.t)

    def backward(self, *dys: Tensor) -> Tensor | None:
        return super().backward(*dys)[0]


class BinaryCrossEntropy(_Loss):
    operator = "BinaryCrossEntropy"


class CrossEntropy(_Loss):
    operator = "CrossEntropy"


class SoftMaxCrossEntropy(_Loss):
    operator = "SoftMaxCrossEntropy"


class MeanSquareError(_Loss):
    operator = "MeanSquareError"


class Cast(Builtin):
    """``to``: one of SINGA's type numbers, a name, or a numpy dtype."""

    operator = "Cast"

    def __init__(self, to: Any) -> None:
        super().__init__()
        self.given = {"to": _tensor.data_type(to)}


class ConstantOfShape(Builtin):
    """A tensor of the shape that ``x`` holds, every element ``value`` (float32)."""

    operator = "ConstantOfShape"

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        shape = tuple(int(size) for size in _tensor.to_numpy(x).reshape(-1))
        return Tensor(device=x.device, data=np.full(shape, self.value, np.float32), requires_grad=False)

    def backward(self, *dys: Tensor) -> None:
        return None


class GlobalAveragePool(Builtin):
    """The mean over the spatial axes; ``data_format`` says where the channels are."""

    operator = "GlobalAveragePool"

    def __init__(self, data_format: str = "channels_first") -> None:
        super().__init__()
        if data_format not in ("channels_first", "channels_last"):
            raise InputError(f"data_format is channels_first or channels_last, not {data_format!r}")
        self.last = data_format == "channels_last"
        if self.last:
            self.operator = "ReduceMean"

    def forward(self, x: Tensor) -> Any:
        if self.last:
            self.given = {"axes": tuple(range(1, x.ndim() - 1)), "keepdims": 1}
        return super().forward(x)


class Split(Builtin):
    """Parts along an axis: of the sizes in ``parts``, or ``num_output`` equal ones."""

    operator = "Split"

    def __init__(self, axis: int, parts: Sequence[int] | None, num_output: int | None = None) -> None:
        super().__init__()
        if parts is None and num_output is None:
            raise InputError("Split takes parts or num_output")
        self.count = len(parts) if parts is not None else int(num_output or 0)
        self.given = {
            "axis": axis,
            "parts": tuple(parts) if parts is not None else None,
            "num_output": num_output,
        }

    def output_count(self) -> int:
        return self.count


class Gather(Builtin):
    """Rows along ``axis`` at ``indices`` (a tensor, an array or a list)."""

    operator = "Gather"

    def __init__(self, axis: int, indices: Any) -> None:
        super().__init__()
        self.given, self.indices = {"axis": axis}, indices

    def forward(self, x: Tensor) -> Any:
        return super().forward(x, _indices(self.indices, x))

    def backward(self, *dys: Tensor) -> Tensor | None:
        return super().backward(*dys)[0]


class ScatterElements(Builtin):
    """x with ``updates`` at ``indices`` along ``axis``."""

    operator = "ScatterElements"

    def __init__(self, indices: Any, updates: Any, axis: int = 0) -> None:
        super().__init__()
        self.given, self.indices, self.updates = {"axis": axis}, indices, updates

    def forward(self, x: Tensor) -> Any:
        updates = self.updates
        if not isinstance(updates, Tensor):
            updates = Tensor(device=x.device, data=np.asarray(updates, x.data_type), requires_grad=False)
        return super().forward(x, _indices(self.indices, x), updates)

    def backward(self, *dys: Tensor) -> Tensor | None:
        return super().backward(*dys)[0]


class OneHot(Builtin):
    """``values`` are those for off and on; ``depth`` how many classes."""

    operator = "OneHot"

    def __init__(self, axis: int, depth: int, values: Sequence[float]) -> None:
        super().__init__()
        self.given, self.values = {"axis": axis, "depth": int(np.asarray(depth).reshape(-1)[0])}, values

    def forward(self, indices: Tensor) -> Any:
        values = Tensor(device=indices.device, data=np.asarray(self.values, np.float32), requires_grad=False)
        return super().forward(indices, values)

    def backward(self, *dys: Tensor) -> None:
        return None


class Where(Builtin):
    """x where ``condition`` is not zero, else y."""

    operator = "Where"

    def __init__(self, condition: Any) -> None:
        super().__init__()
        self.condition = condition

    def forward(self, x: Tensor, y: Tensor) -> Any:
        condition = self.condition
        if not isinstance(condition, Tensor):
            condition = Tensor(device=x.device, data=np.asarray(condition) != 0, requires_grad=False)
        if condition.data_type != np.bool_:
            condition = condition.as_type(np.bool_)
        return super().forward(condition, x, y)

    def backward(self, *dys: Tensor) -> Any:
        return super().backward(*dys)[1:]


class Dropout(Operator):
    """In training: zeroes a share ``ratio`` of x and scales the rest by 1 / (1 - ratio)."""

    def __init__(self, seed: int = 0, ratio: float = 0.5) -> None:
        super().__init__()
        if not 0 <= ratio < 1:
            raise InputError(f"Dropout's ratio is {ratio}; it must be in [0, 1)")
        self.seed, self.ratio = seed, ratio

    def forward(self, x: Tensor) -> Tensor:
        if not recording() or not self.ratio:
            self.mask = None
            return apply("Dropout", [x], ratio=self.ratio)[0]
        self.mask = keep_mask(x, self.ratio) * (1.0 / (1.0 - self.ratio))
        return x * self.mask

    def backward(self, dy: Tensor) -> Tensor:
        return dy if self.mask is None else dy * self.mask


def _indices(indices: Any, x: Tensor) -> Tensor:
    if isinstance(indices, Tensor):
        return indices
    return Tensor(device=x.device, data=np.asarray(indices, np.int64), requires_grad=False)


# --- convolution, pooling, batch normalisation ---------------------------------------------------


@dataclass
class ConvHandle:
    """The geometry of a convolution, one number for each spatial axis."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    group: int = 1
    pad_mode: str = "NOTSET"


@dataclass
class PoolingHandle:
    """The geometry of a pooling."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    is_max: bool = True
    pad_mode: str = "NOTSET"


@dataclass
class BatchNormHandle:
    """``factor``: the share of a batch in the running statistics; ``epsilon`` is added to variances."""

    factor: float = 0.9
    epsilon: float = 1e-5


class _Conv2d(Builtin):
    operator = "_Conv2d"

    def __init__(self, handle: ConvHandle, odd_padding: Sequence[int] = (0, 0, 0, 0)) -> None:
        super().__init__()
        self.given = {
            "kernel_shape": handle.kernel_size,
            "strides": handle.stride,
            "padding": handle.padding,
            "odd_padding": tuple(odd_padding) if any(odd_padding) else None,
            "dilation": handle.dilation,
            "group": handle.group,
            "pad_mode": handle.pad_mode,
        }


class _Pooling2d(Builtin):
    operator = "_Pooling2d"

    def __init__(self, handle: PoolingHandle, odd_padding: Sequence[int] = (0, 0, 0, 0)) -> None:
        super().__init__()
        self.given = {
            "kernel_shape": handle.kernel_size,
            "strides": handle.stride,
            "padding": handle.padding,
            "odd_padding": tuple(odd_padding) if any(odd_padding) else None,
            "is_max": int(handle.is_max),
            "pad_mode": handle.pad_mode,
        }


class _BatchNorm2d(Builtin):
    """In training the batch's statistics are used, and the running ones take their share of them."""

    operator = "_BatchNorm2d"

    def __init__(
        self, handle: BatchNormHandle, running_mean: Tensor, running_var: Tensor, name: str | None = None
    ) -> None:
        super().__init__(name)
        self.running_mean, self.running_var = running_mean, running_var
        self.handle = handle

    def output_count(self) -> int:
        return 3 if recording() else 1

    def forward(self, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        self.given = {"momentum": self.handle.factor, "epsilon": self.handle.epsilon}
        if recording():
            self.given |= {"training": 1, "unbiased": 1}
        result = super().forward(x, scale, bias, self.running_mean, self.running_var)
        if not isinstance(result, tuple):
            return result
        y, mean, var = result
        self.running_mean.copy_data(mean)
        self.running_var.copy_data(var)
        return y

    def backward(self, *dys: Tensor) -> Any:
        return super().backward(*dys)[:3]
