"""Runs a graph: a plan for each set of input shapes, made once, then only enqueued."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import opencl
from .emit import Storage
from .errors import InputError
from .graph import Graph, ValueInfo
from .plan import Binder, Segment, as_bytes, plan_segment
from .program import Programs
from .specialise import HOST_LIMIT, Walk
from .value import Value

if TYPE_CHECKING:
    from .opencl import OpenCLDevice

PLANS = 32
"""Plans kept for different input shapes; the one used longest ago goes first."""


class Executor:
    """A graph on a device.

    Raises OperatorError where the graph asks for what an operator cannot do, InputError where what
    is given to ``run`` does not fit, DeviceLimitError where the device cannot hold it.
    """

    def __init__(self, graph: Graph, device: OpenCLDevice | str | None = None) -> None:
        self.graph = graph
        self.device = device if isinstance(device, opencl.OpenCLDevice) else opencl.choose(device)
        self._binder = Binder(self.device, Programs(self.device))
        self._once: dict[Any, Value] = {}
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._states = {name: self._state(name) for name in graph.states}

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute the graph's outputs.

        ``inputs``: one array for each graph input, of its dtype, its shape within what the graph
        declares.  Returns an array for each graph output, by name, in the graph's order.
        """
        arrays = check_inputs(self.graph, inputs)
        return self.plan(arrays).run(arrays)

    def plan(self, inputs: Mapping[str, np.ndarray]) -> Plan:
        """The plan for these inputs' shapes (only shapes and types are looked at)."""
        key = tuple((name, array.shape) for name, array in inputs.items())
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(self.graph, self._binder, self._states, self._once, inputs)
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(key)
        return plan

    def _state(self, name: str) -> Value:
        array = self.graph.states[name].array
        fixed = name not in self.graph.updates
        small = fixed and array.size <= HOST_LIMIT
        value = Value(array.dtype, array.shape, array if small else None, name, constant=fixed)
        value.storage = Storage(max(array.nbytes, 1), array, pinned=True)
        return value


class Plan:
    """What the graph does for one set of input shapes."""

    def __init__(
        self,
        graph: Graph,
        binder: Binder,
        states: Mapping[str, Value],
        once: dict[Any, Value],
        inputs: Mapping[str, np.ndarray],
    ) -> None:
        self._graph, self._binder, self._once = graph, binder, once
        self._inputs: dict[str, Value] = {}
        for name, array in inputs.items():
            value = self._inputs[name] = Value(array.dtype, array.shape, name=name)
            value.storage = Storage(max(array.nbytes, 1), pinned=True)
            value.storage.buffer = binder.buffer(value.storage.nbytes)
        self.root = plan_segment(Walk.begin(graph, {**states, **self._inputs}), binder, once)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Feed the inputs, enqueue every segment, read the outputs."""
        for name, value in self._inputs.items():
            self._write(value, inputs[name])
        segment = self.root
        for call in segment.calls:
            call()
        while segment.reads is not None:
            segment = self._next(segment)
            for call in segment.calls:
                call()
        environment = segment.walk.environment
        return {info.name: self.read(environment[info.name]) for info in self._graph.outputs}

    def segments(self) -> list[Segment]:
        """Every segment planned so far, parents first."""
        found = [self.root]
        for segment in found:
            found.extend(segment.children.values())
        return found

    def _next(self, segment: Segment) -> Segment:
        """Read what the segment ends with; the child for that content, planned if it is new."""
        assert segment.reads is not None
        arrays = [self.read(value) for value in segment.reads]
        key = b"".join(as_bytes(array).tobytes() for array in arrays)
        if key not in segment.children:
            walk = segment.walk.copy()
            walk.resolve({id(value): array for value, array in zip(segment.reads, arrays, strict=True)})
            segment.children[key] = plan_segment(walk, self._binder, self._once)
        return segment.children[key]

    def _write(self, value: Value, array: np.ndarray) -> None:
        import pyopencl as cl

        if array.nbytes:
            cl.enqueue_copy(
                self._binder.device.queue, value.storage.buffer, as_bytes(array), is_blocking=False
            )

    def read(self, value: Value) -> np.ndarray:
        """A value's content on the host."""
        import pyopencl as cl

        if value.host is not None:
            return np.array(value.host, value.dtype).reshape(value.shape)
        array = np.empty(value.shape, value.dtype)
        if array.nbytes:
            buffer = value.storage.buffer or self._binder.upload(value.storage)
            cl.enqueue_copy(self._binder.device.queue, as_bytes(array), buffer)
        return array


def check_inputs(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs in the graph's order; raises InputError naming the first that does not fit."""
    known = {info.name for info in graph.inputs}
    for name in inputs:
        if name not in known:
            raise InputError(f"the model has no input {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    sizes: dict[str, int] = {}
    arrays: dict[str, np.ndarray] = {}
    for info in graph.inputs:
        if info.name not in inputs:
            raise InputError(f"input {info.name!r} ({_declared(info)}) is missing")
        array = np.asarray(inputs[info.name])
        if info.dtype is not None and array.dtype != info.dtype:
            raise InputError(f"input {info.name!r} is {array.dtype}; the model takes {_declared(info)}")
        if info.shape is not None and not _fits(info, array.shape, sizes):
            raise InputError(
                f"input {info.name!r} has shape {list(array.shape)}; the model takes {_declared(info)}"
            )
        arrays[info.name] = array
    return arrays


def _fits(info: ValueInfo, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    """Whether a shape is what is declared, a named size being the same everywhere."""
    assert info.shape is not None
    if len(shape) != len(info.shape):
        return False
    for size, declared in zip(shape, info.shape, strict=True):
        if isinstance(declared, str):
            declared = sizes.setdefault(declared, size)
        if declared is not None and declared != size:
            return False
    return True


def _declared(info: ValueInfo) -> str:
    """Type and shape as the model declares them, for a message."""
    dtype = "any type" if info.dtype is None else info.dtype.name
    if info.shape is None:
        return f"{dtype} of any shape"
    return f"{dtype} [{', '.join('?' if size is None else str(size) for size in info.shape)}]"
