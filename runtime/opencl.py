"""The OpenCL devices of this machine: found, probed, chosen.

A device counts only if a trivial kernel builds and gives the right numbers on it; one that does not
is passed over and the reason is kept.  The first usable GPU is preferred, then the first usable
accelerator, then a CPU: there Intel's driver before others, since it gave the better times (whole
networks took 0.91 to 0.96 of PoCL's time on the same cores).
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from . import driver, probe
from .errors import RuntimeFault

if TYPE_CHECKING:
    import pyopencl as cl

VARIABLE = "SONNX_DEVICE"
INSTALL = (
    "install one: pip install 'sonnx[cpu]' (a CPU driver, no root needed), "
    "apt-get install pocl-opencl-icd, or your GPU vendor's driver"
)


class NoDeviceError(RuntimeFault):
    """No OpenCL device can be used, or none is what was asked for."""


@dataclass(eq=False)
class OpenCLDevice:
    """One device; its context and in-order queue are made when first used.

    ``fault``: why the device cannot be used, or None.
    """

    index: int
    device: cl.Device = field(repr=False)
    fault: str | None = None

    @cached_property
    def context(self) -> cl.Context:
        import pyopencl as cl

        return cl.Context([self.device])

    @cached_property
    def queue(self) -> cl.CommandQueue:
        import pyopencl as cl

        return cl.CommandQueue(self.context)

    def profiling(self) -> OpenCLDevice:
        """The same device and context with a queue that takes the times of what it runs."""
        import pyopencl as cl

        twin = OpenCLDevice(self.index, self.device, self.fault)
        twin.context = self.context
        twin.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        return twin

    @property
    def name(self) -> str:
        return self.device.name.strip()

    @property
    def platform(self) -> str:
        return self.device.platform.name.strip()

    @property
    def kind(self) -> str:
        """``gpu``, ``cpu`` or ``accelerator``."""
        import pyopencl as cl

        kinds = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
        return next((name for bit, name in kinds.items() if self.device.type & bit), "accelerator")

    @property
    def is_cpu(self) -> bool:
        return self.kind == "cpu"

    @cached_property
    def has_fp64(self) -> bool:
        return "cl_khr_fp64" in self.device.extensions

    @cached_property
    def has_fp16(self) -> bool:
        return "cl_khr_fp16" in self.device.extensions

    @cached_property
    def key(self) -> str:
        """What a binary or a tuned choice depends on: platform, device, driver."""
        return "|".join((self.platform, self.device.platform.version, self.name, self.device.driver_version))

    def describe(self) -> dict[str, Any]:
        """The device's facts, for a table or JSON."""
        return {
            "index": self.index,
            "platform": self.platform,
            "name": self.name,
            "type": self.kind,
            "driver": self.device.driver_version,
            "units": self.device.max_compute_units,
            "memory_bytes": self.device.global_mem_size,
            "float64": self.has_fp64,
            "float16": self.has_fp16,
            "fault": self.fault,
        }


@cache
def candidates() -> tuple[OpenCLDevice, ...]:
    """Every device that the loader lists, probed.  Raises NoDeviceError where OpenCL is not there."""
    for entry in listed():
        entry.fault = probe.fault(entry)
    return listed()


@cache
def listed() -> tuple[OpenCLDevice, ...]:
    """Every device that the loader lists, as it is.  Raises NoDeviceError where OpenCL is not there."""
    driver.prepare()
    try:
        import pyopencl as cl

        warnings.filterwarnings("ignore", category=cl.CompilerWarning)
        platforms = cl.get_platforms()
    except ImportError as error:
        raise NoDeviceError(f"pyopencl cannot be loaded ({error}); {INSTALL}") from error
    except Exception as error:  # pyopencl's own error type exists only once it is imported
        raise NoDeviceError(f"no OpenCL driver is installed ({error}); {INSTALL}") from error
    found: list[OpenCLDevice] = []
    for platform in platforms:
        try:
            devices = platform.get_devices()
        except cl.Error:
            continue
        for device in devices:
            found.append(OpenCLDevice(len(found), device))
    return tuple(found)


def choose(spec: str | None = None) -> OpenCLDevice:
    """The device to use.

    ``spec`` (else the variable ``SONNX_DEVICE``) is an index of ``sonnx devices``, ``gpu``, ``cpu``,
    or a part of the device's or platform's name.  Raises NoDeviceError.
    """
    wanted = spec or os.environ.get(VARIABLE) or ""
    usable = sorted((entry for entry in candidates() if entry.fault is None), key=_rank)
    matching = [entry for entry in usable if _matches(entry, wanted)]
    if matching:
        return matching[0]
    faults = "; ".join(f"{entry.name}: {entry.fault}" for entry in candidates() if entry.fault)
    passed = f" (passed over: {faults})" if faults else ""
    if not usable:
        raise NoDeviceError(f"no OpenCL device can be used{passed}; {INSTALL}")
    listed = ", ".join(f"{entry.index} {entry.name} [{entry.platform}]" for entry in usable)
    raise NoDeviceError(f"no usable OpenCL device matches {wanted!r}{passed}; there are: {listed}")


def reason(entry: OpenCLDevice) -> str:
    """Why ``choose`` ranks a device where it does, in a few words."""
    if entry.fault:
        return f"passed over: {entry.fault}"
    if entry.kind == "gpu":
        return "GPUs come first"
    if entry.kind == "accelerator":
        return "accelerators come after GPUs"
    return "CPUs come last" + (", Intel's driver first among them" if "Intel" in entry.platform else "")


def _rank(entry: OpenCLDevice) -> tuple[int, int, int]:
    order = {"gpu": 0, "accelerator": 1, "cpu": 2}[entry.kind]
    return order, 0 if "Intel" in entry.platform else 1, entry.index


def _matches(entry: OpenCLDevice, wanted: str) -> bool:
    if not wanted:
        return True
    if wanted.isdigit():
        return entry.index == int(wanted)
    lowered = wanted.lower()
    return lowered == entry.kind or lowered in entry.name.lower() or lowered in entry.platform.lower()
