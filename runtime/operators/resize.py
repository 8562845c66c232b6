"""Resize and SINGA's UpSample, one axis at a time by tables made when the plan is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import data_type
from ..operator import Call, registry
from ..value import Value

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

F32 = np.float32


@dataclass(frozen=True)
class Axis:
    """How one axis is resized: from ``size`` to ``output`` elements by ``scale``; ``roi`` is the part
    of it that tf_crop_and_resize takes, as fractions."""

    size: int
    output: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def unchanged(self) -> bool:
        return self.size == self.output and math.isclose(self.scale, 1) and self.roi == (0, 1)


# --- sizes ---------------------------------------------------------------------------------------


def _axes(call: Call) -> list[Axis]:
    """Every axis of x with what becomes of it."""
    x = call.present[0]
    named = [call.axis(axis, x.rank) for axis in (call.a.axes if call.a.axes is not None else range(x.rank))]
    sizes, scales, roi = call.a.sizes, call.a.scales, call.a.roi
    if bool(sizes) == bool(scales):
        raise call.fail("exactly one of scales and sizes must be given")
    for name, numbers in (("scales", scales), ("sizes", sizes)):
        if numbers and len(numbers) != len(named):
            raise call.fail(f"{name} {list(numbers)} must have one number for each of {len(named)} axes")
    if scales and min(scales) <= 0:
        raise call.fail(f"scales {list(scales)} must be positive")
    if call.a.coordinate_transformation_mode == "tf_crop_and_resize" and len(roi or ()) != 2 * len(named):
        raise call.fail(f"roi must have {2 * len(named)} numbers, the starts and then the ends")
    crop = call.a.coordinate_transformation_mode == "tf_crop_and_resize"
    axes = [Axis(size, size, 1.0) for size in x.shape]
    for place, axis in enumerate(named):
        size = x.shape[axis]
        scale = scales[place] if scales else _scale(call, sizes, [x.shape[a] for a in named], place)
        stretched = bool(sizes) and call.a.keep_aspect_ratio_policy == "stretch"
        if stretched:
            output = sizes[place]
        elif sizes:
            output = int(scale * size + 0.5)
        else:
            output = int(np.floor(F32(scale) * F32(size)))
        part = (roi[place], roi[place + len(named)]) if crop else (0.0, 1.0)
        axes[axis] = Axis(size, output, scale, part)
    return axes


def _scale(call: Call, sizes: tuple[int, ...], original: list[int], place: int) -> float:
    """The scale that sizes mean for one axis, under the aspect ratio policy."""
    policy = call.a.keep_aspect_ratio_policy
    scales = [size / max(was, 1) for size, was in zip(sizes, original, strict=True)]
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise call.fail(f"keep_aspect_ratio_policy {policy!r} is not known")
    return {"stretch": scales[place], "not_larger": min(scales), "not_smaller": max(scales)}[policy]


# --- tables --------------------------------------------------------------------------------------


def _coordinates(call: Call, axis: Axis) -> np.ndarray:
    """Where in the input each output element lies, in float32 as other runtimes compute it."""
    x, scale = np.arange(axis.output, dtype=F32), F32(axis.scale)
    length = F32(axis.scale * axis.size)
    last = F32(axis.size - 1)
    mode = call.a.coordinate_transformation_mode
    if mode == "half_pixel":
        return (x + F32(0.5)) / scale - F32(0.5)
    if mode == "pytorch_half_pixel":
        return (x + F32(0.5)) / scale - F32(0.5) if axis.output > 1 else np.zeros_like(x)
    if mode == "half_pixel_symmetric":
        adjustment = F32(axis.output) / length
        return F32(axis.size / 2) * (1 - adjustment) + (x + F32(0.5)) / scale - F32(0.5)
    if mode == "align_corners":
        return x * last / (length - 1) if length != 1 else np.zeros_like(x)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_crop_and_resize":
        start, end = map(F32, axis.roi)
        if length == 1:
            return np.full_like(x, (start + end) * last / 2)
        return start * last + x * (end - start) * last / (length - 1)
    raise call.fail(f"coordinate_transformation_mode {mode!r} is not known")


def _nearest(call: Call, x: np.ndarray) -> np.ndarray:
    """The index that each coordinate rounds to."""
    mode = call.a.nearest_mode
    if mode == "round_prefer_floor":
        return np.ceil(x - F32(0.5)).astype(np.int64)
    if mode == "round_prefer_ceil":
        return np.floor(x + F32(0.5)).astype(np.int64)
    if mode in ("floor", "ceil"):
        return (np.floor(x) if mode == "floor" else np.ceil(x)).astype(np.int64)
    raise call.fail(f"nearest_mode {mode!r} is not known")


def _filter(call: Call, scale: float) -> tuple[int, float]:
    """How far the filter reaches to each side, and how much it is stretched (antialias, shrinking)."""
    reach = {"linear": 1, "cubic": 2}.get(call.a.mode)
    if reach is None:
        raise call.fail(f"mode {call.a.mode!r} is not known; nearest, linear and cubic are")
    stretch = min(scale, 1.0) if call.a.antialias else 1.0
    return 1 - (math.floor(-reach / stretch) + 1), stretch


def _weight(call: Call, distance: np.ndarray) -> np.ndarray:
    """The filter at a distance: a triangle, or the cubic convolution of ``cubic_coeff_a``."""
    d = np.abs(distance)
    if call.a.mode == "linear":
        return np.clip(1 - d, 0, 1)
    a = call.a.cubic_coeff_a
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _table(call: Call, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """For each output element of an axis: the indices it takes, and their weights."""
    x = _coordinates(call, axis).astype(np.float64)
    reach, stretch = _filter(call, axis.scale)
    base = np.ceil(x) - 1
    places = base[:, None] + np.arange(1 - reach, 1 + reach)
    weights = _weight(call, (places - x[:, None]) * stretch)
    if call.a.exclude_outside:
        weights = np.where((places < 0) | (places >= axis.size), 0, weights)
    if call.a.exclude_outside or call.a.antialias:
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    places = np.clip(places, 0, axis.size - 1).astype(np.int32)
    places[_outside(call, axis, x)] = -1
    return places, weights


def _outside(call: Call, axis: Axis, x: np.ndarray) -> np.ndarray:
    """Which outputs are the extrapolation value."""
    crop = call.a.coordinate_transformation_mode == "tf_crop_and_resize"
    return (x < 0) | (x > axis.size - 1) if crop else np.zeros(x.shape, bool)


# --- lowering ------------------------------------------------------------------------------------


def _infer(call: Call) -> list[Value]:
    x = call.present[0]
    return [Value(x.dtype, tuple(axis.output for axis in _axes(call)))]


def _lower(call: Call, emit: Emit) -> None:
    x, y = call.present[0], call.outputs[0]
    axes = _axes(call)
    if not y.size:
        return
    if not x.size:
        raise call.fail(f"x {list(x.shape)} is empty: there is nothing to make {list(y.shape)} from")
    if all(axis.unchanged for axis in axes):
        emit.copy(x, y)
    elif call.a.mode == "nearest":
        _lower_nearest(call, emit, axes)
    else:
        _lower_interpolated(call, emit, axes)


def _lower_nearest(call: Call, emit: Emit, axes: list[Axis]) -> None:
    """One gather over all axes; those that stay as they are are joined."""
    x, y = call.present[0], call.outputs[0]
    merged: list[tuple[int, np.ndarray]] = []
    stride = x.size
    for axis in axes:
        stride //= max(axis.size, 1)
        if axis.unchanged:
            index = np.arange(axis.size)
        else:
            at = _coordinates(call, axis)
            index = np.clip(_nearest(call, at), 0, axis.size - 1)
            index = np.where(_outside(call, axis, at), -x.size, index)
        offsets = index * stride
        if merged and axis.unchanged:
            before = merged.pop()[1]
            offsets = (before[:, None] + offsets[None, :]).reshape(-1)
        merged.append((len(offsets), np.where(offsets < 0, -x.size, offsets)))
    sizes = np.array([size for size, _ in merged], np.int32)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    table = np.concatenate([offsets for _, offsets in merged]).astype(np.int32)
    tables = [emit.constant(array) for array in (sizes, first, table)]
    outside = np.dtype(_compute_scalar(x.dtype)).type(call.a.extrapolation_value)
    arguments = [x, y, len(sizes), *tables, outside]
    emit.map("resize.cl", "gather_axes", y.size, arguments, {"E": x.dtype}, {"GATHER": 1})


def _compute_scalar(dtype: np.dtype) -> str:
    """numpy's name of the type in which OpenCL computes a dtype, for a kernel argument."""
    names = {"float": "f4", "double": "f8", "char": "i1", "short": "i2", "int": "i4", "long": "i8"}
    names |= {"uchar": "u1", "ushort": "u2", "uint": "u4", "ulong": "u8"}
    return names[data_type(dtype).compute]


