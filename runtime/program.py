"""Builds OpenCL programs and keeps them: in memory for the process, as binaries on disk for the next.

The disk cache is keyed by source, options, driver and device.  Entries are written aside and
renamed, so that many processes can share it; one that does not load is built anew; the oldest go
when it outgrows ``CACHE_BYTES``.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from . import dtypes

if TYPE_CHECKING:
    import pyopencl as cl

    from .opencl import OpenCLDevice

CACHE_BYTES = 512 << 20
_OPTIONS = "-cl-mad-enable -w"
_INCLUDE = re.compile(r'^\s*#include "(\w+\.cl)"\s*$', re.M)


@cache
def kernel_file(name: str) -> str:
    """The text of a file in ``kernels/``."""
    return (files("sonnx.runtime.kernels") / name).read_text(encoding="utf-8")


def source_text(source: str, types: Mapping[str, np.dtype], defines: Mapping[str, object]) -> str:
    """A whole program: type macros, definitions, then ``source`` (a file's name or a text) with its
    includes put in place."""
    roles = dict(types)
    body = kernel_file(source) if source.endswith(".cl") else source
    head = [f"#define USE_{name}" for name in dtypes.conversions(roles)]
    if any(dtypes.data_type(dtype).storage == "double" for dtype in roles.values()):
        head.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if len(head) and any(line.startswith("#define USE_") for line in head):
        head.append(kernel_file("types.cl"))
    head.append(dtypes.definitions(roles))
    head += [f"#define {name} {value}" for name, value in defines.items()]
    text = "\n".join([*head, body])
    while _INCLUDE.search(text):
        text = _INCLUDE.sub(lambda match: kernel_file(match[1]), text)
    return text


class Programs:
    """The programs of one device."""

    def __init__(self, device: OpenCLDevice) -> None:
        self._device = device
        self._built: dict[str, cl.Program] = {}
        self._lock = threading.Lock()
        self._folder = (
            Path(os.environ.get("SONNX_CACHE_DIR") or platformdirs.user_cache_path("sonnx")) / "kernels"
        )

    def build(self, texts: set[str]) -> None:
        """Build every text that is not built yet, in parallel."""
        missing = [text for text in texts if text not in self._built]
        if len(missing) == 1:
            self.program(missing[0])
        elif missing:
            with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
                list(pool.map(self.program, missing))

    def program(self, text: str) -> cl.Program:
        """The built program of a text."""
        if text not in self._built:
            program = self._load(text) or self._compile(text)
            with self._lock:
                self._built[text] = program
        return self._built[text]

    def _path(self, text: str) -> Path:
        key = hashlib.sha256("\0".join([text, _OPTIONS, self._device.key]).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.bin"

    def _load(self, text: str) -> cl.Program | None:
        import pyopencl as cl

        path = self._path(text)
        try:
            binary = path.read_bytes()
            if hashlib.sha256(binary[32:]).digest() != binary[:32]:
                return None
            program = cl.Program(self._device.context, [self._device.device], [binary[32:]])
            program.build()
            os.utime(path)
            return program
        except (OSError, cl.Error):
            return None

    def _compile(self, text: str) -> cl.Program:
        import pyopencl as cl

        program = cl.Program(self._device.context, text).build(options=_OPTIONS)
        self._store(text, program.binaries[0])
        return program

    def _store(self, text: str, binary: bytes) -> None:
        """Write a binary aside and rename it into place; a cache that cannot be written is none."""
        path = self._path(text)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(binary).digest() + binary)
            os.replace(aside, path)
            if int(path.stem[:2], 16) == 0:
                self._trim()
        except OSError:
            return

    def _trim(self) -> None:
        """Delete the entries used longest ago until the cache is within its bound."""
        entries = sorted(self._folder.glob("*/*.bin"), key=lambda entry: entry.stat().st_mtime)
        total = sum(entry.stat().st_size for entry in entries)
        for entry in entries:
            if total <= CACHE_BYTES:
                return
            total -= entry.stat().st_size
            entry.unlink(missing_ok=True)
