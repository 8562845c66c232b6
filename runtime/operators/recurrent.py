"""LSTM, GRU and RNN: the input's share by one matrix product, then fused steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import INT32
from ..operator import Call, registry
from ..value import Value
from .linear import Matrix, Product, compute_type, multiply, vector_width

if TYPE_CHECKING:
    from ..emit import Emit

DIRECTIONS = {"forward": (1, 0), "reverse": (1, 1), "bidirectional": (2, 2)}
"""Number of directions, and the bits of those that run backwards."""

ONE_LAUNCH_FLOPS = 500_000
"""Work in a step, for one sequence, up to which a launch for each step would cost more than it gains."""

_TILE = 2
"""Sequences that one work-item advances together, sharing the weights it reads."""

_ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("fmax({x}, (VEC)(0))", None, None),
    "tanh": ("tanh({x})", None, None),
    "sigmoid": ("((VEC)(1) / ((VEC)(1) + exp(-({x}))))", None, None),
    "affine": ("(({x}) * {a} + {b})", 1.0, 0.0),
    "leakyrelu": ("select({a} * ({x}), {x}, ({x}) >= 0)", 0.01, None),
    "thresholdedrelu": ("select((VEC)(0), {x}, ({x}) > {a})", 1.0, None),
    "scaledtanh": ("({a} * tanh({b} * ({x})))", 1.0, 1.0),
    "hardsigmoid": ("clamp({a} * ({x}) + {b}, (VEC)(0), (VEC)(1))", 0.2, 0.5),
    "elu": ("select({a} * expm1({x}), {x}, ({x}) >= 0)", 1.0, None),
    "softsign": ("(({x}) / ((VEC)(1) + fabs({x})))", None, None),
    "softplus": ("log1p(exp({x}))", None, None),
}
"""Each activation over a vector x, and the defaults of its alpha and beta where it has them."""


@dataclass(frozen=True)
class Cell:
    """A kind of recurrent operator: how many gates, and its activations where none are given."""

    gates: int
    activations: tuple[str, ...]


CELLS = {
    "LSTM": Cell(4, ("Sigmoid", "Tanh", "Tanh")),
    "GRU": Cell(3, ("Sigmoid", "Tanh")),
    "RNN": Cell(1, ("Tanh",)),
}


@dataclass(frozen=True)
class Sizes:
    """The sizes of one call."""

    steps: int
    batch: int
    directions: int
    hidden: int


def _sizes(call: Call) -> Sizes:
    """Check the operands' shapes; raises OperatorError."""
    x, w, r = call.inputs[:3]
    assert x is not None and w is not None and r is not None
    gates = CELLS[call.operator.name].gates
    if call.a.direction not in DIRECTIONS:
        raise call.fail(f"direction {call.a.direction!r} must be one of {', '.join(DIRECTIONS)}")
    directions = DIRECTIONS[call.a.direction][0]
    if x.rank != 3 or r.rank != 3:
        raise call.fail(f"X {list(x.shape)} and R {list(r.shape)} must have 3 axes")
    hidden, width = r.shape[2], x.shape[2]
    wanted = {
        "W": (w, (directions, gates * hidden, width)),
        "R": (r, (directions, gates * hidden, hidden)),
        "B": (call.inputs[3], (directions, 2 * gates * hidden)),
    }
    steps, batch = x.shape[:2] if not call.a.layout else x.shape[1::-1]
    state = (directions, batch, hidden) if not call.a.layout else (batch, directions, hidden)
    for name, value in zip(("sequence_lens", "initial_h", "initial_c"), call.inputs[4:7], strict=False):
        wanted[name] = (value, (batch,) if name == "sequence_lens" else state)
    if len(call.inputs) > 7:
        wanted["P"] = (call.inputs[7], (directions, 3 * hidden))
    for name, (value, shape) in wanted.items():
        if value is not None and value.shape != shape:
            raise call.fail(f"{name} is {list(value.shape)}; {list(shape)} is wanted")
    if call.a.hidden_size and call.a.hidden_size != hidden:
        raise call.fail(f"hidden_size is {call.a.hidden_size}, but R is {list(r.shape)}")
    return Sizes(steps, batch, directions, hidden)


def _infer(call: Call) -> list[Value]:
    s, dtype = _sizes(call), call.present[0].dtype
    if call.a.layout:
        shapes = [(s.batch, s.steps, s.directions, s.hidden), (s.batch, s.directions, s.hidden)]
    else:
        shapes = [(s.steps, s.directions, s.batch, s.hidden), (s.directions, s.batch, s.hidden)]
    shapes += [shapes[1]] * (len(call.operator.signature.outputs) - 2)
    return [Value(dtype, shape) for shape in shapes]


