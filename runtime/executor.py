"""Runs a graph: a plan for each set of input shapes, made once, then only enqueued."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import opencl
from .array import DeviceArray
from .emit import Storage
from .errors import InputError
from .graph import Graph, ValueInfo
from .plan import Binder, Segment, as_bytes, plan_segment
from .program import Programs
from .specialise import HOST_LIMIT, Walk
from .value import Value

if TYPE_CHECKING:
    import pyopencl as cl

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

    def run(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> dict[str, np.ndarray]:
        """Compute the graph's outputs.

        ``inputs``: one array for each graph input, of its dtype, its shape within what the graph
        declares.  Returns an array for each graph output, by name, in the graph's order.
        """
        arrays = check_inputs(self.graph, inputs)
        return self.plan(arrays).run(arrays)

    def run_on_device(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> dict[str, DeviceArray]:
        """``run`` with the outputs left on the device, each in memory of its own."""
        arrays = check_inputs(self.graph, inputs)
        return self.plan(arrays).run_on_device(arrays)

    def state(self, name: str) -> np.ndarray:
        """What a state holds now (an update may have changed it since the graph was made)."""
        return self._binder.read(self._states[name])

    def plan(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> Plan:
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
        value.storage = Storage(max(array.nbytes, 1), array, pinned=True, writable=not fixed)
        return value


class Plan:
    """What the graph does for one set of input shapes."""

    def __init__(
        self,
        graph: Graph,
        binder: Binder,
        states: Mapping[str, Value],
        once: dict[Any, Value],
        inputs: Mapping[str, np.ndarray | DeviceArray],
    ) -> None:
        self._graph, self._binder, self._once = graph, binder, once
        self._inputs: dict[str, Value] = {}
        self._buffers: dict[str, cl.Buffer] = {}
        for name, array in inputs.items():
            value = self._inputs[name] = Value(array.dtype, array.shape, name=name)
            value.storage = Storage(max(array.nbytes, 1), pinned=True)
            value.storage.buffer = self._buffers[name] = binder.buffer(value.storage.nbytes)
        self.root = plan_segment(Walk.begin(graph, {**states, **self._inputs}), binder, once)

    def run(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> dict[str, np.ndarray]:
        """Feed the inputs, enqueue every segment, read the outputs."""
        return {name: self._binder.read(value) for name, value in self._execute(inputs).items()}

    def run_on_device(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> dict[str, DeviceArray]:
        """Feed the inputs, enqueue every segment, copy the outputs to memory of their own."""
        return {name: self._binder.detach(value) for name, value in self._execute(inputs).items()}

    def _execute(self, inputs: Mapping[str, np.ndarray | DeviceArray]) -> dict[str, Value]:
        for name, value in self._inputs.items():
            self._feed(value, inputs[name])
        segment = self.root
        for call in segment.calls:
            call()
        while segment.reads is not None:
            segment = self._next(segment)
            for call in segment.calls:
                call()
        environment = segment.walk.environment
        return {info.name: environment[info.name] for info in self._graph.outputs}

    def segments(self) -> list[Segment]:
        """Every segment planned so far, parents first."""
        found = [self.root]
        for segment in found:
            found.extend(segment.children.values())
        return found

    def _next(self, segment: Segment) -> Segment:
        """Read what the segment ends with; the child for that content, planned if it is new."""
        assert segment.reads is not None
        arrays = [self._binder.read(value) for value in segment.reads]
        key = b"".join(as_bytes(array).tobytes() for array in arrays)
        if key not in segment.children:
            walk = segment.walk.copy()
            walk.resolve({id(value): array for value, array in zip(segment.reads, arrays, strict=True)})
            segment.children[key] = plan_segment(walk, self._binder, self._once)
        return segment.children[key]

    def _feed(self, value: Value, given: np.ndarray | DeviceArray) -> None:
        """Make an input's content what the caller gives: copied from the host, or in place."""
        if isinstance(given, DeviceArray):
            value.storage.rebind(given.buffer)
            return
        own = self._buffers[value.name]
        value.storage.rebind(own)
        self._binder.write(own, given)


def check_inputs(
    graph: Graph, inputs: Mapping[str, np.ndarray | DeviceArray]
) -> dict[str, np.ndarray | DeviceArray]:
    """The inputs in the graph's order; raises InputError naming the first that does not fit."""
    known = {info.name for info in graph.inputs}
    for name in inputs:
        if name not in known:
            raise InputError(f"the model has no input {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    sizes: dict[str, int] = {}
    arrays: dict[str, np.ndarray | DeviceArray] = {}
    for info in graph.inputs:
        if info.name not in inputs:
            raise InputError(f"input {info.name!r} ({_declared(info)}) is missing")
        given = inputs[info.name]
        array = given if isinstance(given, DeviceArray) else np.asarray(given)
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
            # Some exporters write "?", or -1, for a size that they do not know.
            declared = None if declared == "?" else sizes.setdefault(declared, size)
        if declared is not None and declared >= 0 and declared != size:
            return False
    return True


def _declared(info: ValueInfo) -> str:
    """Type and shape as the model declares them, for a message."""
    dtype = "any type" if info.dtype is None else info.dtype.name
    if info.shape is None:
        return f"{dtype} of any shape"
    return f"{dtype} [{', '.join('?' if size is None else str(size) for size in info.shape)}]"
