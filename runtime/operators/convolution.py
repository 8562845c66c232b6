"""Convolutions: _Conv2d (SINGA's operator, here in one, two or three dimensions) and ConvTranspose.

Both are sums over taps of a kernel, and one kernel computes them: see kernels/convolution.cl.  A
transposed convolution is one convolution of stride 1 for each remainder of its stride.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..operator import Call, registry
from ..value import Value
from .linear import Matrix, Product, compute_type, groups, multiply, vector_width
from .window import Window, padding, per_axis, split_total, window

if TYPE_CHECKING:
    from ..emit import Emit

RANK = 3
"""Spatial axes that the kernels take; fewer get axes of size 1 in front."""

NEAR_BYTES = 32 << 10
"""What a span of positions reads at most, so that it is still near for the next output channels."""

Triple = tuple[int, ...]


@dataclass(frozen=True)
class Planes:
    """An input as the kernel reads it: planes of ``size`` elements, ``phases`` a channel, whose
    spatial sizes are ``dims`` with the padding in place."""

    value: Value
    phases: int
    dims: Triple
    size: int


@dataclass(frozen=True)
class Filters:
    """Weights and where their axes are: strides, in elements, of group, output and input channel."""

    value: Value
    groups: int
    channels: int
    out_channels: int
    w_group: int
    w_out: int
    w_in: int


@dataclass(frozen=True)
class Place:
    """Where results go in the output: its spatial sizes, and for each axis the first and the step."""

    output: Value
    sizes: Triple
    first: Triple = (0, 0, 0)
    step: Triple = (1, 1, 1)


def convolve(
    emit: Emit,
    planes: Planes,
    filters: Filters,
    taps: np.ndarray,
    count: Triple,
    bias: Value | None,
    place: Place,
) -> None:
    """Launch one convolution over ``count`` positions an axis.

    ``taps`` int32 [T, 2]: each tap's offset in the planes of a channel, its place in a filter.
    """
    f = filters
    images = place.output.shape[0]
    if 0 in count or not images or not f.out_channels:
        return
    compute = planes.value.dtype
    width = vector_width(emit, compute)
    (dims, count), strides = _merged(planes.dims, count, place)
    positions = ((count[0] - 1) * dims[1] + count[1] - 1) * dims[2] + count[2]
    block, vectors = _tile(f.out_channels, positions, width)
    blocks = -(-f.out_channels // block)
    packed = _pack(emit, f, taps, block, blocks, compute)
    tiles = -(-positions // (vectors * width))
    share = max(1, min(tiles, -(-groups(emit) // (blocks * images * f.groups))))
    near = max(NEAR_BYTES // max(compute.itemsize * f.channels * vectors * width, 1), 1)
    chunk = min(-(-tiles // share), near)
    y = place.output
    own = [math.prod(place.sizes[axis + 1 :]) for axis in range(RANK)]
    origin = sum(first * stride for first, stride in zip(place.first, own, strict=True))
    defines: dict[str, object] = {"OCT": block, "NV": vectors, "VW": width}
    if bias is not None:
        defines["HAS_BIAS"] = 1
    if y.dtype == compute:
        defines["DIRECT"] = 1
    types = {"R": compute, "C": y.dtype, "D": y.dtype if bias is None else bias.dtype}
    emit.launch(
        "convolution.cl",
        "convolve",
        [
            *(planes.value, packed, emit.constant(taps), bias or y, y, f.channels, len(taps)),
            *(planes.size * planes.phases, f.groups, f.out_channels, positions, tiles, chunk),
            *(dims[1], dims[2], count[1], count[2], math.prod(place.sizes), origin, *strides),
        ],
        (blocks, -(-tiles // chunk), images * f.groups),
        (1, 1, 1),
        types,
        defines,
    )


def _merged(dims: Triple, count: Triple, place: Place) -> tuple[tuple[Triple, Triple], Triple]:
    """Rows that follow each other without padding between them as one long row."""
    strides = [s * math.prod(place.sizes[axis + 1 :]) for axis, s in enumerate(place.step)]
    sizes, counts = list(dims), list(count)
    while sizes[2] == counts[2] and counts[:2] != [1, 1] and strides[1] == counts[2] * strides[2]:
        sizes = [1, sizes[0], sizes[1] * sizes[2]]
        counts = [1, counts[0], counts[1] * counts[2]]
        strides = [0, strides[0], strides[2]]
    return (tuple(sizes), tuple(counts)), tuple(strides)


def _tile(out_channels: int, positions: int, width: int) -> tuple[int, int]:
    """Channels by vectors of the register tile, that waste the least of the work."""
    tiles = ((8, 3, 1.0), (8, 1, 1.3), (4, 4, 1.1), (1, 8, 2.0), (1, 2, 3.0))
    if width < 16:
        tiles = ((4, 3, 1.0), (4, 2, 1.15), (8, 1, 1.2), (2, 4, 1.3), (1, 8, 2.0), (1, 2, 3.0))

    def cost(tile: tuple[int, int, float]) -> float:
        block, vectors, price = tile
        return -(-out_channels // block) * block * -(-positions // (vectors * width)) * vectors * price

    return min(tiles, key=cost)[:2]


def _pack(emit: Emit, f: Filters, taps: np.ndarray, block: int, blocks: int, compute: np.dtype) -> Value:
    """Weights by blocks of output channels, in the order in which the kernel reads them."""
    shape = (f.groups, blocks, f.channels, len(taps), block)

    def pack(inner: Emit, source: Value, result: Value) -> None:
        inner.map(
            "convolution_pack.cl",
            "pack_convolution",
            result.size,
            [
                *(source, result, inner.constant(taps), blocks, f.channels, len(taps), f.out_channels),
                *(f.w_group, f.w_out, f.w_in),
            ],
            {"X": source.dtype, "W": source.dtype, "R": compute},
            {"OCT": block},
        )

    key = f"convolution {shape} {f.w_group} {f.w_out} {taps[:, 1].tolist()} {compute.name}"
    return emit.once(f.value, key, compute, shape, pack)


def pad_planes(
    emit: Emit, x: Value, compute: np.dtype, starts: Sequence[Triple], dims: Triple, strides: Triple
) -> Planes:
    """The input with its padding in place.

    ``x`` [N, C, ...3 sizes]; phase i of the result takes x at ``starts[i] + stride * position`` for
    positions up to ``dims``, zero outside.  Where that is x itself, nothing is copied.
    """
    sizes = x.shape[2:]
    untouched = x.dtype == compute and len(starts) == 1 and not any(starts[0]) and strides == (1, 1, 1)
    widest = 8 * vector_width(emit, compute)
    inside = all(d <= s for d, s in zip(dims, sizes, strict=True)) and math.prod(dims) >= widest
    if untouched and inside:
        return Planes(x, 1, sizes, math.prod(sizes))
    size = -(-math.prod(dims) // 16) * 16
    if size % 1024 == 0:  # equal places in all planes would fall into the same cache set
        size += 16
    images = x.shape[0] * x.shape[1]
    planes = emit.temporary(compute, (images * len(starts) * size + widest,))
    rows = dims[0] * dims[1]
    span = -(-rows // max(1, min(rows, 64 // max(images * len(starts), 1))))
    emit.launch(
        "convolution_pack.cl",
        "pad_planes",
        [
            *(x, planes, emit.constant(np.array(starts, np.int32)), len(starts)),
            *(*sizes, *dims, size, span, *strides),
        ],
        (-(-rows // span), len(starts), images),
        (1, 1, 1),
        {"X": x.dtype, "W": x.dtype, "R": compute},
        {"OCT": 1},
    )
    return Planes(planes, len(starts), dims, size)


# --- _Conv2d -------------------------------------------------------------------------------------


def _kernel(call: Call) -> tuple[int, ...]:
    """The kernel's sizes, from W, which ``kernel_shape`` must agree with."""
    x, w = call.inputs[:2]
    assert x is not None and w is not None
    if x.rank < 3 or w.rank != x.rank:
        raise call.fail(f"x {list(x.shape)} and W {list(w.shape)} must have the same rank, 3 or more")
    if x.rank > 2 + RANK:
        raise call.fail(f"x {list(x.shape)} has {x.rank - 2} spatial axes; at most {RANK} are supported")
    kernel = w.shape[2:]
    if call.a.kernel_shape and call.a.kernel_shape != kernel:
        raise call.fail(f"kernel_shape is {list(call.a.kernel_shape)}, but W is {list(w.shape)}")
    return kernel


def _check_groups(call: Call, channels: int, weights: tuple[int, ...], out_axis: int, in_axis: int) -> None:
    group = call.a.group
    whole = group > 0 and channels % group == 0 and weights[out_axis] % (group if out_axis == 0 else 1) == 0
    if not whole or channels != weights[in_axis] * (group if in_axis == 1 else 1):
        raise call.fail(f"{channels} channels in {group} groups do not fit W {list(weights)}")


def _convolution_window(call: Call) -> Window:
    x = call.present[0]
    return window(call, x.shape[2:], _kernel(call))


def _convolution_infer(call: Call) -> list[Value]:
    x, w = call.present[:2]
    places = _convolution_window(call)
    _check_groups(call, x.shape[1], w.shape, 0, 1)
    return [Value(x.dtype, (x.shape[0], w.shape[0], *places.output))]


def _convolution_lower(call: Call, emit: Emit) -> None:
    x, w, b = call.inputs
    assert x is not None and w is not None
    y, group = call.outputs[0], call.a.group
    places = _convolution_window(call).at_rank(RANK)
    sizes = (1,) * (RANK + 2 - x.rank) + x.shape[2:]
    if group == 1 and places.kernel == sizes and math.prod(places.output) == 1 and not any(places.begin):
        _as_product(emit, x, w, b, y)
        return
    reach = [[k * places.dilation[axis] for k in range(places.kernel[axis])] for axis in range(RANK)]
    strides = places.strides
    remainders = [sorted({r % strides[axis] for r in reach[axis]}) for axis in range(RANK)]
    phases = list(itertools.product(*remainders))
    dims = tuple(places.output[axis] + max(reach[axis], default=0) // strides[axis] for axis in range(RANK))
    starts = [tuple(p - b for p, b in zip(phase, places.begin, strict=True)) for phase in phases]
    compute = compute_type(x.dtype, w.dtype)
    planes = pad_planes(emit, _reshaped(emit, x, sizes), compute, starts, dims, strides)
    taps = [
        [_tap_offset(planes, phases, tap, strides), index]
        for index, tap in enumerate(itertools.product(*reach))
    ]
    per_group = w.shape[0] // group
    kernel = math.prod(places.kernel)
    filters = Filters(
        w, group, w.shape[1], per_group, per_group * w.shape[1] * kernel, w.shape[1] * kernel, kernel
    )
    table = np.array(taps, np.int32).reshape(-1, 2)
    convolve(emit, planes, filters, table, places.output, b, Place(y, places.output))


def _tap_offset(planes: Planes, phases: list[tuple[int, ...]], tap: Sequence[int], strides: Triple) -> int:
    """How far a tap is from a position of the output, in the planes of one channel."""
    phase = phases.index(tuple(t % s for t, s in zip(tap, strides, strict=True)))
    z, y, x = (t // s for t, s in zip(tap, strides, strict=True))
    return phase * planes.size + (z * planes.dims[1] + y) * planes.dims[2] + x


def _reshaped(emit: Emit, value: Value, sizes: Triple) -> Value:
    """The value with these three spatial sizes, the same memory."""
    if value.shape[2:] == sizes:
        return value
    view = Value(value.dtype, (*value.shape[:2], *sizes), value.host, value.name, value.constant)
    emit.alias(view, value)
    return view


def _as_product(emit: Emit, x: Value, w: Value, b: Value | None, y: Value) -> None:
    """A kernel as large as the image is a matrix product with the weights transposed."""
    images, k = x.shape[0], math.prod(x.shape[1:])
    start = np.zeros(1, np.int64)
    multiply(
        emit,
        Product(
            images,
            w.shape[0],
            k,
            1,
            Matrix(x, k, 1, start, images * k),
            Matrix(w, 1, k, start, k * w.shape[0]),
            None if b is None else Matrix(b, 0, 1, start),
            y,
        ),
    )


_ATTRIBUTES = (
    "kernel_shape: ints?, strides: ints?, padding: ints?, odd_padding: ints?, dilation: ints?, "
    "group: int = 1, pad_mode: string = 'NOTSET'"
)

registry.add(f"_Conv2d(x, W, b?; {_ATTRIBUTES}) -> y", infer=_convolution_infer, lower=_convolution_lower)


# --- ConvTranspose -------------------------------------------------------------------------------


def _transposed_window(call: Call) -> Window:
    """``begin`` and ``end`` are what the padding takes off the output, ``output`` its sizes."""
    x, kernel = call.present[0], _kernel(call)
    rank, sizes = x.rank - 2, x.shape[2:]
    strides, dilation = per_axis(call, "strides", rank, 1), per_axis(call, "dilation", rank, 1)
    extra = per_axis(call, "output_padding", rank, 0)
    full = [
        strides[axis] * (sizes[axis] - 1) + extra[axis] + (kernel[axis] - 1) * dilation[axis] + 1
        for axis in range(rank)
    ]
    mode = call.a.pad_mode
    begin, end = padding(call, rank) if mode in ("NOTSET", "VALID") else ((0,) * rank, (0,) * rank)
    wanted = call.a.output_shape
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
    if wanted is not None:
        wanted = wanted[-rank:]
        total = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
        begin, end = split_total(total, "SAME_UPPER" if mode == "SAME_UPPER" else "SAME_LOWER")
        return Window(kernel, strides, dilation, begin, end, wanted)
    output = tuple(max(f - b - e, 0) for f, b, e in zip(full, begin, end, strict=True))
    return Window(kernel, strides, dilation, begin, end, output)


def _transposed_infer(call: Call) -> list[Value]:
    x, w = call.present[:2]
    places = _transposed_window(call)
    _check_groups(call, x.shape[1], w.shape, 1, 0)
    return [Value(x.dtype, (x.shape[0], w.shape[1] * call.a.group, *places.output))]


def _transposed_lower(call: Call, emit: Emit) -> None:
    x, w, b = call.inputs
    assert x is not None and w is not None
    y, group = call.outputs[0], call.a.group
    places = _transposed_window(call).at_rank(RANK)
    sizes = (1,) * (RANK + 2 - x.rank) + x.shape[2:]
    axes = [_axis_phases(places, axis) for axis in range(RANK)]
    low = [min((t.shift for phase in axis for t in phase.taps), default=0) for axis in axes]
    dims = tuple(
        max((max((t.shift for t in p.taps), default=m) - m + p.count for p in axis), default=1)
        for axis, m in zip(axes, low, strict=True)
    )
    compute = compute_type(x.dtype, w.dtype)
    planes = pad_planes(emit, _reshaped(emit, x, sizes), compute, [tuple(low)], dims, (1, 1, 1))
    kernel = math.prod(places.kernel)
    per_group = x.shape[1] // group
    filters = Filters(
        w, group, per_group, w.shape[1], per_group * w.shape[1] * kernel, kernel, w.shape[1] * kernel
    )
    for phase in itertools.product(*axes):
        taps = [
            [_place(planes.dims, [t.shift - m for t, m in zip(tap, low, strict=True)]),
             _place(places.kernel, [t.index for t in tap])]
            for tap in itertools.product(*(p.taps for p in phase))
        ]  # fmt: skip
        place = Place(y, places.output, tuple(p.first for p in phase), places.strides)
        table = np.array(taps, np.int32).reshape(-1, 2)
        convolve(emit, planes, filters, table, tuple(p.count for p in phase), b, place)


@dataclass(frozen=True)
class _Tap:
    """A tap of one axis: where it is in the kernel, and which input it meets, from the position."""

    index: int
    shift: int


@dataclass(frozen=True)
class _Phase:
    """The outputs ``first``, ``first + stride`` ...: ``count`` of them, all meeting the same taps."""

    first: int
    count: int
    taps: tuple[_Tap, ...]


def _axis_phases(places: Window, axis: int) -> list[_Phase]:
    """The outputs of one axis by remainder of the stride."""
    stride, size = places.strides[axis], places.output[axis]
    phases = []
    for first in range(min(stride, size)):
        taps = []
        for index in range(places.kernel[axis]):
            distance = first + places.begin[axis] - index * places.dilation[axis]
            if distance % stride == 0:
                taps.append(_Tap(index, distance // stride))
        phases.append(_Phase(first, -(-(size - first) // stride), tuple(taps)))
    return phases


def _place(sizes: Sequence[int], index: Sequence[int]) -> int:
    """The flat place of an index, which may reach outside, in an array of these sizes."""
    flat = 0
    for size, at in zip(sizes, index, strict=True):
        flat = flat * size + at
    return flat


registry.add(
    f"ConvTranspose(x, W, b?; {_ATTRIBUTES}, output_padding: ints?, output_shape: ints?) -> y",
    infer=_transposed_infer,
    lower=_transposed_lower,
)
