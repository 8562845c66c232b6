"""A plan: what a graph does for one set of input shapes, as steps ready to be enqueued.

A plan is a tree of segments.  Most have one: all is known from the shapes.  Where a value computed
by the device decides what comes next, a segment ends by reading it, and has one child for each
content seen so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import DeviceArray
from .emit import Copy, Emit, Launch, Step, Storage
from .errors import DeviceLimitError
from .memory import place
from .operator import Call
from .program import Programs
from .specialise import Walk
from .value import Value

if TYPE_CHECKING:
    import pyopencl as cl

    from .opencl import OpenCLDevice


@dataclass
class Binder:
    """Turns steps into enqueue calls on one device."""

    device: OpenCLDevice
    programs: Programs

    def bind(
        self, steps: Sequence[Step], live_out: set[Storage]
    ) -> tuple[list[Callable[[], Any]], list[Any], int]:
        """Allocate, upload, build and set arguments.

        Returns the calls that run the steps, what must stay alive for them, and the arena's bytes.
        """
        self.programs.build({step.text for step in steps if isinstance(step, Launch)})
        keep, nbytes = self._allocate(steps, live_out)
        return [self._enqueue(step) for step in steps], keep, nbytes

    def run_now(self, steps: Sequence[Step]) -> None:
        """Run steps once; what they upload only for that is released again."""
        uploads = [s for step in steps for s in step.storages() if s.array is not None and s.buffer is None]
        made = {s for step in steps for s in step.storages() if s.pinned and s.array is None}
        for storage in made:
            storage.buffer = storage.buffer or self.buffer(storage.nbytes)
        calls, _, _ = self.bind(steps, made)
        for call in calls:
            call()
        self.device.queue.finish()
        for storage in uploads:
            storage.buffer = None

    def buffer(self, nbytes: int) -> cl.Buffer:
        """Device memory; raises DeviceLimitError where the device has no room."""
        import pyopencl as cl

        limit = self.device.device.max_mem_alloc_size
        if nbytes > limit:
            raise DeviceLimitError(
                f"{self.device.name} gives at most {limit} bytes at once; {nbytes} are needed"
            )
        try:
            return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, max(nbytes, 1))
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError) as error:
            raise DeviceLimitError(f"{self.device.name} has no room for {nbytes} bytes: {error}") from error

    def upload(self, storage: Storage) -> cl.Buffer:
        """The buffer of a storage that has content; on a CPU the content itself where it is aligned."""
        import pyopencl as cl

        if storage.buffer is None:
            assert storage.array is not None
            content = as_bytes(storage.array)
            if not content.size:
                storage.buffer = self.buffer(1)
            else:
                aligned = self.device.is_cpu and content.ctypes.data % 64 == 0
                shared = aligned and not storage.writable
                how = cl.mem_flags.USE_HOST_PTR if shared else cl.mem_flags.COPY_HOST_PTR
                access = cl.mem_flags.READ_WRITE if storage.writable else cl.mem_flags.READ_ONLY
                storage.buffer = cl.Buffer(self.device.context, access | how, hostbuf=content)
        return storage.buffer

    def read(self, value: Value) -> np.ndarray:
        """A value's content on the host."""
        import pyopencl as cl

        if value.host is not None:
            return np.array(value.host, value.dtype).reshape(value.shape)
        array = np.empty(value.shape, value.dtype)
        if array.nbytes:
            cl.enqueue_copy(self.device.queue, as_bytes(array), self._bound(value.storage))
        return array

    def write(self, buffer: cl.Buffer, array: np.ndarray) -> None:
        """Copy a host array to the start of a buffer."""
        import pyopencl as cl

        if array.nbytes:
            cl.enqueue_copy(self.device.queue, buffer, as_bytes(array))

    def detach(self, value: Value) -> DeviceArray:
        """A value's content in memory of its own, which no later run touches."""
        import pyopencl as cl

        buffer = self.buffer(value.nbytes)
        if value.host is not None:
            self.write(buffer, np.asarray(value.host, value.dtype))
        elif value.nbytes:
            cl.enqueue_copy(self.device.queue, buffer, self._bound(value.storage), byte_count=value.nbytes)
        return DeviceArray(buffer, value.dtype, value.shape)

    def _allocate(self, steps: Sequence[Step], live_out: set[Storage]) -> tuple[list[Any], int]:
        alignment = max(self.device.device.mem_base_addr_align // 8, 64)
        placement = place(steps, live_out, alignment)
        if not placement.offsets:
            return [], 0
        if placement.nbytes > self.device.device.max_mem_alloc_size:
            for storage in placement.offsets:
                storage.buffer = self.buffer(storage.nbytes)
            return [], sum(storage.nbytes for storage in placement.offsets)
        arena = self.buffer(placement.nbytes)
        for storage, offset in placement.offsets.items():
            storage.buffer = arena.get_sub_region(offset, storage.nbytes)
        return [arena], placement.nbytes

    def _enqueue(self, step: Step) -> Callable[[], Any]:
        import pyopencl as cl

        queue = self.device.queue
        if isinstance(step, Launch):
            kernel = cl.Kernel(self.programs.program(step.text), step.kernel)
            for index, argument in enumerate(step.arguments):
                if isinstance(argument, Storage):
                    kernel.set_arg(index, self._bound(argument))
                    argument.slots.append((kernel, index))
                else:
                    kernel.set_arg(index, argument)
            return _partial(cl.enqueue_nd_range_kernel, queue, kernel, step.global_size, step.local_size)
        if isinstance(step, Copy):
            source, target = step.source, step.target
            return lambda: cl.enqueue_copy(
                queue,
                self._bound(target),
                self._bound(source),
                byte_count=step.nbytes,
                src_offset=step.source_offset,
                dst_offset=step.target_offset,
            )
        filled, pattern = step.target, as_bytes(np.asarray(step.pattern))
        return lambda: cl.enqueue_fill_buffer(queue, self._bound(filled), pattern, 0, filled.nbytes)

    def _bound(self, storage: Storage) -> cl.Buffer:
        return storage.buffer if storage.buffer is not None else self.upload(storage)


def _partial(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: function(*arguments)


def as_bytes(array: np.ndarray) -> np.ndarray:
    """An array's bytes without a copy where it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@dataclass
class Segment:
    """Steps up to the end of the graph, or up to values that must be read before going on."""

    calls: list[Callable[[], Any]]
    steps: list[Step]
    walk: Walk
    reads: list[Value] | None
    keep: list[Any]
    arena_bytes: int
    children: dict[bytes, Segment] = field(default_factory=dict)


def plan_segment(walk: Walk, binder: Binder, once_cache: dict[Any, Value]) -> Segment:
    """Specialise, lower, place and bind what follows from ``walk``, which advances."""
    calls, reads = walk.advance()
    live = [walk.environment[name] for name in walk.needed() if name in walk.environment]
    live += [value for values in walk.replay for value in values] + (reads or [])
    emit = Emit(binder.device, once_cache, binder.run_now)
    for call in live_calls(calls, live):
        emit.call(call)
    if reads is None:
        for state, name in walk.graph.updates.items():
            emit.copy(walk.environment[name], walk.environment[state])
    live_out = {value.storage for value in live if value.storage is not None}
    bound, keep, nbytes = binder.bind(emit.steps, live_out)
    return Segment(bound, emit.steps, walk, reads, keep, nbytes)


def live_calls(calls: Sequence[Call], live: Sequence[Value]) -> list[Call]:
    """The calls whose outputs something reads."""
    used = {id(value) for value in live}
    kept: list[Call] = []
    for call in reversed(calls):
        if any(id(output) in used for output in call.outputs):
            kept.append(call)
            used.update(id(value) for value in call.present)
    return kept[::-1]
