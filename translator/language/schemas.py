"""ONNX's operator schemas as the rule language asks them: versions, defaults, types."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from ...runtime.signature import Attribute, Input
from ...runtime.signature import Signature as RuntimeSignature
from .values import decimal

DEFAULT_DOMAINS = ("", "ai.onnx")
NEWEST = defs.onnx_opset_version()
"""The newest version of the default operator set that the installed onnx knows."""

_KINDS = {
    "FLOAT": "float",
    "INT": "int",
    "STRING": "string",
    "TENSOR": "tensor",
    "GRAPH": "graph",
    "FLOATS": "floats",
    "INTS": "ints",
    "STRINGS": "strings",
}


HINTS = frozenset({"consumed_inputs"})
"""Attributes of ONNX's first versions that only told a runtime what it may overwrite: read as absent."""


def attributes_of(found: defs.OpSchema) -> dict[str, defs.OpSchema.Attribute]:
    """A schema's attributes that mean something."""
    return {name: attribute for name, attribute in found.attributes.items() if name not in HINTS}


def split(operator: str) -> tuple[str, str]:
    """``com.microsoft::Gelu`` as domain and name; the default domain is ``""``."""
    domain, _, name = operator.rpartition("::")
    return ("" if domain in DEFAULT_DOMAINS else domain), name


@cache
def schema(operator: str, opset: int, domain: str = "") -> defs.OpSchema | None:
    """The schema in force at a version of an operator set, or None where there is none."""
    try:
        return defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return None


@cache
def attribute_defaults(operator: str, opset: int, domain: str = "") -> dict[str, Any]:
    """Each attribute's default; None where it may be absent, KeyError's sentinel where required."""
    found = schema(operator, opset, domain)
    if found is None:
        return {}
    defaults: dict[str, Any] = {}
    for name, attribute in attributes_of(found).items():
        if attribute.required:
            continue
        given = attribute.default_value
        defaults[name] = attribute_value(given) if given.name or given.type else None
    return defaults


@cache
def attribute_types(operator: str, opset: int, domain: str = "") -> dict[str, int]:
    """The AttributeProto type of each attribute."""
    found = schema(operator, opset, domain)
    if found is None:
        return {}
    return {name: int(attribute.type.value) for name, attribute in attributes_of(found).items()}


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """An ONNX attribute as a Python value (graphs and types stay protos)."""
    kind = attribute.type
    if kind == onnx.AttributeProto.INT:
        return attribute.i
    if kind == onnx.AttributeProto.FLOAT:
        return decimal(attribute.f)
    if kind == onnx.AttributeProto.STRING:
        return text(attribute.s)
    if kind == onnx.AttributeProto.INTS:
        return tuple(attribute.ints)
    if kind == onnx.AttributeProto.FLOATS:
        return tuple(map(decimal, attribute.floats))
    if kind == onnx.AttributeProto.STRINGS:
        return tuple(map(text, attribute.strings))
    if kind == onnx.AttributeProto.TENSOR:
        return numpy_helper.to_array(attribute.t)
    return helper.get_attribute_value(attribute)


def text(value: bytes) -> str:
    """An ONNX string; bytes that are no UTF-8 survive the way back."""
    return value.decode("utf-8", "surrogateescape")


def as_signature(operator: str, domain: str, opset: int | None) -> RuntimeSignature:
    """An ONNX operator in the form of a runtime signature; raises KeyError where it is unknown."""
    found = schema(operator, opset or NEWEST, domain)
    if found is None:
        raise KeyError(operator)
    defaults = attribute_defaults(operator, opset or NEWEST, domain)
    return RuntimeSignature(
        operator,
        tuple(_port(parameter) for parameter in found.inputs),
        tuple(
            Attribute(
                name,
                _KINDS.get(attribute.type.name, "any"),
                name in defaults and defaults[name] is None,
                defaults.get(name),
            )
            for name, attribute in attributes_of(found).items()
        ),
        tuple(_port(parameter) for parameter in found.outputs),
    )


def _port(parameter: defs.OpSchema.FormalParameter) -> Input:
    option = defs.OpSchema.FormalParameterOption
    return Input(parameter.name, parameter.option == option.Optional, parameter.option == option.Variadic)


def formal(parameters: Any, place: int) -> defs.OpSchema.FormalParameter | None:
    """The formal parameter at a place, a variadic last one standing for all that follow."""
    if place < len(parameters):
        return parameters[place]
    if parameters and parameters[-1].option == defs.OpSchema.FormalParameterOption.Variadic:
        return parameters[-1]
    return None


@cache
def element_types(found_name: str, opset: int, domain: str, place: int) -> tuple[str, frozenset[str]]:
    """The type variable (or type) of an input and the element types it allows, as ONNX's names
    (``float``, ``int64``); empty where the schema is unknown."""
    found = schema(found_name, opset, domain)
    parameter = formal(found.inputs, place) if found else None
    if found is None or parameter is None:
        return "", frozenset()
    types = [parameter.type_str]
    for constraint in found.type_constraints:
        if constraint.type_param_str == parameter.type_str:
            types = list(constraint.allowed_type_strs)
    names = frozenset(t[len("tensor(") : -1] for t in types if t.startswith("tensor("))
    return parameter.type_str, names


_FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
_NAMES = {name.replace("_", ""): name for name in _FLOAT8}
_NAMES |= {
    "float": "float32",
    "double": "float64",
    "float4e2m1": "float4_e2m1fn",
    "float6e2m3": "float6_e2m3fn",
    "float6e3m2": "float6_e3m2fn",
    "float8e8m0": "float8_e8m0fnu",
}


def dtype_name(element_type: str) -> str:
    """ONNX's name of an element type as numpy's: ``float`` is ``float32``."""
    return _NAMES.get(element_type, element_type)


def numpy_dtype(element_type: int) -> np.dtype | None:
    """The numpy dtype of a TensorProto data type, or None (strings, undefined)."""
    if element_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return None
    try:
        return np.dtype(helper.tensor_dtype_to_np_dtype(element_type))
    except KeyError:
        return None


@cache
def _history() -> dict[tuple[str, str], list[int]]:
    history: dict[tuple[str, str], list[int]] = {}
    for found in defs.get_all_schemas_with_history():
        history.setdefault((found.name, found.domain), []).append(found.since_version)
    return history


def versions(operator: str, domain: str = "") -> list[int]:
    """The versions at which an operator's schema changed, oldest first."""
    return sorted(_history().get((operator, domain), ()))
