"""Operators applied at once to tensors, and the recording of what is applied.

Each distinct application (operator, attributes, types and shapes) is a one-node graph with a plan,
made the first time and only run afterwards.  While a ``Trace`` is active every application is also
recorded as a node, so that a whole step can be planned as one graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .executor import Executor
from .graph import Graph, Node, State, ValueInfo

if TYPE_CHECKING:
    from .device import Device
    from .opencl import OpenCLDevice
    from .tensor import Tensor

CACHED = 4096
"""One-node plans kept."""

_active: list[Trace] = []


class Trace:
    """Nodes recorded from applications, over the tensors they met.

    ``leaves`` maps the value names of tensors that were read before anything recorded wrote them to
    those tensors, in order of first use.  A tensor is told apart by its identity, and kept alive.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leaves: dict[str, Tensor] = {}
        self._current: dict[int, str] = {}
        self._held: list[Tensor] = []
        self._taken: set[str] = set()

    def name(self, tensor: Tensor) -> str:
        """The value that holds a tensor's content now; an unknown tensor becomes a leaf."""
        if id(tensor) not in self._current:
            name = self._unique(tensor.name or f"tensor{len(self.leaves)}")
            self.leaves[name] = tensor
            self._bind(tensor, name)
        return self._current[id(tensor)]

    def record(
        self,
        operator: str,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        attributes: dict[str, Any],
    ) -> None:
        """Add a node for one application."""
        read = ["" if tensor is None else self.name(tensor) for tensor in inputs]
        label = self._unique(f"{operator}#{len(self.nodes)}")
        written = [self._unique(f"{label}:{index}") for index in range(len(outputs))]
        for tensor, name in zip(outputs, written, strict=True):
            self._bind(tensor, name)
        self.nodes.append(Node(operator, read, written, dict(attributes), label))

    def assign(self, target: Tensor, source: Tensor) -> None:
        """``target`` takes the content of ``source``."""
        self.name(target)
        self._bind(target, self.name(source))

    def updates(self) -> dict[str, str]:
        """Leaves that took new content, and the values it comes from."""
        now = {name: self._current[id(tensor)] for name, tensor in self.leaves.items()}
        return {name: value for name, value in now.items() if value != name}

    def graph(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str = "sonnx") -> Graph:
        """What was recorded; every leaf is an input, ``inputs`` first, but for numbers, which are states."""
        from .tensor import to_numpy

        first = [self.name(tensor) for tensor in inputs]
        names = first + [leaf for leaf in self.leaves if leaf not in first]
        names = [leaf for leaf in names if not self.leaves[leaf].fixed]
        infos = [
            ValueInfo(leaf, self.leaves[leaf].data_type, tuple(self.leaves[leaf].shape)) for leaf in names
        ]
        results = [ValueInfo(self.name(tensor), tensor.data_type, tuple(tensor.shape)) for tensor in outputs]
        fixed = {leaf: State(to_numpy(tensor)) for leaf, tensor in self.leaves.items() if tensor.fixed}
        return Graph(name, infos, results, list(self.nodes), fixed, self.updates())

    def _bind(self, tensor: Tensor, name: str) -> None:
        self._current[id(tensor)] = name
        self._held.append(tensor)

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Record every application made inside."""
    _active.append(trace)
    try:
        yield trace
    finally:
        _active.pop()


def all_active() -> Sequence[Trace]:
    """The traces that record now."""
    return _active


def draw(device: Device, operator: str, **attributes: Any) -> Tensor:
    """Apply an operator that takes no tensors."""
    return _apply(device, operator, (), 1, attributes)[0]


@lru_cache(maxsize=CACHED)
def scalar(device: Device, number: float, dtype: np.dtype) -> Tensor:
    """A number as a tensor of shape ``()``; a trace keeps it as a constant."""
    from .tensor import Tensor

    tensor = Tensor(device=device, data=np.asarray(number, dtype), requires_grad=False)
    tensor.fixed = True
    return tensor


def apply(
    operator: str, inputs: Sequence[Tensor | None], outputs: int = 1, **attributes: Any
) -> list[Tensor]:
    """Apply an operator to tensors on their device; its first ``outputs`` outputs.

    Raises OperatorError where the operator cannot take them, InputError where their devices differ.
    """
    from .tensor import same_device

    device = same_device([tensor for tensor in inputs if tensor is not None])
    return _apply(device, operator, inputs, outputs, attributes)


def _apply(
    device: Device, operator: str, inputs: Sequence[Tensor | None], outputs: int, attributes: dict[str, Any]
) -> list[Tensor]:
    from .tensor import Tensor

    executor = _executor(
        device.opencl,
        operator,
        tuple(None if t is None else (t.data_type, tuple(t.shape)) for t in inputs),
        outputs,
        _freeze(attributes),
    )
    feed = {f"x{index}": tensor.array for index, tensor in enumerate(inputs) if tensor is not None}
    results = executor.run_on_device(feed)
    tensors = [Tensor.from_array(array, device) for array in results.values()]
    for trace in _active:
        trace.record(operator, inputs, tensors, attributes)
    return tensors


def _freeze(attributes: dict[str, Any]) -> tuple:
    """Attributes as a key that ``_thaw`` turns back."""
    return tuple((name, _Frozen.of(value)) for name, value in sorted(attributes.items()) if value is not None)


class _Frozen:
    """A hashable stand-in for an attribute's value."""

    __slots__ = ("key", "value")

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    @classmethod
    def of(cls, value: Any) -> _Frozen:
        if isinstance(value, np.ndarray):
            return cls((value.dtype.name, value.shape, value.tobytes()), value)
        if isinstance(value, list):
            value = tuple(value)
        return cls((type(value).__name__, repr(value) if isinstance(value, float) else value), value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.key == other.key


@lru_cache(maxsize=CACHED)
def _executor(
    device: OpenCLDevice,
    operator: str,
    inputs: tuple,
    outputs: int,
    attributes: tuple[tuple[str, _Frozen], ...],
) -> Executor:
    """The one-node graph for a kind of application."""
    infos = [
        ValueInfo(f"x{index}", spec[0], spec[1]) for index, spec in enumerate(inputs) if spec is not None
    ]
    names = ["" if spec is None else f"x{index}" for index, spec in enumerate(inputs)]
    results = [f"y{index}" for index in range(outputs)]
    node = Node(operator, names, results, {name: frozen.value for name, frozen in attributes})
    return Executor(Graph(operator, infos, [ValueInfo(name) for name in results], [node]), device)