# --- activations ---------------------------------------------------------------------------------


def _activations(call: Call, cell: Cell) -> dict[str, object]:
    """The macros F, G and H, and CLIP; where the directions differ, they look at the direction ``d``.

    Activations for two directions may be given where there is one, as RNN's default in ONNX does.
    """
    directions, count = DIRECTIONS[call.a.direction][0], len(cell.activations)
    names = list(call.a.activations or cell.activations * directions)
    if len(names) not in (count, count * 2):
        raise call.fail(f"{len(names)} activations are given; {count} for each direction are wanted")
    names = names[: count * directions]
    alphas, betas = list(call.a.activation_alpha or ()), list(call.a.activation_beta or ())
    chosen = [_expression(call, name, alphas, betas) for name in names]
    if chosen[count:] and chosen[count:] != chosen[:count]:
        pairs = zip(chosen[count:], chosen[:count], strict=True)
        chosen = [f"(d ? {backward} : {forward})" for backward, forward in pairs]
    defines: dict[str, object] = {
        f"{macro}(x)": text for macro, text in zip("FGH", chosen[:count], strict=False)
    }
    clip = call.a.clip
    defines["CLIP(x)"] = f"clamp(x, (VEC)({-clip!r}f), (VEC)({clip!r}f))" if clip else "(x)"
    return defines


def _expression(call: Call, name: str, alphas: list[float], betas: list[float]) -> str:
    """One activation as OpenCL C; takes the next alpha and beta where it has them."""
    if name.lower() not in _ACTIVATIONS:
        raise call.fail(f"activation {name!r} is not known")
    text, alpha, beta = _ACTIVATIONS[name.lower()]
    a = alphas.pop(0) if alpha is not None and alphas else alpha
    b = betas.pop(0) if beta is not None and betas else beta
    return text.format(x="x", a=f"(VEC)({a!r}f)", b=f"(VEC)({b!r}f)")


# --- lowering ------------------------------------------------------------------------------------