def _lower_interpolated(call: Call, emit: Emit, axes: list[Axis]) -> None:
    """A pass for each axis that changes, the shrinking ones first."""
    x, y = call.present[0], call.outputs[0]
    compute = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    changing = sorted((i for i, a in enumerate(axes) if not a.unchanged), key=lambda i: axes[i].scale)
    current, shape = x, list(x.shape)
    info = data_type(y.dtype)
    limits = {"LOWEST": info.lowest, "HIGHEST": info.highest} if info.kind in "iub" else {}
    for place, axis in enumerate(changing):
        shape[axis] = axes[axis].output
        last = place == len(changing) - 1
        target = y if last else emit.temporary(compute, tuple(shape))
        places, weights = _table(call, axes[axis])
        tables = [emit.constant(places), emit.constant(weights.astype(compute))]
        inner = math.prod(shape[axis + 1 :])
        emit.map(
            "resize.cl",
            "interpolate",
            math.prod(shape),
            [
                *(current, target, *tables, places.shape[1], axes[axis].size, axes[axis].output, inner),
                compute.type(call.a.extrapolation_value),
            ],
            {"X": current.dtype, "Y": target.dtype, "R": compute},
            limits if last else {},
        )
        current = target


registry.add(
    "Resize(x; mode: string = 'nearest', coordinate_transformation_mode: string = 'half_pixel', "
    "nearest_mode: string = 'round_prefer_floor', cubic_coeff_a: float = -0.75, exclude_outside: int = 0, "
    "extrapolation_value: float = 0.0, antialias: int = 0, axes: ints?, "
    "keep_aspect_ratio_policy: string = 'stretch', roi: floats?, scales: floats?, sizes: ints?) -> y",
    infer=_infer,
    lower=_lower,
)


def _upsample(call: Call, build: Builder) -> list[Value]:
    """SINGA's operator: nearest below, or linear between, corners at the origin."""
    mode = {"bilinear": "linear"}.get(call.a.mode, call.a.mode)
    resized = build(
        "Resize",
        call.inputs[0],
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
        scales=call.a.scales,
    )
    return [resized]


registry.add("UpSample(x; mode: string = 'nearest', scales: floats) -> y", expand=_upsample)
