"""SINGA's device interface: names that speak of CUDA give the best OpenCL device there is."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from . import opencl
from .errors import RuntimeFault


class Device:
    """A device as SINGA scripts see it.

    ``EnableGraph`` and the verbosity switches are kept for the scripts that call them; a model's
    ``compile`` decides whether its steps are planned as graphs.
    """

    def __init__(self, device: opencl.OpenCLDevice) -> None:
        self.opencl = device
        self.seed = 0
        self.verbosity = 0
        self._graph = False
        self._drawn = 0

    def __repr__(self) -> str:
        return f"Device({self.opencl.index}: {self.opencl.name} [{self.opencl.platform}])"

    def id(self) -> int:
        return self.opencl.index

    def SetRandSeed(self, seed: int) -> None:
        """Start the random numbers of this device anew: the same seed gives the same numbers."""
        self.seed, self._drawn = int(seed), 0

    def next_seed(self) -> int:
        """A seed for one draw; consecutive draws have different ones, reproducibly."""
        self._drawn += 1
        return int(np.random.SeedSequence([self.seed, self._drawn]).generate_state(1)[0])

    def EnableGraph(self, enable: bool) -> None:
        self._graph = bool(enable)

    def graph_enabled(self) -> bool:
        return self._graph

    def Sync(self) -> None:
        """Wait until everything that was enqueued is done."""
        self.opencl.queue.finish()

    def SetVerbosity(self, verbosity: int) -> None:
        self.verbosity = int(verbosity)

    def SetSkipIteration(self, skip_iteration: int) -> None:
        """Iterations that profiling leaves out at the start."""
        self.skip_iteration = int(skip_iteration)


@cache
def wrap(device: opencl.OpenCLDevice) -> Device:
    return Device(device)


def _usable() -> list[opencl.OpenCLDevice]:
    return [entry for entry in opencl.candidates() if entry.fault is None]


def _gpus() -> list[opencl.OpenCLDevice]:
    return [entry for entry in _usable() if entry.kind == "gpu"]


def get_num_gpus() -> int:
    """How many GPUs can be used."""
    return len(_gpus())


def get_gpu_ids() -> list[int]:
    """The indices of the GPUs that can be used."""
    return [entry.index for entry in _gpus()]


def get_gpu_mem_size(id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU; OpenCL tells only the total, which stands for both."""
    total = _by_index(id).device.global_mem_size
    return total, total


def get_num_opencl_platforms() -> int:
    """How many OpenCL platforms have a usable device."""
    return len({entry.platform for entry in _usable()})


def get_num_opencl_devices() -> int:
    """How many OpenCL devices can be used."""
    return len(_usable())


def device_query(id: int, verbose: bool = False) -> dict[str, Any]:
    """The facts of one device; printed too where ``verbose``."""
    facts = _by_index(id).describe()
    if verbose:
        for name, value in facts.items():
            print(f"{name}: {value}")
    return facts


def create_cpu_device() -> Device:
    """The best CPU device."""
    return wrap(opencl.choose("cpu"))


def create_cuda_gpu() -> Device:
    """The best device there is: a GPU where there is one."""
    return get_default_device()


def create_cuda_gpus(num: int) -> list[Device]:
    """``num`` devices, GPUs first.  Raises NoDeviceError where there are fewer."""
    ordered = sorted(_usable(), key=lambda entry: entry.kind != "gpu")
    if num > len(ordered):
        raise opencl.NoDeviceError(f"{num} devices are asked for, {len(ordered)} can be used")
    return [wrap(entry) for entry in ordered[:num]]


def create_cuda_gpus_on(device_ids: list[int]) -> list[Device]:
    """The devices of those indices."""
    return [wrap(_by_index(index)) for index in device_ids]


def create_cuda_gpu_on(device_id: int) -> Device:
    """The device of that index; the best one where a script written for CUDA names a card that this
    machine does not have."""
    usable = {entry.index: entry for entry in _usable()}
    return wrap(usable[device_id]) if device_id in usable else get_default_device()


def create_opencl_device() -> Device:
    """The best device there is."""
    return get_default_device()


def get_default_device() -> Device:
    """The device used where none is named (``SONNX_DEVICE`` chooses)."""
    return wrap(opencl.choose())


def enable_lazy_alloc(enable: bool) -> None:
    """Memory is always placed by the planner; kept for scripts that call it."""
    if not isinstance(enable, (bool, int)):
        raise RuntimeFault(f"enable_lazy_alloc takes a bool, not {enable!r}")


def _by_index(index: int) -> opencl.OpenCLDevice:
    for entry in _usable():
        if entry.index == index:
            return entry
    raise opencl.NoDeviceError(f"there is no usable device {index}; see `sonnx devices`")
