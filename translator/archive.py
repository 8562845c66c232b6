"""The model archive ``.singa``: a SINGA graph and its weights in one zip (docs/archive.md).

``graph.json`` holds the graph; ``tensor_dict.npz`` and ``states_attr.json`` hold the weights as
Apache SINGA's own checkpoint does, so that its ``load_states`` reads an archive; tensors that it
has no type for, and constants, are in ``constants.npz``.  Weights are read when they are used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.checkpoint import (
    ATTRIBUTES,
    DTYPES,
    MODEL_STATE,
    TENSORS,
    Archive,
    CheckpointError,
    states_attributes,
    write_archive,
)
from ..runtime.dtypes import by_name
from ..runtime.graph import Graph, GraphError, Node, Origin, Ref, State, ValueInfo
from .errors import ModelError

FORMAT, VERSION = "singa graph", 1
GRAPH, CONSTANTS = "graph.json", "constants.npz"
KINDS = ("param", "state", "const")


def save(graph: Graph, path: str | Path) -> None:
    """Write an archive; the file appears whole or not at all.  Raises ModelError."""
    writer = _Writer()
    content = {"format": FORMAT, "version": VERSION, "graph": writer.graph(graph)}
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    members: dict[str, Any] = {GRAPH: text, TENSORS: writer.tensors}
    members[ATTRIBUTES] = states_attributes(writer.tensors, dict.fromkeys(writer.tensors, MODEL_STATE))
    if writer.constants:
        members[CONSTANTS] = writer.constants
    try:
        write_archive(path, members)
    except OSError as error:
        raise ModelError(error.strerror or str(error), file=str(path)) from None


def load(path: str | Path) -> Graph:
    """Read an archive.  A checkpoint of Apache SINGA gives a graph of states alone.

    Raises ModelError where the file is neither, is damaged, or is of a newer version.
    """
    try:
        archive = Archive(path)
        tensors = archive.arrays(TENSORS)
        if GRAPH not in archive:
            return Graph(states={name: State(array, "param") for name, array in tensors.items()})
        content = archive.json(GRAPH)
        constants = archive.arrays(CONSTANTS) if CONSTANTS in archive else {}
    except CheckpointError as error:
        raise ModelError(str(error).removeprefix(f"{path}: "), file=str(path)) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError("its graph.json is not a SINGA graph", file=str(path))
    if content.get("version") != VERSION:
        raise ModelError(
            f"it is of version {content.get('version')!r}; this program reads version {VERSION}",
            file=str(path),
        )
    try:
        graph = _Reader(tensors, constants).graph(content["graph"])
        graph.check()
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, GraphError) as error:
        raise ModelError(f"its graph.json is damaged ({error!r})", file=str(path)) from None
    return graph


class _Writer:
    """Turns a graph into JSON, putting its tensors aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}
        self._held: dict[int, tuple[str, str]] = {}

    def graph(self, graph: Graph) -> dict[str, Any]:
        states = {name: self._state(name, state) for name, state in graph.states.items()}
        return {
            "name": graph.name,
            "inputs": [_info(info) for info in graph.inputs],
            "outputs": [_info(info) for info in graph.outputs],
            "nodes": [self._node(node) for node in graph.nodes],
            "states": states,
            "updates": dict(graph.updates),
            "values": [_info(info) for info in graph.values.values()],
            "metadata": self.value(graph.metadata),
        }

    def _state(self, name: str, state: State) -> dict[str, Any]:
        return {"kind": state.kind, **self._hold(state.array, name, state.kind != "const")}

    def _hold(self, array: np.ndarray, name: str, shared: bool = False) -> dict[str, Any]:
        """Put an array into one of the npz members; where it is."""
        place = self._held.get(id(array))
        if place is None:
            shared = shared and array.dtype.name in DTYPES and name not in self.tensors
            member = self.tensors if shared else self.constants
            key, number = name, 1
            while key in member:
                number += 1
                key = f"{name}#{number}"
            native = array.dtype.isbuiltin == 1
            member[key] = array if native else np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
            place = (TENSORS if shared else CONSTANTS, key)
            self._held[id(array)] = place
        return {"dtype": array.dtype.name, "shape": list(array.shape), "member": place[0], "key": place[1]}

    def _node(self, node: Node) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "operator": node.operator,
            "inputs": node.inputs,
            "outputs": node.outputs,
            "name": node.name,
        }
        if node.attributes:
            entry["attributes"] = {name: self.value(value) for name, value in node.attributes.items()}
        if node.origin:
            entry["origin"] = asdict(node.origin)
        return entry

    def value(self, value: Any) -> Any:
        """An attribute's value: JSON where JSON has it, else an object with one key that says what."""
        if isinstance(value, (bool, str)) or value is None:
            return value
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return number if np.isfinite(number) else {"float": repr(number)}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, Ref):
            return {"ref": value.name}
        if isinstance(value, Graph):
            return {"graph": self.graph(value)}
        if isinstance(value, np.ndarray):
            return {"tensor": self._hold(value, "attribute")}
        if isinstance(value, (np.dtype, type)):
            return {"dtype": np.dtype(value).name}
        if isinstance(value, Mapping):
            return {"map": [[str(key), self.value(item)] for key, item in value.items()]}
        raise ModelError(f"a {type(value).__name__} cannot be kept in an archive")


