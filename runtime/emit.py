"""Lowering: calls become steps (kernel launches, copies, fills) on storages not yet allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DeviceLimitError
from .operator import Call
from .operators import registry
from .pointwise import lower_pointwise
from .program import source_text
from .value import Value

if TYPE_CHECKING:
    import pyopencl as cl

    from .opencl import OpenCLDevice

MAP_GROUP = 256
"""Work-items in a group of a scalar kernel: on a CPU driver 1 would be 60 to 120 times slower."""


@dataclass(eq=False)
class Storage:
    """Memory that one or more values share.

    ``array``: the host content it starts from (a constant, a weight), uploaded when first bound.
    Without it, memory planning gives it a place in the plan's arena.  ``slots``: the kernel arguments
    that are bound to it, so that ``rebind`` can put other memory in its place.  ``writable``: steps
    write to it, so that the content is copied and not shared with the host.
    """

    nbytes: int
    array: np.ndarray | None = None
    buffer: cl.Buffer | None = None
    pinned: bool = False
    writable: bool = False
    slots: list[tuple[cl.Kernel, int]] = field(default_factory=list, repr=False)

    def rebind(self, buffer: cl.Buffer) -> None:
        """Let every step that uses this storage use ``buffer`` from now on."""
        if buffer is not self.buffer:
            self.buffer = buffer
            for kernel, index in self.slots:
                kernel.set_arg(index, buffer)


@dataclass(eq=False)
class Launch:
    """One kernel launch; arguments are storages and numpy scalars."""

    text: str
    kernel: str
    arguments: list[Storage | np.generic]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    label: str

    def storages(self) -> list[Storage]:
        return [argument for argument in self.arguments if isinstance(argument, Storage)]


@dataclass(eq=False)
class Copy:
    """Copy ``nbytes`` between storages, offsets in bytes."""

    source: Storage
    target: Storage
    nbytes: int
    source_offset: int = 0
    target_offset: int = 0
    label: str = ""

    def storages(self) -> list[Storage]:
        return [self.source, self.target]


@dataclass(eq=False)
class Fill:
    """Set a whole storage to repetitions of a scalar's bytes."""

    target: Storage
    pattern: np.generic
    label: str = ""

    def storages(self) -> list[Storage]:
        return [self.target]


Step = Launch | Copy | Fill


@dataclass
class Emit:
    """Receives the steps of operators' ``lower`` functions.

    ``once`` caches what is computed from constants a single time (packed weights), by key.
    """

    device: OpenCLDevice
    once_cache: dict[Any, Value]
    run_now: Callable[[list[Step]], None]
    steps: list[Step] = field(default_factory=list)
    label: str = ""

    def call(self, call: Call) -> None:
        """Lower one call."""
        self.label = call.label or call.operator.name
        operator = call.operator
        if operator.view:
            assert call.inputs[0] is not None
            self.alias(call.outputs[0], call.inputs[0])
        elif operator.pointwise:
            lower_pointwise(call, self)
        else:
            assert operator.lower is not None, f"{operator.name} has no implementation"
            operator.lower(call, self)

    def launch(
        self,
        source: str,
        kernel: str,
        arguments: Sequence[Value | np.generic | int | float],
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None = None,
        types: Mapping[str, np.dtype] | None = None,
        defines: Mapping[str, object] | None = None,
    ) -> None:
        """Launch ``kernel`` of ``source`` (a file in ``kernels/`` or a text).

        A Python int is passed as int, a float as float.  ``types`` gives the kernel's roles their
        dtypes, ``defines`` its constants.  A launch of no work-items is dropped.
        """
        if 0 in global_size:
            return
        text = source_text(source, types or {}, defines or {})
        if "double" in text and not self.device.has_fp64:
            raise DeviceLimitError(f"{self.label}: {self.device.name} cannot compute in float64")
        bound = [self._argument(argument) for argument in arguments]
        self.steps.append(Launch(text, kernel, bound, global_size, local_size, self.label))

    def map(
        self,
        source: str,
        kernel: str,
        count: int,
        arguments: Sequence[Value | np.generic | int | float],
        types: Mapping[str, np.dtype] | None = None,
        defines: Mapping[str, object] | None = None,
    ) -> None:
        """Launch one work-item for each of ``count`` elements.

        The kernel's first parameter is ``const int n``, the count; work-items past it return.
        """
        if count >= 1 << 31:
            raise DeviceLimitError(f"{self.label}: {count} elements are more than the runtime indexes (2^31)")
        whole = -(-count // MAP_GROUP) * MAP_GROUP
        self.launch(source, kernel, [count, *arguments], (whole,), (MAP_GROUP,), types, defines)

    def temporary(self, dtype: np.dtype | type, shape: tuple[int, ...]) -> Value:
        """Scratch memory, free again after the last step that uses it."""
        value = Value(dtype, shape)
        self.storage(value)
        return value

    def constant(self, array: np.ndarray) -> Value:
        """A host array on the device."""
        host = np.ascontiguousarray(array).reshape(array.shape)
        return Value(host.dtype, host.shape, host)

    def alias(self, view: Value, source: Value) -> None:
        """Let ``view`` share the memory of ``source``."""
        view.storage = self.storage(source)

    def copy(self, source: Value, target: Value) -> None:
        """Copy one value's elements to another of the same size and type."""
        if source.nbytes:
            step = Copy(self.storage(source), self.storage(target), source.nbytes, label=self.label)
            self.steps.append(step)

    def fill(self, target: Value, number: float) -> None:
        """Set every element of a value."""
        pattern = target.dtype.type(number)
        if target.nbytes:
            self.steps.append(Fill(self.storage(target), pattern, self.label))

    def operator(
        self, name: str, inputs: list[Value | None], outputs: list[Value], **attributes: Any
    ) -> None:
        """Lower another operator in the middle of this one."""
        from .specialise import make_call

        call = make_call(registry[name], inputs, attributes, None, self.label)
        call.outputs = outputs
        self.call(call)

    def once(
        self,
        source: Value,
        key: str,
        dtype: np.dtype,
        shape: tuple[int, ...],
        pack: Callable[[Emit, Value, Value], None],
    ) -> Value:
        """A value derived from ``source`` by ``pack(emit, source, result)``: computed a single
        time where the source is constant, otherwise in every run."""
        if not source.constant:
            result = self.temporary(dtype, shape)
            pack(self, source, result)
            return result
        storage = self.storage(source)
        cached = self.once_cache.get((storage, key))
        if cached is None:
            cached = Value(dtype, shape, constant=True)
            cached.storage = Storage(max(cached.nbytes, 1), pinned=True)
            inner = Emit(self.device, self.once_cache, self.run_now, label=self.label)
            pack(inner, source, cached)
            self.run_now(inner.steps)
            self.once_cache[storage, key] = cached
        return cached

    def storage(self, value: Value) -> Storage:
        """The value's memory; a value seen first gets one (a known one starts from its content)."""
        if value.storage is None:
            array = None if value.host is None else np.ascontiguousarray(value.host)
            value.storage = Storage(max(value.nbytes, 1), array)
        return value.storage

    def _argument(self, argument: Value | np.generic | int | float) -> Storage | np.generic:
        if isinstance(argument, Value):
            return self.storage(argument)
        if isinstance(argument, np.generic):
            return argument
        return np.int32(argument) if isinstance(argument, int) else np.float32(argument)
