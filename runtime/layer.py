"""SINGA's layers: parts of a model that own parameters.

A layer makes its parameters when it first sees an input.  Its name, and so its parameters' names
(``conv1.W``), are those of the attributes that hold it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from . import autograd
from .errors import InputError
from .tensor import Tensor

SEPARATOR = "."


class Layer:
    """Base of all layers: subclasses define ``initialize`` (make parameters) and ``forward``."""

    own_params: tuple[str, ...] = ()
    own_states: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.name: str | None = None
        self._initialized = False
        self._layers: OrderedDict[str, Layer] = OrderedDict()

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Layer) and name != "_parent":
            self.__dict__.setdefault("_layers", OrderedDict())[name] = value
            value.name = name
        object.__setattr__(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        self.device_check(*tensors)
        if not self._initialized:
            self.initialize(*args, **kwargs)
            self._initialized = True
        return self.forward(*args, **kwargs)

    def initialize(self, *input: Any, **kwargs: Any) -> None:
        """Make the parameters from the first input's shapes; nothing, unless overridden."""

    def forward(self, *input: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def register_layers(self, *args: Layer) -> None:
        """Own layers that a list or tuple holds: they are named ``TypeName_i``."""
        for layer in args:
            name = f"{type(layer).__name__}_{len(self._layers)}"
            layer.name = name
            self._layers[name] = layer

    def dtype_check(self, *inputs: Tensor) -> None:
        """Raise InputError where the tensors' types differ."""
        if len({tensor.data_type for tensor in inputs}) > 1:
            listed = ", ".join(tensor.data_type.name for tensor in inputs)
            raise InputError(f"layer {self.name or type(self).__name__}: inputs of different types: {listed}")

    def device_check(self, *inputs: Tensor) -> None:
        """Raise InputError where the tensors are on different devices."""
        devices = {id(tensor.device): tensor.device for tensor in inputs}
        if len(devices) > 1:
            listed = ", ".join(str(device) for device in devices.values())
            raise InputError(
                f"layer {self.name or type(self).__name__}: inputs on different devices: {listed}"
            )

    def get_params(self) -> dict[str, Tensor]:
        """The parameters by dotted name, sublayers' included."""
        return self._collect(self.own_params, lambda layer: layer.get_params())

    def set_params(self, parameters: dict[str, Tensor]) -> None:
        """Copy values into the parameters named; raises InputError for an unknown one."""
        self._copy(self.get_params(), parameters)

    def get_states(self) -> dict[str, Tensor]:
        """Parameters and what else the layer keeps (running statistics), by dotted name."""
        return self._collect(self.own_params + self.own_states, lambda layer: layer.get_states())

    def set_states(self, states: dict[str, Tensor]) -> None:
        """Copy values into the states named; raises InputError for an unknown or misshapen one."""
        self._copy(self.get_states(), states)

    def _collect(
        self, own: Sequence[str], of_layer: Callable[[Layer], dict[str, Tensor]]
    ) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name in own:
            tensor = getattr(self, name, None)
            if isinstance(tensor, Tensor):
                found[name] = tensor
        for prefix, layer in self._layers.items():
            for name, tensor in of_layer(layer).items():
                found[prefix + SEPARATOR + name] = tensor
        return found

    def _copy(self, own: dict[str, Tensor], given: dict[str, Tensor]) -> None:
        for name, value in given.items():
            if name not in own:
                raise InputError(f"layer {self.name or type(self).__name__} has no state {name!r}")
            if tuple(value.shape) != own[name].shape:
                raise InputError(
                    f"state {name!r} has shape {list(own[name].shape)}, given is {list(value.shape)}"
                )
            if isinstance(value, Tensor):
                own[name].copy_data(value.clone().to_device(own[name].device))
            else:
                own[name].copy_from_numpy(value)

    def _parameter(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """A parameter of zeros on x's device, in its type where that is a float type."""
        dtype = x.data_type if x.data_type.kind in "fV" else "float32"
        return Tensor(shape, x.device, dtype, requires_grad=True, stores_grad=True)


class Linear(Layer):
    """x W + b, W [in, out].  ``Linear(out)``, or ``Linear(in, out)`` as older scripts write it."""

    own_params = ("W", "b")

    def __init__(self, out_features: int, *args: Any, bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        self.out_features = int(args[0]) if args else out_features
        self.bias = bool(args[1]) if len(args) > 1 else bias

    def initialize(self, x: Tensor) -> None:
        self.in_features = x.shape[-1]
        self.W = self._parameter(x, (self.in_features, self.out_features))
        self.W.gaussian(0.0, math.sqrt(2.0 / (self.in_features + self.out_features)))
        if self.bias:
            self.b = self._parameter(x, (self.out_features,))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.W.shape[0]:
            raise InputError(
                f"layer {self.name or 'Linear'}: x has {x.shape[-1]} features, W takes {self.W.shape[0]}"
            )
        y = autograd.matmul(x, self.W)
        if not self.bias:
            return y
        return autograd.add_bias(y, self.b, axis=0) if y.ndim() == 2 else autograd.add(y, self.b)


class Gemm(Layer):
    """alpha x W + beta b, W [out, in] where ``transB``."""

    own_params = ("W", "b")

    def __init__(
        self,
        nb_kernels: int,
        alpha: float = 1.0,
        beta: float = 1.0,
        transA: bool = False,
        transB: bool = True,
        bias: bool = True,
        bias_shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.nb_kernels, self.alpha, self.beta = nb_kernels, alpha, beta
        self.transA, self.transB = int(transA), int(transB)
        self.bias, self.bias_shape = bias, bias_shape

    def initialize(self, x: Tensor) -> None:
        features = x.shape[0] if self.transA else x.shape[-1]
        shape = (self.nb_kernels, features) if self.transB else (features, self.nb_kernels)
        self.W = self._parameter(x, shape)
        self.W.gaussian(0.0, math.sqrt(2.0 / (features + self.nb_kernels)))
        if self.bias:
            self.b = self._parameter(x, tuple(self.bias_shape or (1, self.nb_kernels)))

    def forward(self, x: Tensor) -> Tensor:
        bias = self.b if self.bias else None
        return autograd.gemm(x, self.W, bias, self.alpha, self.beta, self.transA, self.transB)


class Embedding(Layer):
    """Rows of W [input_dim, output_dim] at the integers in x."""

    own_params = ("W",)

    def __init__(self, input_dim: int, output_dim: int, initializer: str = "gaussian") -> None:
        super().__init__()
        self.input_dim, self.output_dim, self.initializer = input_dim, output_dim, initializer
        self.pretrained = False

    def initialize(self, x: Tensor) -> None:
        if self.pretrained:
            return
        self.W = Tensor((self.input_dim, self.output_dim), x.device, requires_grad=True, stores_grad=True)
        if self.initializer == "uniform":
            self.W.uniform(-1.0, 1.0)
        elif self.initializer == "gaussian":
            self.W.gaussian(0.0, 1.0)
        else:
            raise InputError(f"Embedding's initializer is 'gaussian' or 'uniform', not {self.initializer!r}")

    def from_pretrained(self, W: Tensor, freeze: bool = True) -> None:
        """Take W; ``freeze``: it does not train."""
        if W.shape != (self.input_dim, self.output_dim):
            raise InputError(
                f"Embedding takes W of shape {[self.input_dim, self.output_dim]}, not {list(W.shape)}"
            )
        self.W = W.clone()
        self.W.requires_grad = self.W.stores_grad = not freeze
        self.pretrained = True

    def forward(self, x: Tensor) -> Tensor:
        return autograd.embedding(x, self.W)


def _pair(value: int | Sequence[int], what: str, rank: int = 2) -> tuple[int, ...]:
    """One number for each spatial axis."""
    if isinstance(value, int):
        return (value,) * rank
    if len(value) != rank:
        raise InputError(f"{what} {list(value)} has {len(value)} numbers for {rank} spatial axes")
    return tuple(int(v) for v in value)


class Conv2d(Layer):
    """Convolution with W [nb_kernels, in / group, kh, kw] and a bias.

    ``Conv2d(out, kernel)``, or ``Conv2d(in, out, kernel[, stride[, padding]])`` as older scripts write it.
    ``pad_mode``: NOTSET, SAME_UPPER or SAME_LOWER.  ``activation``: NOTSET or RELU.
    """

    own_params = ("W", "b")

    def __init__(
        self,
        nb_kernels: int,
        kernel_size: int | Sequence[int],
        *args: Any,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        group: int = 1,
        bias: bool = True,
        pad_mode: str = "NOTSET",
        activation: str = "NOTSET",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if args:
            nb_kernels, kernel_size = kernel_size, args[0]  # type: ignore[assignment]
            stride = args[1] if len(args) > 1 else stride
            padding = args[2] if len(args) > 2 else padding
        self.nb_kernels, self.kernel_size = nb_kernels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.group, self.bias, self.pad_mode = group, bias, pad_mode
        self.activation = activation.upper()
        if self.activation not in ("NOTSET", "RELU"):
            raise InputError(f"Conv2d's activation is NOTSET or RELU, not {activation!r}")

    def initialize(self, x: Tensor) -> None:
        rank = x.ndim() - 2
        channels = x.shape[1]
        if channels % self.group or self.nb_kernels % self.group:
            raise InputError(
                f"layer {self.name or 'Conv2d'}: {channels} channels and {self.nb_kernels} kernels "
                f"do not divide into {self.group} groups"
            )
        kernel = _pair(self.kernel_size, "kernel_size", rank)
        self.handle = autograd.ConvHandle(
            kernel,
            _pair(self.stride, "stride", rank),
            _pair(self.padding, "padding", rank),
            _pair(self.dilation, "dilation", rank),
            self.group,
            self.pad_mode,
        )
        self.W = self._parameter(x, (self.nb_kernels, channels // self.group, *kernel))
        self.W.gaussian(0.0, math.sqrt(2.0 / (channels // self.group * math.prod(kernel) + self.nb_kernels)))
        if self.bias:
            self.b = self._parameter(x, (self.nb_kernels,))

    def forward(self, x: Tensor) -> Tensor:
        y = autograd.conv2d(self.handle, x, self.W, self.b if self.bias else None)
        return autograd.relu(y) if self.activation == "RELU" else y


class SeparableConv2d(Layer):
    """A depthwise convolution and a pointwise one."""

    def __init__(
        self,
        nb_kernels: int,
        kernel_size: int | Sequence[int],
        *args: Any,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        if args:
            nb_kernels, kernel_size = kernel_size, args[0]  # type: ignore[assignment]
            stride = args[1] if len(args) > 1 else stride
            padding = args[2] if len(args) > 2 else padding
        self.nb_kernels, self.kernel_size = nb_kernels, kernel_size
        self.stride, self.padding, self.bias = stride, padding, bias

    def initialize(self, x: Tensor) -> None:
        channels = x.shape[1]
        self.depthwise_conv = Conv2d(
            channels,
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            group=channels,
            bias=self.bias,
        )
        self.point_conv = Conv2d(self.nb_kernels, 1, bias=self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.point_conv(self.depthwise_conv(x))


class BatchNorm2d(Layer):
    """Normalisation for each channel; ``momentum`` is a batch's share in the running statistics."""

    own_params = ("scale", "bias")
    own_states = ("running_mean", "running_var")

    def __init__(self, *args: Any, momentum: float = 0.9) -> None:
        super().__init__()
        self.momentum = float(args[1]) if len(args) > 1 else momentum
        self.handle = autograd.BatchNormHandle(self.momentum)

    def initialize(self, x: Tensor) -> None:
        shape = (x.shape[1],)
        self.scale = self._parameter(x, shape)
        self.scale.set_value(1.0)
        self.bias = self._parameter(x, shape)
        self.running_mean = Tensor(shape, x.device, self.scale.data_type, requires_grad=False)
        self.running_var = Tensor(shape, x.device, self.scale.data_type, requires_grad=False)
        self.running_var.set_value(1.0)

    def forward(self, x: Tensor) -> Tensor:
        return autograd.batchnorm_2d(
            self.handle, x, self.scale, self.bias, self.running_mean, self.running_var
        )


class Pooling2d(Layer):
    """The maximum or mean over windows; ``stride`` None is the window's size."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        is_max: bool = True,
        pad_mode: str = "NOTSET",
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.is_max, self.pad_mode = is_max, pad_mode

    def initialize(self, x: Tensor) -> None:
        rank = x.ndim() - 2
        kernel = _pair(self.kernel_size, "kernel_size", rank)
        stride = kernel if self.stride is None else _pair(self.stride, "stride", rank)
        padding = _pair(self.padding, "padding", rank)
        self.handle = autograd.PoolingHandle(kernel, stride, padding, self.is_max, self.pad_mode)

    def forward(self, x: Tensor) -> Tensor:
        return autograd.pooling_2d(self.handle, x)


class MaxPool2d(Pooling2d):
    """The maximum over windows."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, pad_mode: str = "NOTSET"
    ) -> None:
        super().__init__(kernel_size, stride, padding, True, pad_mode)


class AvgPool2d(Pooling2d):
    """The mean over windows, padding not counted."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, pad_mode: str = "NOTSET"
    ) -> None:
        super().__init__(kernel_size, stride, padding, False, pad_mode)


class _Pooling1d(Pooling2d):
    """Pooling along the last axis of x [N, C, L] or [N, C, 1, L]."""

    maximum = True

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0, pad_mode: str = "NOTSET"
    ) -> None:
        super().__init__(kernel_size, stride, padding, self.maximum, pad_mode)

    def initialize(self, x: Tensor) -> None:
        more = x.ndim() - 3
        self.kernel_size = (1,) * more + _pair(self.kernel_size, "kernel_size", 1)
        self.stride = None if self.stride is None else (1,) * more + _pair(self.stride, "stride", 1)
        self.padding = (0,) * more + _pair(self.padding, "padding", 1)
        super().initialize(x)


class MaxPool1d(_Pooling1d):
    """The maximum over windows along one axis."""


class AvgPool1d(_Pooling1d):
    """The mean over windows along one axis."""

    maximum = False


class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return autograd.relu(x)


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        return autograd.sigmoid(x)


class Add(Layer):
    """a + b."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return autograd.add(a, b)


class Flatten(Layer):
    """To a matrix: the axes before ``axis`` are its rows."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return autograd.flatten(x, self.axis)


class SoftMax(Layer):
    """Softmax over all but the first axis."""

    def forward(self, x: Tensor) -> Tensor:
        return autograd.softmax(x)


class SoftMaxCrossEntropy(Layer):
    """Mean cross-entropy of softmax(x) against classes or one-hot rows t."""

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.softmax_cross_entropy(x, t)


class MeanSquareError(Layer):
    """The sum of squared differences over twice the batch."""

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.mse_loss(x, t)


class CrossEntropy(Layer):
    """-sum t log(x) over the batch."""

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.cross_entropy(x, t)


class BinaryCrossEntropy(Layer):
    """-sum t log(x) + (1 - t) log(1 - x) over the batch."""

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.binary_cross_entropy(x, t)


class Dropout(Layer):
    """Zeroes a share of x in training."""

    def __init__(self, ratio: float = 0.5) -> None:
        super().__init__()
        self.ratio = ratio

    def forward(self, x: Tensor) -> Tensor:
        return autograd.dropout(x, 0, self.ratio)


class Cat(Layer):
    """Tensors one after the other along an axis."""

    def __init__(self, axis: int = 0) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, xs: Sequence[Tensor]) -> Tensor:
        return autograd.cat(xs, self.axis)


class Reshape(Layer):
    """The same elements under another shape."""

    def forward(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return autograd.reshape(x, shape)
