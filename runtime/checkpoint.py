"""Apache SINGA's checkpoint (``Model.save_states``) and the safe reading of its parts.

A checkpoint is a zip of ``tensor_dict.npz`` (the arrays by name) and ``states_attr.json``
(``{name: {"state_type": 0 model | 1 auxiliary, "shape": [...], "dtype": 0}}``).  Arrays are read
where they lie in the file, by memory map, where neither zip compresses them; nothing is extracted,
nothing is unpickled, and a member that lies about its size is refused.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from .errors import RuntimeFault

TENSORS, ATTRIBUTES = "tensor_dict.npz", "states_attr.json"
MODEL_STATE, AUXILIARY_STATE = 0, 1
DTYPES = {"float32": 0, "int32": 2}
"""Apache SINGA's numbers of the types that its checkpoints hold."""

ALIGNMENT = 64
"""Where an array starts in a file: a multiple of this, so that a device can use it in place."""

JSON_LIMIT = 1 << 28
RATIO_LIMIT = 1100
"""Deflate cannot pack more tightly than 1032 to 1; a member that claims to is lying."""


class CheckpointError(RuntimeFault):
    """A file that is no checkpoint, or one that is damaged or malicious."""


# --- writing -----------------------------------------------------------------------------------


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when all of it is written, or not at all."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_archive(path: str | Path, members: Mapping[str, bytes | Mapping[str, np.ndarray]]) -> None:
    """A zip, written as one: each member bytes, or arrays by name (an npz)."""
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if isinstance(content, bytes):
                archive.writestr(name, content)
            else:
                _write_npz(archive, name, content, file)


def _write_npz(
    archive: zipfile.ZipFile, name: str, arrays: Mapping[str, np.ndarray], file: IO[bytes]
) -> None:
    """Arrays into an uncompressed npz inside a zip, each aligned in the outer file."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    with archive.open(info, "w", force_zip64=True) as member:
        start = file.tell()
        with zipfile.ZipFile(member, "w", zipfile.ZIP_STORED) as inner:
            for key, array in arrays.items():
                _write_npy(inner, key, np.asarray(array), start)


def _write_npy(inner: zipfile.ZipFile, key: str, array: np.ndarray, start: int) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    info = zipfile.ZipInfo(key + ".npy")
    info.file_size = header.tell() + array.nbytes
    assert inner.fp is not None
    big = info.file_size * 1.05 > zipfile.ZIP64_LIMIT
    begin = start + inner.fp.tell() + 30 + len(info.filename.encode()) + (20 if big else 0) + header.tell()
    padding = -(begin + 4) % ALIGNMENT
    info.extra = struct.pack("<HH", 0x5041, padding) + bytes(padding)
    with inner.open(info, "w") as target:
        np.lib.format.write_array(target, array, version=(1, 0), allow_pickle=False)


def write_states(
    path: str | Path, states: Mapping[str, np.ndarray], auxiliary: Mapping[str, np.ndarray]
) -> None:
    """A checkpoint as Apache SINGA writes it; types that it lacks become float32 or int32.

    Raises CheckpointError where the file exists already or a name is in both.
    """
    if Path(path).exists():
        raise CheckpointError(f"{path} exists already; a checkpoint overwrites nothing")
    twice = states.keys() & auxiliary.keys()
    if twice:
        raise CheckpointError(f"{sorted(twice)[0]!r} is a state of the model and an auxiliary one")
    arrays = {name: _narrowed(array) for name, array in (*states.items(), *auxiliary.items())}
    kinds = {name: AUXILIARY_STATE if name in auxiliary else MODEL_STATE for name in arrays}
    members: dict[str, Any] = {TENSORS: arrays, ATTRIBUTES: states_attributes(arrays, kinds)}
    write_archive(path, members)


def _narrowed(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.name in DTYPES:
        return array
    return array.astype(np.int32 if array.dtype.kind in "biu" else np.float32)


def states_attributes(arrays: Mapping[str, np.ndarray], kinds: Mapping[str, int]) -> bytes:
    """The content of ``states_attr.json``."""
    entries = {
        name: {"state_type": kinds[name], "shape": list(array.shape), "dtype": DTYPES[array.dtype.name]}
        for name, array in arrays.items()
    }
    return json.dumps(entries).encode()


# --- reading -----------------------------------------------------------------------------------


def read_states(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The model's states and the auxiliary ones of a checkpoint (or of a .singa archive).

    Raises CheckpointError.
    """
    archive = Archive(path)
    arrays = archive.arrays(TENSORS)
    attributes = archive.json(ATTRIBUTES)
    states: dict[str, np.ndarray] = {}
    auxiliary: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        entry = attributes.get(name) if isinstance(attributes, dict) else None
        if not isinstance(entry, dict):
            raise CheckpointError(f"{path}: {ATTRIBUTES} says nothing of {name!r}")
        (auxiliary if entry.get("state_type") == AUXILIARY_STATE else states)[name] = array
    return states, auxiliary


