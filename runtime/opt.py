"""SINGA's optimizers: what a parameter becomes from its gradient.

All they keep between steps (momentum, running averages, the step's number) is tensors, so that a
planned training step carries it on as the eager one does.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from . import eager
from .differentiation import backward
from .errors import InputError
from .tensor import Tensor, TypeLike, float32, to_numpy


class DecayScheduler:
    """A value that changes with the number of steps done."""

    def __init__(self, init_value: float) -> None:
        self.init_value = init_value

    def __call__(self, step: Tensor) -> Tensor:
        return self.call(step)

    def call(self, step: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no call")


class Constant(DecayScheduler):
    """Always the same."""

    def call(self, step: Tensor) -> Tensor:
        return eager.scalar(step.device, float(self.init_value), np.dtype(np.float32))


class ExponentialDecay(DecayScheduler):
    """init_value * decay_rate ^ (step / decay_steps), the exponent rounded down where ``staircase``."""

    def __init__(
        self, init_value: float, decay_steps: int, decay_rate: float, staircase: bool = False
    ) -> None:
        super().__init__(init_value)
        self.decay_steps, self.decay_rate, self.staircase = decay_steps, decay_rate, staircase

    def call(self, step: Tensor) -> Tensor:
        exponent = step.as_type(float32) / float(self.decay_steps)
        if self.staircase:
            exponent = eager.apply("Floor", (exponent,))[0]
        base = eager.scalar(step.device, float(self.decay_rate), np.dtype(np.float32))
        return eager.apply("Pow", (base, exponent))[0] * float(self.init_value)


class Optimizer:
    """Base of the optimizers.  ``lr``: a number or a DecayScheduler."""

    slots: tuple[str, ...] = ()
    """What is kept for each parameter: ``name:slot`` in the states."""

    def __init__(self, lr: float | DecayScheduler, dtype: TypeLike = float32) -> None:
        if not isinstance(lr, DecayScheduler) and lr < 0:
            raise InputError(f"the learning rate is {lr}; it must not be negative")
        self.lr = lr if isinstance(lr, DecayScheduler) else Constant(lr)
        self.dtype = dtype
        self.step_counter: Tensor | None = None
        self._steps = 0
        self._kept: OrderedDict[str, Tensor] = OrderedDict()
        self._loaded: dict[str, np.ndarray] = {}

    def get_states(self) -> dict[str, np.ndarray]:
        """The step's number and all that is kept for the parameters, on the host."""
        steps = self._steps if self.step_counter is None else int(to_numpy(self.step_counter))
        states = {"step_counter": np.asarray(steps)}
        return states | {name: to_numpy(tensor) for name, tensor in self._kept.items()}

    def set_states(self, states: dict[str, np.ndarray]) -> None:
        """Take states that ``get_states`` gave; raises InputError for those of another optimizer."""
        for name in states:
            if name != "step_counter" and name.rpartition(":")[2] not in self.slots:
                raise InputError(
                    f"{type(self).__name__} keeps no state {name!r}: these are another optimizer's"
                )
        self._steps = int(np.asarray(states.get("step_counter", 0)).reshape(-1)[0])
        if self.step_counter is not None:
            self.step_counter.copy_from_numpy(np.asarray(self._steps, np.int32))
        for name, value in states.items():
            if name == "step_counter":
                continue
            if name in self._kept:
                self._kept[name].copy_from_numpy(np.asarray(value))
            else:
                self._loaded[name] = np.asarray(value)

    def __call__(self, loss: Tensor) -> None:
        self.call(loss)

    def call(self, loss: Tensor) -> None:
        """One step: gradients of ``loss``, and each parameter updated from its own."""
        for parameter, gradient in backward(loss):
            self.apply(parameter.name or f"param{id(parameter)}", parameter, gradient)
        self.step()

    def backward_and_update(self, loss: Tensor) -> None:
        """``call`` under its older name."""
        self.call(loss)

    def step(self) -> None:
        """Count a step; called once all parameters are updated."""
        if self.step_counter is not None:
            self.step_counter += 1

    def apply(self, param_name: str, param_value: Tensor, param_grad: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no apply")

    def update(self, param: Tensor, grad: Tensor) -> None:
        """``apply`` by the tensor's own name."""
        self.apply(param.name or f"param{id(param)}", param, grad)

    def device_check(self, *inputs: Tensor) -> None:
        """Raise InputError where a parameter and its gradient are on different devices."""
        if len({id(tensor.device) for tensor in inputs}) > 1:
            raise InputError("a parameter and its gradient are on different devices")

    def _rate(self, like: Tensor) -> Tensor:
        """The learning rate of this step."""
        if self.step_counter is None:
            self.step_counter = Tensor(
                device=like.device,
                data=np.asarray(self._steps, np.int32),
                requires_grad=False,
                name="step_counter",
            )
        rate = self.lr(self.step_counter)
        return rate if rate.data_type == like.data_type else rate.as_type(like.data_type)

    def _slot(self, name: str, slot: str, like: Tensor) -> Tensor:
        """What is kept for a parameter: zeros at first, or what was loaded."""
        key = f"{name}:{slot}"
        if key not in self._kept:
            data = self._loaded.pop(key, None)
            if data is not None and data.shape != like.shape:
                raise InputError(
                    f"state {key!r} has shape {list(data.shape)}, the parameter {list(like.shape)}"
                )
            content = np.zeros(like.shape, like.data_type) if data is None else data.astype(like.data_type)
            self._kept[key] = Tensor(device=like.device, data=content, requires_grad=False, name=key)
        return self._kept[key]


def _check(name: str, value: Tensor, gradient: Tensor) -> None:
    if value.shape != gradient.shape:
        raise InputError(f"{name}: the gradient's shape {list(gradient.shape)} is not {list(value.shape)}")


class SGD(Optimizer):
    """g += wd p;  v = m v + (1 - dampening) g, at first g;  p -= lr v (Nesterov: lr (g + m v))."""

    slots = ("momentum",)

    def __init__(
        self,
        lr: float | DecayScheduler = 0.1,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        dtype: TypeLike = float32,
    ) -> None:
        super().__init__(lr, dtype)
        if momentum < 0 or weight_decay < 0:
            raise InputError(f"momentum {momentum} and weight_decay {weight_decay} must not be negative")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise InputError("Nesterov momentum needs a momentum and no dampening")
        self.momentum, self.dampening = momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov

    def apply(self, param_name: str, param_value: Tensor, param_grad: Tensor) -> None:
        _check(param_name, param_value, param_grad)
        self.device_check(param_value, param_grad)
        gradient = param_grad
        if self.weight_decay:
            gradient = gradient + param_value * self.weight_decay
        if self.momentum:
            first = (
                f"{param_name}:momentum" not in self._kept and f"{param_name}:momentum" not in self._loaded
            )
            kept = self._slot(param_name, "momentum", param_value)
            share = 1.0 if first else 1.0 - self.dampening
            kept.copy_data(kept * self.momentum + (gradient if share == 1.0 else gradient * share))
            gradient = gradient + kept * self.momentum if self.nesterov else kept
        param_value.copy_data(param_value - gradient * self._rate(param_value))


class RMSProp(Optimizer):
    """r = rho r + (1 - rho) g^2;  p -= lr g / sqrt(r + epsilon)."""

    slots = ("running_average",)

    def __init__(
        self, lr: Any = 0.1, rho: float = 0.9, epsilon: float = 1e-8, weight_decay: float = 0
    ) -> None:
        super().__init__(lr)
        self.rho, self.epsilon, self.weight_decay = rho, epsilon, weight_decay

    def apply(self, param_name: str, param_value: Tensor, param_grad: Tensor) -> None:
        _check(param_name, param_value, param_grad)
        gradient = param_grad + param_value * self.weight_decay if self.weight_decay else param_grad
        kept = self._slot(param_name, "running_average", param_value)
        kept.copy_data(kept * self.rho + gradient * gradient * (1.0 - self.rho))
        step = gradient / eager.apply("Sqrt", (kept + self.epsilon,))[0]
        param_value.copy_data(param_value - step * self._rate(param_value))


class AdaGrad(Optimizer):
    """h += g^2;  p -= lr g / sqrt(h + epsilon)."""

    slots = ("history",)

    def __init__(self, lr: Any = 0.1, epsilon: float = 1e-8, weight_decay: float = 0) -> None:
        super().__init__(lr)
        self.epsilon, self.weight_decay = epsilon, weight_decay

    def apply(self, param_name: str, param_value: Tensor, param_grad: Tensor) -> None:
        _check(param_name, param_value, param_grad)
        gradient = param_grad + param_value * self.weight_decay if self.weight_decay else param_grad
        kept = self._slot(param_name, "history", param_value)
        kept.copy_data(kept + gradient * gradient)
        step = gradient / eager.apply("Sqrt", (kept + self.epsilon,))[0]
        param_value.copy_data(param_value - step * self._rate(param_value))


class Adam(Optimizer):
    """Averages of g and g^2, corrected for their start at zero;  p -= lr m / (sqrt(v) + epsilon)."""

    slots = ("m", "v")

    def __init__(
        self,
        lr: Any = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0,
    ) -> None:
        super().__init__(lr)
        self.beta_1, self.beta_2 = beta_1, beta_2
        self.epsilon, self.weight_decay = epsilon, weight_decay

    def apply(self, param_name: str, param_value: Tensor, param_grad: Tensor) -> None:
        _check(param_name, param_value, param_grad)
        gradient = param_grad + param_value * self.weight_decay if self.weight_decay else param_grad
        m, v = (self._slot(param_name, slot, param_value) for slot in self.slots)
        m.copy_data(m * self.beta_1 + gradient * (1.0 - self.beta_1))
        v.copy_data(v * self.beta_2 + gradient * gradient * (1.0 - self.beta_2))
        rate = self._rate(param_value)
        assert self.step_counter is not None
        done = self.step_counter.as_type(param_value.data_type) + 1.0
        first = m / (1.0 - _power(self.beta_1, done))
        second = v / (1.0 - _power(self.beta_2, done))
        step = first / (eager.apply("Sqrt", (second,))[0] + self.epsilon)
        param_value.copy_data(param_value - step * rate)


def _power(base: float, exponent: Tensor) -> Tensor:
    return eager.apply("Pow", (eager.scalar(exponent.device, base, exponent.data_type), exponent))[0]
