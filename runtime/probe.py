"""Tries an OpenCL device in a process of its own, so that a driver that crashes or hangs does so there.

``fault`` keeps the good answers on disk: a device that worked is not tried again until its driver
changes, one that failed is tried again each time.  Run as a module, it tries one device and writes the
reason why it cannot be used, or nothing.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING

from . import driver

if TYPE_CHECKING:
    from .opencl import OpenCLDevice

SECONDS = 120
"""How long a trivial kernel may take; a driver's first build can take several seconds."""
_KERNEL = "__kernel void probe(__global float *x) { x[get_global_id(0)] = 2.0f * get_global_id(0) + 1.0f; }"


def fault(entry: OpenCLDevice) -> str | None:
    """Why a device cannot be used, or None."""
    if not entry.device.available or not entry.device.compiler_available:
        return "not available, or without a compiler"
    folder = driver.cache_folder()
    mark = folder and folder / "probed" / hashlib.sha256(entry.key.encode()).hexdigest()[:16]
    if mark and mark.is_file():
        return None
    reason = _try_apart(entry.index)
    if reason is None and mark:
        try:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text(f"{entry.key}\n", encoding="utf-8")
        except OSError:
            return None
    return reason


def _try_apart(index: int) -> str | None:
    """``attempt`` in a fresh process."""
    command = [sys.executable, "-m", "sonnx.runtime.probe", str(index)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"a trivial kernel does not end within {SECONDS} s"
    except OSError as error:
        return f"no process to try it in could be started ({error})"
    if done.returncode == 0:
        return done.stdout.strip() or None
    if done.returncode < 0:
        return f"the driver crashes on a trivial kernel (signal {-done.returncode})"
    said = done.stderr.strip().splitlines()
    return f"a trivial kernel fails: {said[-1] if said else f'exit status {done.returncode}'}"


def attempt(entry: OpenCLDevice) -> str | None:
    """Build and run a trivial kernel here; why the device cannot be used, or None."""
    import numpy as np
    import pyopencl as cl

    try:
        result = np.zeros(16, np.float32)
        buffer = cl.Buffer(entry.context, cl.mem_flags.WRITE_ONLY, result.nbytes)
        kernel = cl.Kernel(cl.Program(entry.context, _KERNEL).build(), "probe")
        kernel(entry.queue, (16,), None, buffer)
        cl.enqueue_copy(entry.queue, result, buffer)
    except (cl.Error, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"a trivial kernel fails: {lines[0] if lines else type(error).__name__}"
    if not np.array_equal(result, 2 * np.arange(16, dtype=np.float32) + 1):
        return "a trivial kernel gives wrong numbers"
    return None


if __name__ == "__main__":
    from . import opencl

    print(attempt(opencl.listed()[int(sys.argv[1])]) or "")
