"""Finds OpenCL drivers before pyopencl is imported, so that ``pip install`` is the whole set-up.

The OpenCL loader reads ``.icd`` files, each naming a driver's library.  The ``intel-opencl-rt`` wheel
brings a CPU driver but no ``.icd`` that works, and its libraries depend on others that only the
wheel's own folder has.  ``prepare`` therefore makes a folder that holds the system's ``.icd`` files
and one for the wheel, points the loader at it, and loads what the driver needs beforehand.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path

import platformdirs

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_INTEL_WHEEL = "intel-opencl-rt"
_INTEL_NEEDS = (
    ("intel-cmplr-lib-rt", ("libintlc.so.5", "libirng.so", "libsvml.so", "libimf.so")),
    ("tbb", ("libtbb.so.12",)),
)
_ENVIRONMENT = {
    # PoCL: without it two workers often share a core (11.3 ms against 7.9 ms for one ResNet18).
    "POCL_AFFINITY": "1",
    # Intel: contiguous ranges of work-groups for each thread; 4% faster on convolutions.
    "DPCPP_CPU_SCHEDULE": "static",
    # program.py keeps binaries itself: pyopencl's own cache would write each a second time.
    "PYOPENCL_NO_CACHE": "1",
}


@cache
def prepare() -> None:
    """Set the environment that OpenCL's loader and drivers read; call before importing pyopencl."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    library = intel_library()
    if library is None or not _load_dependencies():
        return
    vendors = Path(os.environ.get("OCL_ICD_VENDORS") or SYSTEM_VENDORS)
    folder = _vendors_folder(vendors, library)
    if folder is not None:
        os.environ["OCL_ICD_VENDORS"] = str(folder)


@cache
def cache_folder() -> Path | None:
    """Where this user's caches are, ``SONNX_CACHE_DIR`` or the usual place; None where no folder can
    be written that only this user controls."""
    given = os.environ.get("SONNX_CACHE_DIR")
    for place in (Path(given) if given else platformdirs.user_cache_path("sonnx"), _temporary()):
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if place.stat().st_uid == os.getuid() and os.access(place, os.W_OK | os.X_OK):
            return place
    return None


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"sonnx-{os.getuid()}"


def intel_library() -> Path | None:
    """The CPU driver's library of an installed ``intel-opencl-rt`` wheel."""
    return _wheel_file(_INTEL_WHEEL, "libintelocl.so")


def _wheel_file(distribution: str, name: str) -> Path | None:
    try:
        listed = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return None
    for file in listed:
        if file.name == name:
            path = Path(str(file.locate())).resolve()
            return path if path.is_file() else None
    return None


def _load_dependencies() -> bool:
    """Load the libraries the driver links to, visible to it; whether all could be."""
    for distribution, names in _INTEL_NEEDS:
        for name in names:
            path = _wheel_file(distribution, name)
            if path is None:
                return False
            try:
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                return False
    return True


def _icd_entries(vendors: Path) -> dict[str, str]:
    """The ``.icd`` files that a value of ``OCL_ICD_VENDORS`` stands for, and their text: those of a
    folder, one file (a bare name is looked for in the system's folder), or a library itself."""
    if not vendors.is_dir() and vendors.suffix != ".icd":
        return {"given.icd": f"{vendors}\n"} if ".so" in vendors.name else {}
    if not vendors.exists() and len(vendors.parts) == 1:
        vendors = SYSTEM_VENDORS / vendors
    entries = {}
    for file in sorted(vendors.glob("*.icd")) if vendors.is_dir() else [vendors]:
        try:
            entries[file.name] = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return entries


def _vendors_folder(vendors: Path, library: Path) -> Path | None:
    """A folder with the entries of ``vendors`` and one for ``library``; named by its content, so
    that it is made once, shared by all processes, and never stale."""
    entries = _icd_entries(vendors)
    if any(text.strip() == str(library) for text in entries.values()):
        return vendors
    entries = {**_bundled_entries(), **entries, "intel-wheel.icd": f"{library}\n"}
    key = hashlib.sha256(repr(sorted(entries.items())).encode()).hexdigest()[:16]
    parent = cache_folder()
    try:
        return parent and _write_folder(parent / "vendors" / key, entries)
    except OSError:
        return None


def _bundled_entries() -> dict[str, str]:
    """The drivers that pip put beside pyopencl's own loader, which it reads where no variable is set."""
    found = importlib.util.find_spec("pyopencl")
    if found is None or found.origin is None:
        return {}
    return _icd_entries(Path(found.origin).parent / ".libs")


def _write_folder(folder: Path, entries: dict[str, str]) -> Path:
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name, text in entries.items():
            (aside / name).write_text(text, encoding="utf-8")
        aside.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder
