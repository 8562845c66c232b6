"""Random inputs that a model can take: its types, its shapes, values in the ranges it can bear.

A dynamic dimension has one size wherever it appears.  Which sizes a model can bear its declarations
do not say, so ``assignments`` gives the likely ones first, and who runs the model tries them in turn.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx

from .errors import TranslationError
from .language import schemas
from .value_ranges import Range, Shape, index_ranges

ATTEMPTS = 96
"""How many assignments of sizes are tried at most."""

BATCH = (2, 1)
LENGTHS = (8, 2, 512, 64, 200, 100, 1, 576)
SPATIAL = (64, 48, 320, 224, 16)
PAST = (6,)
MASKED_SHARE = 5
"""One of so many elements at the end of a mask is off."""

SAMPLE_RATE = 16000
TOKENS = Range(0, 20)
"""What integers with no known bound are drawn from: small enough for any table."""

UNKNOWN = "?"
"""What some exporters write for a size that is not known; it is no name."""

_SUM = re.compile(r"[\w.]+(\s*[+\-*]\s*[\w.]+)+")


@dataclass(frozen=True)
class Dimension:
    """A dynamic dimension and the sizes to try, likeliest first."""

    name: str
    candidates: tuple[int, ...]


def model_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are not initializers."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initializers]


def dimension_name(value: onnx.ValueInfoProto, axis: int) -> str | None:
    """What a dynamic dimension is called here, or None where its size is fixed."""
    dimension = value.type.tensor_type.shape.dim[axis]
    if dimension.dim_param and dimension.dim_param != UNKNOWN:
        return dimension.dim_param
    if not dimension.dim_param and dimension.HasField("dim_value") and dimension.dim_value >= 0:
        return None
    return f"{value.name}:{axis}"


def dimensions(model: onnx.ModelProto) -> list[Dimension]:
    """The dynamic dimensions of the inputs; those that are sums of others are left out."""
    found: dict[str, Dimension] = {}
    names = _dimension_names(model)
    for value in model_inputs(model):
        rank = len(value.type.tensor_type.shape.dim)
        for axis in range(rank):
            name = dimension_name(value, axis)
            if name is not None and name not in found and not _parts(name, names):
                found[name] = Dimension(name, _candidates(name, axis, rank))
    return list(found.values())


def _dimension_names(model: onnx.ModelProto) -> set[str]:
    return {
        name
        for value in model_inputs(model)
        for axis in range(len(value.type.tensor_type.shape.dim))
        if (name := dimension_name(value, axis)) is not None
    }


def _candidates(name: str, axis: int, rank: int) -> tuple[int, ...]:
    lowered = name.lower()
    if "past" in lowered:
        return PAST
    if "batch" in lowered or axis == 0:
        return BATCH
    return SPATIAL if rank >= 4 else LENGTHS


def _parts(name: str, names: set[str]) -> str | None:
    """The expression that a dimension's size is, where it is one of the other dimensions': written
    out (``past + length``), or the total of a past and a new length."""
    if _SUM.fullmatch(name):
        return name
    if "total" in name.lower():
        others = sorted(names - {name})
        past = [other for other in others if "past" in other.lower()]
        new = [other for other in others if re.search("len|seq", other.lower()) and other not in past]
        if len(past) == len(new) == 1:
            return f"{past[0]} + {new[0]}"
    return None


def assignments(model: onnx.ModelProto, given: Mapping[str, int] | None = None) -> Iterator[dict[str, int]]:
    """Sizes of every dynamic dimension, the likeliest first; ``given`` ones are kept.

    Raises TranslationError where a given name is no dynamic dimension of the model.
    """
    given = given or {}
    names = _dimension_names(model)
    for name in given:
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise TranslationError(f"no dynamic dimension is called {name!r}; there are: {known}")
    free = [d for d in dimensions(model) if d.name not in given]
    places = sorted(itertools.product(*(range(len(d.candidates)) for d in free)), key=lambda p: (sum(p), p))
    for place in places[:ATTEMPTS]:
        sizes = {d.name: d.candidates[index] for d, index in zip(free, place, strict=True)}
        sizes.update(given)
        for name in names - sizes.keys():
            sizes[name] = _evaluate(_parts(name, names) or name, sizes)
        yield sizes


def _evaluate(expression: str, sizes: Mapping[str, int]) -> int:
    """A sum or product of dimensions and numbers; its names that are unknown count as 1."""
    try:
        tree = ast.parse(expression.replace(".", "_"), mode="eval").body
    except SyntaxError:
        return LENGTHS[0]
    plain = {name.replace(".", "_"): size for name, size in sizes.items()}

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            return left - right if isinstance(node.op, ast.Sub) else left * right
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        return plain.get(node.id, 1) if isinstance(node, ast.Name) else 1

    return value(tree)


def given_sizes(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The sizes of dynamic dimensions that given inputs have."""
    sizes: dict[str, int] = {}
    for value in model_inputs(model):
        given = inputs.get(value.name)
        if given is None or given.ndim != len(value.type.tensor_type.shape.dim):
            continue
        for axis, size in enumerate(given.shape):
            name = dimension_name(value, axis)
            if name is not None:
                sizes[name] = size
    return sizes


