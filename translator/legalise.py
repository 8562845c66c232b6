"""Casts where ONNX demands them: SINGA computes 0/1 in the data's own type and lets it meet floats.

Everything here follows from the schemas' type constraints; no operator is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ..runtime.dtypes import promote
from .onnx_types import input_types

if TYPE_CHECKING:
    from .exporter import GraphExporter

_PREFERENCES = {
    "bool": ("float32", "int32", "int64", "uint8", "float16", "float64"),
    "float": ("float32", "float64", "float16", "bool", "int64", "int32"),
    "integer": ("int64", "int32", "float32", "uint64", "bool", "float64"),
}
"""For a type that an input does not allow: what takes its place, best first."""


def casts(exporter: GraphExporter, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The Casts that must stand before a node, its inputs renamed to their results."""
    opset = exporter.opset(node.domain)
    present: dict[int, tuple[str, frozenset[np.dtype], np.dtype]] = {}
    for place, name in enumerate(node.input):
        dtype = exporter.types.dtype(name) if name else None
        variable, allowed = input_types(node.op_type, opset, node.domain, place)
        if dtype is not None and allowed:
            present[place] = (variable, allowed, dtype)
    groups: dict[str, list[int]] = {}
    for place, (variable, _, _) in present.items():
        groups.setdefault(variable, []).append(place)
    made = []
    for places in groups.values():
        allowed = present[places[0]][1]
        wanted = _wanted([present[place][2] for place in places], allowed)
        made += [cast_input(exporter, node, p, wanted) for p in places if present[p][2] != wanted]
    return made


def _wanted(dtypes: list[np.dtype], allowed: frozenset[np.dtype]) -> np.dtype:
    """The type that inputs of one type variable have in common."""
    first = dtypes[0]
    common = first if all(dtype == first for dtype in dtypes) else promote(*dtypes)
    return common if common in allowed else _nearest(common, allowed)


def _nearest(dtype: np.dtype, allowed: frozenset[np.dtype]) -> np.dtype:
    if dtype.kind == "b":
        order: Iterable[str] = _PREFERENCES["bool"]
    else:
        order = _PREFERENCES["integer" if dtype.name.startswith(("int", "uint")) else "float"]
    usable = [np.dtype(name) for name in order if np.dtype(name) in allowed]
    return usable[0] if usable else min(allowed, key=lambda each: each.name)


def cast_input(exporter: GraphExporter, node: onnx.NodeProto, place: int, dtype: np.dtype) -> onnx.NodeProto:
    """A Cast in front of one input."""
    source = node.input[place]
    node.input[place] = exporter.fresh(f"{source}/{dtype.name}")
    return make_cast(source, node.input[place], dtype)


def make_cast(source: str, target: str, dtype: np.dtype) -> onnx.NodeProto:
    """A Cast between two values."""
    to = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return onnx.helper.make_node("Cast", [source], [target], f"{target}/Cast", to=to)