def _info(info: ValueInfo) -> list[Any]:
    """``[name, dtype or null, [size, "name" or null ...] or null]``."""
    dtype = None if info.dtype is None else info.dtype.name
    return [info.name, dtype, None if info.shape is None else list(info.shape)]


class _Reader:
    """Turns JSON back into a graph."""

    def __init__(self, tensors: dict[str, np.ndarray], constants: dict[str, np.ndarray]) -> None:
        self._members = {TENSORS: tensors, CONSTANTS: constants}
        self._made: dict[tuple[str, str], np.ndarray] = {}

    def graph(self, entry: dict[str, Any]) -> Graph:
        infos = {info.name: info for info in map(_read_info, entry["values"])}
        states = {name: self._state(state) for name, state in entry["states"].items()}
        return Graph(
            name=str(entry["name"]),
            inputs=[_read_info(info) for info in entry["inputs"]],
            outputs=[_read_info(info) for info in entry["outputs"]],
            nodes=[self._node(node) for node in entry["nodes"]],
            states=states,
            updates={str(key): str(value) for key, value in entry["updates"].items()},
            values=infos,
            metadata=self.value(entry["metadata"]),
        )

    def _state(self, entry: dict[str, Any]) -> State:
        if entry["kind"] not in KINDS:
            raise ValueError(f"no kind of state: {entry['kind']!r}")
        return State(self._array(entry), entry["kind"])

    def _array(self, entry: dict[str, Any]) -> np.ndarray:
        place = (entry["member"], entry["key"])
        array = self._made.get(place)
        if array is None:
            array = self._members[place[0]][place[1]]
            dtype = by_name(entry["dtype"])
            if array.dtype != dtype:
                array = array.view(dtype)
            if list(array.shape) != entry["shape"]:
                raise ValueError(f"{place[1]!r} is {list(array.shape)}, not {entry['shape']}")
            self._made[place] = array
        return array

    def _node(self, entry: dict[str, Any]) -> Node:
        attributes = {name: self.value(value) for name, value in entry.get("attributes", {}).items()}
        origin = entry.get("origin")
        return Node(
            str(entry["operator"]),
            [str(name) for name in entry["inputs"]],
            [str(name) for name in entry["outputs"]],
            attributes,
            str(entry["name"]),
            _read_origin(origin) if origin else None,
        )

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.value(item) for item in value)
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "map":
            return {key: self.value(item) for key, item in content}
        readers = {
            "float": float,
            "ref": lambda name: Ref(str(name)),
            "graph": self.graph,
            "tensor": self._array,
            "dtype": by_name,
        }
        return readers[kind](content)


def _read_info(entry: list[Any]) -> ValueInfo:
    name, dtype, shape = entry
    sizes = None if shape is None else tuple(shape)
    return ValueInfo(str(name), None if dtype is None else by_name(dtype), sizes)


def _read_origin(entry: dict[str, Any]) -> Origin:
    known = {field.name for field in fields(Origin)}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in entry.items() if name in known}
    return Origin(**values)
