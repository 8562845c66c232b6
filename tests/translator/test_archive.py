"""The archive keeps a graph as it is, Apache SINGA reads its weights, and bad files do no harm."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from sonnx.runtime.checkpoint import ATTRIBUTES, TENSORS, CheckpointError, read_states, write_states
from sonnx.runtime.graph import Graph, Node, Origin, Ref, State, ValueInfo
from sonnx.translator import ModelError, load, save

FLOAT = np.dtype(np.float32)


def sample() -> Graph:
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    inner = Graph("inner", [], [ValueInfo("i")], [Node("ReLU", ["x"], ["i"])], {"k": State(np.ones(2))})
    attributes = {
        "ref": Ref("s"),
        "ints": (1, -2),
        "none": None,
        "inf": float("inf"),
        "number": 0.1,
        "text": "a",
        "flag": True,
        "dtype": np.dtype(ml_dtypes.bfloat16),
        "tensor": np.array([[1, 2]], np.int64),
        "shared": weight,
        "graph": inner,
    }
    origin = Origin("Rule", "a.rules", 3, "Op", 13, ("n",), 2, ("alpha",), {"min": "low"})
    states = {
        "conv1.W": State(weight, "param"),
        "bn.running_mean": State(np.zeros(3, np.float32), "state"),
        "count": State(np.array([7], np.int32), "state"),
        "/model/w": State(np.ones((2, 2), ml_dtypes.bfloat16), "param"),
        "../up": State(np.ones(1, np.float32), "param"),
        "flags": State(np.array([True, False]), "const"),
        "empty": State(np.zeros((0, 3), np.float32), "param"),
        "scalar": State(np.float32(2.5).reshape(()), "param"),
        "fortran": State(np.asfortranarray(weight), "param"),
        "tiny": State(np.array([1, -3], ml_dtypes.int4), "const"),
    }
    return Graph(
        "g",
        [ValueInfo("x", FLOAT, ("N", None, 3)), ValueInfo("s", None, None)],
        [ValueInfo("y", FLOAT, ())],
        [Node("Op", ["x", ""], ["y", ""], attributes, "n", origin)],
        states,
        {"bn.running_mean": "y"},
        {"x": ValueInfo("x", FLOAT, (1, 2, 3))},
        {"opset": {"": 13}, "producer": "test", "folded": {"c": np.float32(1).reshape(())}},
    )


def assert_equal(a: object, b: object) -> None:
    """Deep equality, arrays by type and content."""
    if isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, (tuple, list)):
        assert isinstance(b, (tuple, list))
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_equal(left, right)
    elif isinstance(a, dict):
        assert isinstance(b, dict)
        assert list(a) == list(b)
        for key in a:
            assert_equal(a[key], b[key])
    elif isinstance(a, (Graph, Node, State)):
        assert_equal(vars(a), vars(b))
    else:
        assert a == b


def test_a_graph_comes_back_as_it_was(tmp_path):
    save(sample(), tmp_path / "m.singa")
    back = load(tmp_path / "m.singa")
    assert_equal(sample(), back)
    assert back.nodes[0].attributes["shared"] is back.states["conv1.W"].array


def test_weights_are_views_of_the_file_where_a_device_can_use_them(tmp_path):
    save(sample(), tmp_path / "m.singa")
    back = load(tmp_path / "m.singa")
    for state in back.states.values():
        assert not state.array.size or not state.array.flags.writeable
        assert not state.array.size or state.array.ctypes.data % 64 == 0


def test_apache_singa_finds_its_checkpoint_inside(tmp_path):
    """What its ``load_states`` does: extract both members, ``np.load``, look up each name."""
    save(sample(), tmp_path / "m.singa")
    with zipfile.ZipFile(tmp_path / "m.singa") as archive:
        assert archive.testzip() is None
        attributes = json.loads(archive.read(ATTRIBUTES))
        tensors = np.load(io.BytesIO(archive.read(TENSORS)))
    assert set(tensors.files) == set(attributes)
    assert {"conv1.W", "bn.running_mean", "count", "../up", "empty", "scalar", "fortran"} == set(attributes)
    for name in tensors.files:
        assert attributes[name]["state_type"] == 0
        assert attributes[name]["shape"] == list(tensors[name].shape)
        assert attributes[name]["dtype"] == {"float32": 0, "int32": 2}[tensors[name].dtype.name]
    np.testing.assert_array_equal(tensors["conv1.W"], sample().states["conv1.W"].array)


def test_a_checkpoint_goes_both_ways(tmp_path):
    states = {"fc1.W": np.ones((2, 3), np.float32), "n": np.array([2], np.int32)}
    write_states(tmp_path / "c.zip", states, {"epoch": np.array([4.0])})
    model, auxiliary = read_states(tmp_path / "c.zip")
    assert_equal(states, model)
    assert_equal({"epoch": np.array([4.0], np.float32)}, auxiliary)
    assert set(load(tmp_path / "c.zip").states) == {"fc1.W", "n", "epoch"}
    with pytest.raises(CheckpointError, match="exists already"):
        write_states(tmp_path / "c.zip", states, {})


def test_a_deflated_checkpoint_is_read(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{"fc1.W": np.zeros((50, 50), np.float32)})
    entry = {"fc1.W": {"state_type": 0, "shape": [50, 50], "dtype": 0}}
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(TENSORS, buffer.getvalue())
        archive.writestr(ATTRIBUTES, json.dumps(entry))
    assert read_states(tmp_path / "c.zip")[0]["fc1.W"].shape == (50, 50)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "m.singa"
    save(sample(), path)
    before = path.read_bytes()
    bad = sample()
    bad.nodes[0].attributes["bad"] = object()
    with pytest.raises(ModelError, match="object cannot be kept"):
        save(bad, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.singa"]


def repack(path: Path, **changes: bytes | None) -> Path:
    """The archive with members replaced, added, or (None) left out; ``_`` in a name is ``.``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= {name.replace("__", "."): content for name, content in changes.items()}
    target = path.with_name("changed.singa")
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return target