class Archive:
    """A zip of JSON and npz members, read in place; raises CheckpointError where it is none."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            with open(path, "rb") as file:
                self._bytes = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self._zip = zipfile.ZipFile(_Window(self._bytes))
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror or error}") from None
        except (ValueError, zipfile.BadZipFile, NotImplementedError) as error:
            raise CheckpointError(f"{path}: this is no archive, or it is damaged ({error})") from None
        self._check()

    def _check(self) -> None:
        """No member outside of the archive, none twice, none packed tighter than can be."""
        seen: set[str] = set()
        for info in self._zip.infolist():
            name = info.filename
            if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
                raise CheckpointError(f"{self.path}: member {name!r} would escape from the archive")
            if name in seen:
                raise CheckpointError(f"{self.path}: member {name!r} is there twice")
            seen.add(name)
            if info.file_size > max(info.compress_size, 1) * RATIO_LIMIT:
                raise CheckpointError(f"{self.path}: member {name!r} lies about its size")

    def __contains__(self, name: str) -> bool:
        return name in self._zip.namelist()

    def json(self, name: str) -> Any:
        """A JSON member's content."""
        try:
            return json.loads(self._content(name, JSON_LIMIT))
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.path}: {name} is no JSON ({error})") from None

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an npz member, views of the file where nothing is compressed."""
        info = self._info(name)
        if info.compress_type == zipfile.ZIP_STORED:
            content = _stored(self._bytes, info, self.path)
        else:
            content = memoryview(self._content(name, info.file_size))
        return _arrays(content, f"{self.path}: {name}")

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(name)
        except KeyError:
            raise CheckpointError(f"{self.path}: there is no {name} in it") from None

    def _content(self, name: str, limit: int) -> bytes:
        info = self._info(name)
        if info.file_size > limit:
            raise CheckpointError(f"{self.path}: {name} has {info.file_size} bytes, more than {limit}")
        return _unpacked(self._zip, info, self.path)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> bytes:
    try:
        content = archive.read(info)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise CheckpointError(f"{where}: {info.filename} is damaged ({error})") from None
    if len(content) != info.file_size:
        raise CheckpointError(f"{where}: {info.filename} lies about its size")
    return content


def _stored(content: memoryview, info: zipfile.ZipInfo, where: str) -> memoryview:
    """The bytes of a member that is not compressed, in place."""
    header = bytes(content[info.header_offset : info.header_offset + 30])
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise CheckpointError(f"{where}: {info.filename} is damaged")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = info.header_offset + 30 + name_length + extra_length
    if info.compress_size != info.file_size or start + info.file_size > len(content):
        raise CheckpointError(f"{where}: {info.filename} lies about its size")
    return content[start : start + info.file_size]


def _arrays(content: memoryview, where: str) -> dict[str, np.ndarray]:
    """The arrays of an npz; names are keys only, never paths."""
    try:
        npz = zipfile.ZipFile(_Window(content))
    except (ValueError, OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise CheckpointError(f"{where}: this is no npz ({error})") from None
    arrays: dict[str, np.ndarray] = {}
    budget = len(content) * RATIO_LIMIT
    for info in npz.infolist():
        key = info.filename.removesuffix(".npy")
        if info.compress_type == zipfile.ZIP_STORED:
            member = _stored(content, info, where)
        else:
            budget -= info.file_size
            if budget < 0 or info.file_size > max(info.compress_size, 1) * RATIO_LIMIT:
                raise CheckpointError(f"{where}: {key!r} lies about its size")
            member = memoryview(_unpacked(npz, info, where))
        if key in arrays:
            raise CheckpointError(f"{where}: {key!r} is there twice")
        arrays[key] = _array(member, f"{where}: {key}")
    return arrays


def _array(member: memoryview, where: str) -> np.ndarray:
    """An npy file's array in place."""
    file = io.BytesIO(bytes(member[: 1 << 16]))
    readers: dict[tuple[int, int], Callable[..., Any]] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(file)](file)
    except Exception as error:  # numpy's reader lets whatever its parser raises through
        raise CheckpointError(f"{where}: no array ({error})") from None
    try:
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        count = 1
        for size in shape:
            count *= size
        if count * dtype.itemsize != len(member) - file.tell():
            raise ValueError("its size is not what its header says")
        flat = np.frombuffer(member, dtype, count, file.tell()) if count else np.empty(0, dtype)
    except ValueError as error:
        raise CheckpointError(f"{where}: {error}") from None
    return flat.reshape(shape, order="F" if fortran else "C")


class _Window(io.RawIOBase):
    """Bytes as a file, without a copy."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._position, len(self._content))[whence]
        if base + offset < 0:
            # What zipfile expects, and takes for the end of what it looks for.
            raise OSError("a position before the start")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        part = self._content[self._position : self._position + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)
