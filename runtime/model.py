"""SINGA's models: a layer that is compiled, trained and saved as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import autograd, checkpoint, differentiation, eager, layer
from .array import DeviceArray
from .errors import InputError
from .executor import Executor
from .tensor import Tensor, to_numpy


class Model(layer.Layer):
    """Base of a user's models: subclasses define ``forward`` and, to train, ``train_one_batch``.

    A call runs ``train_one_batch`` in training and ``forward`` in evaluation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.training = True
        self._use_graph = False
        self._steps: dict[Any, _Step] = {}

    @property
    def optimizer(self) -> Any:
        return self.__dict__.get("_optimizer")

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        self.__dict__["_optimizer"] = value

    def set_optimizer(self, optimizer: Any) -> None:
        """The optimizer that ``train_one_batch`` uses as ``self.optimizer``."""
        self.optimizer = optimizer

    def compile(
        self,
        inputs: Sequence[Tensor],
        is_train: bool = True,
        use_graph: bool = False,
        sequential: bool = False,
    ) -> None:
        """Make all parameters from inputs like those given (their content does not matter).

        ``use_graph``: plan each step as one graph and replay it.  ``sequential`` is SINGA's; the
        planner orders steps itself.
        """
        if not inputs:
            raise InputError("compile takes at least one input")
        self.train(False)
        with differentiation.evaluating():
            self.forward(*inputs)
        self._initialized = True
        for name, tensor in self.get_states().items():
            tensor.name = name
        self.train(is_train)
        self.graph(use_graph, sequential)

    def train(self, mode: bool = True) -> None:
        """Whether a call trains."""
        self.training = bool(mode)
        autograd.training = self.training

    def eval(self) -> None:
        """Let calls evaluate."""
        self.train(False)

    def graph(self, mode: bool = True, sequential: bool = False) -> None:
        """Whether steps are planned as graphs and replayed."""
        self._use_graph = bool(mode)
        self._steps.clear()

    def train_one_batch(self, *input: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no train_one_batch")

    def __call__(self, *input: Any, **kwargs: Any) -> Any:
        autograd.training = self.training
        function = self.train_one_batch if self.training else self.forward
        if not self._initialized or not self._use_graph:
            return function(*input, **kwargs)
        key = (
            self.training,
            tuple(_key(arg) for arg in input),
            tuple((k, _key(v)) for k, v in kwargs.items()),
        )
        step = self._steps.setdefault(key, _Step(function))
        return step(input, kwargs)

    def save_states(self, fpath: str, aux_states: Mapping[str, Tensor | np.ndarray] = {}) -> None:
        """Write all states, and auxiliary ones, as Apache SINGA's checkpoint; refuses to overwrite."""
        arrays = {name: to_numpy(tensor) for name, tensor in self.get_states().items()}
        extra = {
            name: to_numpy(v) if isinstance(v, Tensor) else np.asarray(v) for name, v in aux_states.items()
        }
        checkpoint.write_states(fpath, arrays, extra)

    def load_states(self, fpath: str) -> dict[str, Tensor]:
        """Read a checkpoint into the states; the auxiliary ones are returned.

        Raises CheckpointError for a damaged file, InputError naming states that are missing, unknown
        or of another shape; then nothing is changed.
        """
        arrays, extra = checkpoint.read_states(fpath)
        own = self.get_states()
        missing, unknown = sorted(own.keys() - arrays.keys()), sorted(arrays.keys() - own.keys())
        if missing or unknown:
            raise InputError(
                f"{fpath}: states missing: {missing or 'none'}; unknown to the model: {unknown or 'none'}"
            )
        for name, array in arrays.items():
            if array.shape != own[name].shape:
                raise InputError(
                    f"{fpath}: {name!r} has shape {list(array.shape)}, its model {list(own[name].shape)}"
                )
        for name, array in arrays.items():
            own[name].copy_from_numpy(array)
        device = next(iter(own.values())).device if own else None
        return {name: Tensor(device=device, data=array, requires_grad=False) for name, array in extra.items()}


def _key(value: Any) -> Any:
    """What tells one kind of call from another: a tensor by shape and type, other arguments by value."""
    if isinstance(value, Tensor):
        return value.shape, value.data_type, id(value.device)
    if isinstance(value, (list, tuple)):
        return tuple(_key(item) for item in value)
    return value if isinstance(value, (int, float, str, bool, type(None))) else id(value)


class _Step:
    """One kind of call of a model: run, then recorded, then replayed.

    The first call runs, so that everything that is made once (parameters, an optimizer's states) is
    there; the second runs and is recorded; later ones replay the plan.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._warm = False
        self._executor: Executor | None = None
        self._result: Any = None
        self._leaves: dict[str, Tensor] = {}
        self._inputs: list[str] = []

    def __call__(self, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self._executor is not None:
            return self._replay(_tensors((inputs, kwargs)))
        if not self._warm:
            self._warm = True
            return self._function(*inputs, **kwargs)
        return self._record(inputs, kwargs)

    def _record(self, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = _tensors((inputs, kwargs))
        with eager.tracing(eager.Trace()) as trace:
            result = self._function(*inputs, **kwargs)
        outputs = _tensors(result)
        graph = trace.graph(given, outputs)
        self._inputs = [info.name for info in graph.inputs[: len(given)]]
        self._leaves = {name: tensor for name, tensor in trace.leaves.items() if not tensor.fixed}
        for name in graph.updates:
            # A replay writes these in place: no other tensor may share their memory.
            self._leaves[name].data = self._leaves[name].clone()
        self._result = _structure(result, iter(range(len(outputs))))
        self._names = [info.name for info in graph.outputs]
        device = next(iter(self._leaves.values())).device
        self._device = device
        self._executor = Executor(graph, device.opencl)
        return result

    def _replay(self, given: Sequence[Tensor]) -> Any:
        assert self._executor is not None
        feed: dict[str, np.ndarray | DeviceArray] = {
            name: tensor.array for name, tensor in self._leaves.items()
        }
        feed |= {name: tensor.array for name, tensor in zip(self._inputs, given, strict=True)}
        results = self._executor.run_on_device(feed)
        tensors = [Tensor.from_array(results[name], self._device) for name in self._names]
        return _fill(self._result, tensors)


def _tensors(value: Any) -> list[Tensor]:
    """The tensors in nested tuples, lists and dictionaries, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


class _Place(int):
    """Where a tensor stands in a result's structure."""


def _structure(value: Any, places: Any) -> Any:
    if isinstance(value, Tensor):
        return _Place(next(places))
    if isinstance(value, (tuple, list)):
        return type(value)(_structure(item, places) for item in value)
    if isinstance(value, Mapping):
        return {name: _structure(item, places) for name, item in value.items()}
    return value


def _fill(structure: Any, tensors: Sequence[Tensor]) -> Any:
    if isinstance(structure, _Place):
        return tensors[structure]
    if isinstance(structure, (tuple, list)):
        return type(structure)(_fill(item, tensors) for item in structure)
    if isinstance(structure, Mapping):
        return {name: _fill(item, tensors) for name, item in structure.items()}
    return structure