def concrete_shape(value: onnx.ValueInfoProto, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """An input's shape with these sizes."""
    shape = []
    for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
        name = dimension_name(value, axis)
        shape.append(dimension.dim_value if name is None else sizes[name])
    return tuple(shape)


def known_shapes(model: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, Shape]:
    """The shapes that ONNX's inference finds with these sizes, and those of the initializers."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        for axis in range(len(value.type.tensor_type.shape.dim)):
            name = dimension_name(value, axis)
            if name is not None and name in sizes:
                value.type.tensor_type.shape.dim[axis].dim_value = sizes[name]
    # Inference raises errors of its own, Runtime- and ValueErrors; without it less is known.
    with contextlib.suppress(Exception):
        fixed = onnx.shape_inference.infer_shapes(fixed, data_prop=True)
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in fixed.graph.initializer}
    for value in (*fixed.graph.input, *fixed.graph.value_info, *fixed.graph.output):
        if value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)
    return shapes


def random_inputs(
    model: onnx.ModelProto, sizes: Mapping[str, int], seed: int, given: Iterable[str] = ()
) -> dict[str, np.ndarray]:
    """An array for each input but those ``given``, of its type and shape, drawn with ``seed``.

    Floats are half a standard normal; integers lie in the range that the graph allows, else in 0 to
    19; masks are ones that end in zeros.  Raises TranslationError for what is no tensor of numbers.
    """
    wanted = [value for value in model_inputs(model) if value.name not in set(given)]
    indices = [value for value in wanted if _dtype(value).kind in "iu"]
    ranges = index_ranges(model, known_shapes(model, sizes)) if indices else {}
    random = np.random.default_rng(seed)
    return {v.name: _draw(v, concrete_shape(v, sizes), ranges.get(v.name), random) for v in wanted}


def _dtype(value: onnx.ValueInfoProto) -> np.dtype:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise TranslationError(f"input {value.name!r} is no tensor")
    dtype = schemas.numpy_dtype(value.type.tensor_type.elem_type)
    if dtype is None or dtype == np.dtype(object):
        raise TranslationError(f"input {value.name!r} holds no numbers; give it with -i")
    return dtype


def _draw(
    value: onnx.ValueInfoProto, shape: tuple[int, ...], limits: Range | None, random: np.random.Generator
) -> np.ndarray:
    dtype, name = _dtype(value), value.name.lower()
    if "mask" in name and limits is None and dtype.name != "uint8":
        return _mask(shape).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2"):
        if not shape and name in ("sr", "sample_rate", "sampling_rate"):
            return np.array(SAMPLE_RATE, dtype)
        info = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.iinfo(dtype)
        limits = (limits or TOKENS).meet(Range(int(info.min), int(info.max) + 1))
        return random.integers(limits.low, limits.high, shape).astype(dtype)
    if dtype.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype) / 2
    return np.asarray(random.standard_normal(shape) / 2).astype(dtype)


def _mask(shape: tuple[int, ...]) -> np.ndarray:
    """Ones, the last fifth of the last axis zero."""
    mask = np.ones(shape, np.int8)
    if shape and shape[-1] >= MASKED_SHARE:
        mask[..., shape[-1] - shape[-1] // MASKED_SHARE :] = 0
    return mask