def _lower(call: Call, emit: Emit) -> None:
    sizes, cell = _sizes(call), CELLS[call.operator.name]
    outputs = call.outputs + call.outputs[1:] * (3 - len(call.outputs))
    if not sizes.steps or not sizes.batch or not sizes.hidden:
        for value in call.outputs:
            emit.fill(value, 0)
        return
    compute = compute_type(call.present[0].dtype)
    width = vector_width(emit, compute)
    row = -(-sizes.hidden // width) * width
    defines = _defines(call, sizes, cell, width)
    types = {"X": call.present[0].dtype, "Y": call.outputs[0].dtype, "R": compute}
    lengths = call.inputs[4]
    if lengths is not None and lengths.dtype != INT32:
        raise call.fail(f"sequence_lens must be int32, not {lengths.dtype.name}")
    gates = _input_gates(call, emit, sizes, cell, compute, width)
    packed = _pack(call, emit, sizes, cell, compute, width, (types, defines))
    padded = -(-sizes.batch // _TILE) * _TILE if sizes.batch > 1 else 1
    states = [emit.temporary(compute, (2, sizes.directions, padded, row)) for _ in range(3)]
    for place, state in enumerate(states[: 2 if cell.gates == 4 else 1]):
        initial = call.inputs[5 + place]
        size = sizes.directions * padded * row
        known = (int(initial is not None), sizes.batch, padded, sizes.hidden, row)
        arguments = [initial or call.present[0], state, *known, *_state_strides(call, sizes)]
        emit.map("recurrent.cl", "start", size, arguments, types, defines)
    b, p = call.inputs[3], call.inputs[7] if len(call.inputs) > 7 else None
    x = call.present[0]
    operands = [gates, packed, b or x, p or x, lengths or x, *states, *outputs]
    _advance(call, emit, sizes, cell, (operands, row, width), (types, defines))


def _defines(call: Call, sizes: Sizes, cell: Cell, width: int) -> dict[str, object]:
    defines = _activations(call, cell)
    defines |= {"CELL": cell.gates, "VW": width, "BT": min(sizes.batch, _TILE)}
    defines["REVERSE"] = DIRECTIONS[call.a.direction][1]
    flags = {
        "BIAS": call.inputs[3] is not None,
        "LENGTHS": call.inputs[4] is not None,
        "PEEPHOLES": len(call.inputs) > 7 and call.inputs[7] is not None,
        "BEFORE_RESET": getattr(call.a, "linear_before_reset", 0),
        "COUPLED": getattr(call.a, "input_forget", 0),
    }
    return defines | {name: 1 for name, on in flags.items() if on}


def _input_gates(call: Call, emit: Emit, sizes: Sizes, cell: Cell, compute: np.dtype, width: int) -> Value:
    """What the input and its bias give to every gate of every step: [directions, rows of X, gates]."""
    x, w, _, b = call.inputs[:4]
    assert x is not None and w is not None
    rows, inner, columns = sizes.steps * sizes.batch, x.shape[2], cell.gates * sizes.hidden
    places = np.arange(sizes.directions)
    result = emit.temporary(compute, (sizes.directions * rows * columns + width,))
    product = Product(
        rows,
        columns,
        inner,
        sizes.directions,
        Matrix(x, inner, 1, places * 0, rows * inner),
        Matrix(w, 1, inner, places * columns * inner, columns * inner),
        None if b is None else Matrix(b, 0, 1, places * 2 * columns),
        result,
    )
    multiply(emit, product)
    return result


def _pack(
    call: Call,
    emit: Emit,
    sizes: Sizes,
    cell: Cell,
    compute: np.dtype,
    width: int,
    how: tuple[dict[str, np.dtype], dict[str, object]],
) -> Value:
    """The recurrent weights by blocks of units."""
    r = call.inputs[2]
    assert r is not None
    blocks = -(-sizes.hidden // width)
    shape = (sizes.directions, blocks, sizes.hidden, cell.gates, width)

    def pack(inner: Emit, source: Value, result: Value) -> None:
        arguments = [source, result, blocks, sizes.hidden]
        inner.map("recurrent.cl", "pack_recurrent", result.size, arguments, *how)

    return emit.once(r, f"recurrent {cell.gates} {width} {compute.name}", compute, shape, pack)


def _state_strides(call: Call, sizes: Sizes) -> tuple[int, int]:
    """Elements from one direction, and from one sequence, to the next in a state."""
    if call.a.layout:
        return sizes.hidden, sizes.directions * sizes.hidden
    return sizes.batch * sizes.hidden, sizes.hidden


def _advance(
    call: Call,
    emit: Emit,
    sizes: Sizes,
    cell: Cell,
    what: tuple[Sequence[Value], int, int],
    how: tuple[dict[str, np.dtype], dict[str, object]],
) -> None:
    """Launch the steps: all at once where that keeps the device busy, or one by one."""
    operands, row, width = what
    s, blocks, tile = sizes, row // width, min(sizes.batch, _TILE)
    tiles = -(-s.batch // tile)
    work = 2 * cell.gates * s.hidden * s.hidden * tile
    together = work <= ONE_LAUNCH_FLOPS or tiles * s.directions >= 4
    if call.a.layout:
        x_strides = (1, s.steps)
        y_strides = (s.directions * s.hidden, s.hidden, s.steps * s.directions * s.hidden)
    else:
        x_strides = (s.batch, 1)
        y_strides = (s.directions * s.batch * s.hidden, s.batch * s.hidden, s.hidden)
    strides = [*x_strides, *y_strides, *_state_strides(call, sizes)]
    two = cell.gates == 3 and not call.a.linear_before_reset
    if together:
        launches = [(0, s.steps, 3 if two else 1)]
        units = blocks
    else:
        launches = [(t, t + 1, phase) for t in range(s.steps) for phase in ((1, 2) if two else (1,))]
        units = -(-blocks // max(1, min(blocks, 16 // (tiles * s.directions))))
    for first, last, phases in launches:
        arguments = [*operands, s.steps, s.batch, s.hidden, row, units, first, last, phases, *strides]
        grid = (-(-blocks // units), tiles, s.directions)
        emit.launch("recurrent.cl", "advance", arguments, grid, (1, 1, 1), *how)


_ATTRIBUTES = (
    "hidden_size: int?, direction: string = 'forward', activations: strings?, activation_alpha: floats?, "
    "activation_beta: floats?, clip: float?, layout: int = 0"
)

registry.add(
    "LSTM(X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?; "
    f"{_ATTRIBUTES}, input_forget: int = 0) -> Y?, Y_h?, Y_c?",
    infer=_infer,
    lower=_lower,
)
registry.add(
    f"GRU(X, W, R, B?, sequence_lens?, initial_h?; {_ATTRIBUTES}, linear_before_reset: int = 0) -> Y?, Y_h?",
    infer=_infer,
    lower=_lower,
)
registry.add(
    f"RNN(X, W, R, B?, sequence_lens?, initial_h?; {_ATTRIBUTES}) -> Y?, Y_h?", infer=_infer, lower=_lower
)