def npy(payload: bytes, header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + payload


def npz(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name + ".npy", content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"../evil": b"x"}, "would escape"),
        ({"/etc/passwd": b"x"}, "would escape"),
        ({"tensor_dict__npz": None}, "there is no tensor_dict.npz"),
        ({"tensor_dict__npz": b"PK nonsense"}, "no npz"),
        ({"graph__json": b"{"}, "no JSON"),
        ({"graph__json": b"[1]"}, "not a SINGA graph"),
        ({"graph__json": b'{"format": "singa graph", "version": 2}'}, "version 2"),
        ({"graph__json": b'{"format": "singa graph", "version": 1, "graph": {}}'}, "damaged"),
        ({"graph__json": b"[" * 100_000}, "no JSON"),
        (
            {"constants__npz": npz(a=npy(b"", "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"))},
            "objects",
        ),
        (
            {"constants__npz": npz(a=npy(b"", "{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}"))},
            "size",
        ),
        ({"constants__npz": npz(a=npy(b"", "{'descr': '<f4', 'shape': (1,)}"))}, "a:"),
        ({"constants__npz": npz(a=b"garbage")}, "a:"),
    ],
)
def test_a_bad_archive_is_refused(tmp_path, changes, reason):
    save(sample(), tmp_path / "m.singa")
    with pytest.raises(ModelError, match=reason):
        load(repack(tmp_path / "m.singa", **changes))


def test_a_member_that_lies_about_its_size_is_refused(tmp_path):
    save(sample(), tmp_path / "m.singa")
    content = bytearray(repack(tmp_path / "m.singa", graph__json=b"[" + b" " * 5000 + b"]").read_bytes())
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"graph.json"))
    content[place + 24 : place + 28] = (1 << 31).to_bytes(4, "little")
    (tmp_path / "lie.singa").write_bytes(content)
    with pytest.raises(ModelError, match="lies about its size"):
        load(tmp_path / "lie.singa")


def test_a_bomb_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1000,)}"
        archive.writestr("a.npy", npy(bytes(5_000_000), header))
    save(sample(), tmp_path / "m.singa")
    with pytest.raises(ModelError, match="size"):
        load(repack(tmp_path / "m.singa", tensor_dict__npz=buffer.getvalue()))


@pytest.mark.parametrize("cut", [0, 1, 50, 0.5, 0.9])
def test_a_truncated_archive_is_refused(tmp_path, cut):
    save(sample(), tmp_path / "m.singa")
    content = (tmp_path / "m.singa").read_bytes()
    (tmp_path / "cut.singa").write_bytes(content[: int(cut * len(content)) if cut < 1 else cut])
    with pytest.raises(ModelError):
        load(tmp_path / "cut.singa")


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ModelError, match="No such file"):
        load(tmp_path / "none.singa")


def test_damaged_bytes_never_crash(tmp_path):
    save(sample(), tmp_path / "m.singa")
    content = (tmp_path / "m.singa").read_bytes()
    random = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(content)
        for place in random.integers(0, len(content), 3):
            damaged[place] = random.integers(0, 256)
        (tmp_path / "d.singa").write_bytes(damaged)
        try:
            graph = load(tmp_path / "d.singa")
        except ModelError:
            continue
        assert isinstance(graph, Graph)
