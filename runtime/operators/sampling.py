"""Images read at computed places: GridSample, RoiAlign, DeformConv."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT64, is_float
from ..operator import Call, registry
from ..value import Value
from .linear import Matrix, Product, compute_type, multiply
from .window import Window, window

if TYPE_CHECKING:
    from ..emit import Emit

_TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
_PADDINGS = ("zeros", "border", "reflection")


def _grid_infer(call: Call) -> list[Value]:
    x, grid = call.present
    rank = x.rank - 2
    if rank not in (1, 2, 3) or grid.rank != x.rank or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise call.fail(f"grid {list(grid.shape)} does not fit x {list(x.shape)}")
    if call.a.mode not in _TAPS or call.a.padding_mode not in _PADDINGS:
        raise call.fail(f"mode {call.a.mode!r} or padding_mode {call.a.padding_mode!r} is not known")
    return [Value(x.dtype, (*x.shape[:2], *grid.shape[1:-1]))]


def _grid_lower(call: Call, emit: Emit) -> None:
    (x, grid), y = call.present, call.outputs[0]
    sizes = (1,) * (5 - x.rank) + x.shape[2:]
    compute = compute_type(x.dtype if is_float(x.dtype) else grid.dtype, grid.dtype)
    defines: dict[str, object] = {"GRID": 1, "TAPS": _TAPS[call.a.mode]}
    defines["PADDING"] = _PADDINGS.index(call.a.padding_mode)
    if call.a.align_corners:
        defines["ALIGN"] = 1
    emit.map(
        "sampling.cl",
        "grid_sample",
        y.size,
        [x, grid, y, x.shape[1], math.prod(grid.shape[1:-1]), x.rank - 2, *sizes],
        {"X": x.dtype, "G": grid.dtype, "R": compute},
        defines,
    )


registry.add(
    "GridSample(x, grid; mode: string = 'linear', padding_mode: string = 'zeros', align_corners: int = 0)"
    " -> y",
    infer=_grid_infer,
    lower=_grid_lower,
)


def _roi_infer(call: Call) -> list[Value]:
    x, rois, batch = call.present
    if x.rank != 4 or rois.rank != 2 or rois.shape[1] != 4 or batch.shape != rois.shape[:1]:
        raise call.fail(
            f"x {list(x.shape)}, rois {list(rois.shape)} and batch_indices {list(batch.shape)} do not fit"
        )
    if batch.dtype != INT64 or call.a.mode not in ("avg", "max"):
        raise call.fail(f"batch_indices must be int64, and mode avg or max, not {call.a.mode!r}")
    return [Value(x.dtype, (rois.shape[0], x.shape[1], call.a.output_height, call.a.output_width))]


def _roi_lower(call: Call, emit: Emit) -> None:
    (x, rois, batch), y = call.present, call.outputs[0]
    defines: dict[str, object] = {"REGIONS": 1}
    if call.a.mode == "max":
        defines["MAXIMUM"] = 1
    if call.a.coordinate_transformation_mode == "half_pixel":
        defines["HALF_PIXEL"] = 1
    emit.map(
        "sampling.cl",
        "roi_align",
        y.size,
        [x, rois, batch, y, *x.shape[1:], *y.shape[2:], call.a.sampling_ratio, float(call.a.spatial_scale)],
        {"X": x.dtype, "R": compute_type(x.dtype)},
        defines,
    )


registry.add(
    "RoiAlign(x, rois, batch_indices; mode: string = 'avg', output_height: int = 1, output_width: int = 1, "
    "sampling_ratio: int = 0, spatial_scale: float = 1.0, "
    "coordinate_transformation_mode: string = 'half_pixel') -> y",
    infer=_roi_infer,
    lower=_roi_lower,
)


def _deformed_window(call: Call) -> Window:
    x, w, offset = call.present[:3]
    if x.rank != 4 or w.rank != 4:
        raise call.fail(f"x {list(x.shape)} and W {list(w.shape)} must have 4 axes")
    kernel = w.shape[2:]
    if call.a.kernel_shape and call.a.kernel_shape != kernel:
        raise call.fail(f"kernel_shape is {list(call.a.kernel_shape)}, but W is {list(w.shape)}")
    places = window(call, x.shape[2:], kernel)
    wanted = (x.shape[0], call.a.offset_group * 2 * math.prod(kernel), *places.output)
    if offset.shape != wanted:
        raise call.fail(f"offset is {list(offset.shape)}; {list(wanted)} is wanted")
    return places


def _deformed_infer(call: Call) -> list[Value]:
    x, w = call.present[:2]
    places, group = _deformed_window(call), call.a.group
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group or x.shape[1] % call.a.offset_group:
        raise call.fail(f"{x.shape[1]} channels in {group} groups do not fit W {list(w.shape)}")
    return [Value(x.dtype, (x.shape[0], w.shape[0], *places.output))]


def _deformed_lower(call: Call, emit: Emit) -> None:
    """Sample the columns, then one matrix product for each image and group."""
    x, w, offset, bias, mask = call.inputs
    assert x is not None and w is not None and offset is not None
    y, group, places = call.outputs[0], call.a.group, _deformed_window(call)
    compute = compute_type(x.dtype)
    images, channels, positions = x.shape[0], x.shape[1], math.prod(places.output)
    taps = math.prod(places.kernel)
    columns = emit.temporary(compute, (images, channels * taps, positions))
    emit.map(
        "sampling.cl",
        "deformed_columns",
        columns.size,
        [
            *(x, offset, mask or x, columns, *x.shape[1:], *places.output, *places.kernel),
            *(*places.strides, *places.dilation, *places.begin, call.a.offset_group),
        ],
        {"X": x.dtype, "R": compute},
        {"DEFORMED": 1} | ({"MASK": 1} if mask else {}),
    )
    rows, inner = w.shape[0] // group, w.shape[1] * taps
    index = np.arange(images * group)
    product = Product(
        rows,
        positions,
        inner,
        images * group,
        Matrix(w, inner, 1, index % group * rows * inner, rows * inner),
        Matrix(columns, positions, 1, index * inner * positions, inner * positions),
        None if bias is None else Matrix(bias, 1, 0, index % group * rows),
        y,
    )
    multiply(emit, product)


registry.add(
    "DeformConv(x, W, offset, b?, mask?; kernel_shape: ints?, strides: ints?, padding: ints?, "
    "odd_padding: ints?, dilation: ints?, group: int = 1, offset_group: int = 1, pad_mode: string = 'NOTSET')"
    " -> y",
    infer=_deformed_infer,
    lower=_deformed_lower,
)
