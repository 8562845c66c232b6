"""Where the time of a run goes: every step of a plan with the time that the device took for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from .emit import Launch, Step
from .executor import Executor
from .graph import Graph
from .opencl import OpenCLDevice


@dataclass(frozen=True)
class Timed:
    """One step: which node it belongs to, the kernel (or ``copy``, ``fill``), the median time."""

    node: str
    kernel: str
    seconds: float

    @property
    def operator(self) -> str:
        """The operator of the node, of several that were fused the first."""
        return self.node.split(" ", 1)[0]


@dataclass(frozen=True)
class Profile:
    """``wall`` is the median time of a whole run without profiling, transfers included."""

    steps: list[Timed]
    wall: float
    first: float

    @property
    def seconds(self) -> float:
        """The time that the device was at work."""
        return sum(step.seconds for step in self.steps)


def profile(
    graph: Graph, device: OpenCLDevice, inputs: Mapping[str, np.ndarray], repeat: int = 10
) -> tuple[Profile, dict[str, np.ndarray]]:
    """Run a graph; the medians of ``repeat`` runs, and its outputs.

    Raises what ``Executor`` raises.
    """
    begin = time.perf_counter()
    plain = Executor(graph, device)
    outputs = plain.run(inputs)
    first = time.perf_counter() - begin
    walls = []
    for _ in range(repeat):
        begin = time.perf_counter()
        plain.run(inputs)
        walls.append(time.perf_counter() - begin)
    watched = device.profiling()
    executor = Executor(graph, watched)
    executor.run(inputs)
    plan = executor.plan(dict(inputs))
    steps: list[Timed] = []
    for segment in plan.segments():
        times = _times(segment.calls, watched, repeat)
        steps += [Timed(s.label or "-", _kernel(s), t) for s, t in zip(segment.steps, times, strict=True)]
    return Profile(steps, median(walls), first), outputs


def _kernel(step: Step) -> str:
    return step.kernel if isinstance(step, Launch) else type(step).__name__.lower()


def _times(calls: Iterable, device: OpenCLDevice, repeat: int) -> list[float]:
    """The median device time of each call."""
    rows = []
    for _ in range(repeat):
        events = [call() for call in calls]
        device.queue.finish()
        rows.append([(event.profile.end - event.profile.start) * 1e-9 for event in events])
    return [median(column) for column in zip(*rows, strict=True)]
