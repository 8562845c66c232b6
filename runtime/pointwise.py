"""Elementwise kernels, generated: one expression per output, numpy broadcasting, any types.

An expression is OpenCL C over the operator's input names and numeric attribute names.  It is
computed in one type (``C``), the promoted type of the inputs unless ``compute`` says otherwise.
Integers and floats may differ: ``integer`` replaces ``expression`` where ``C`` is no float.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import dtypes
from .operator import Call, broadcast_shape
from .value import Value

if TYPE_CHECKING:
    from .emit import Emit


@dataclass(frozen=True)
class Pointwise:
    """How one elementwise operator is computed.

    ``result``: None for the compute type, a numpy dtype (bool for comparisons), or a function of
    the call.  ``compute``: a function of the call that gives the type to compute in, where it is
    not the promoted type of the inputs.  ``parameters``: attributes the expression names.
    ``conditions``: inputs that are read as true or false and take no part in the type; parameters of
    integers stay floats where C is an integer type.  ``helpers``: sections of ``math.cl`` it calls.
    """

    expression: str
    integer: str | None = None
    result: np.dtype | Callable[[Call], np.dtype] | None = None
    compute: Callable[[Call], np.dtype] | None = None
    parameters: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()

    def compute_type(self, call: Call) -> np.dtype:
        """The dtype in which the expression is evaluated."""
        if self.compute:
            return self.compute(call)
        return dtypes.promote(*(value.dtype for value in call.present))

    def result_type(self, call: Call) -> np.dtype:
        """The dtype of the output."""
        if self.result is None:
            return self.compute_type(call)
        return self.result if isinstance(self.result, np.dtype) else self.result(call)

    def infer(self, call: Call) -> list[Value]:
        """One output: the inputs broadcast together."""
        shape = broadcast_shape(call, [value.shape for value in call.present])
        return [Value(self.result_type(call), shape)]


def collapse(
    shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]
) -> tuple[list[int], list[list[int]]]:
    """Merge neighbouring dimensions wherever every operand walks them alike.

    Returns the merged sizes and, for each operand, its element stride in each (0: broadcast).
    """
    rank = len(shape)
    strides = [_broadcast_strides(operand, rank) for operand in operands]
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in operands]
    for axis in range(rank):
        if shape[axis] == 1:
            continue
        if sizes and all(m[-1] == s[axis] * shape[axis] for m, s in zip(merged, strides, strict=True)):
            sizes[-1] *= shape[axis]
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[axis]
        else:
            sizes.append(shape[axis])
            for m, s in zip(merged, strides, strict=True):
                m.append(s[axis])
    return sizes, merged


def _broadcast_strides(operand: tuple[int, ...], rank: int) -> list[int]:
    strides, step = [0] * rank, 1
    for back, size in enumerate(reversed(operand), start=1):
        strides[rank - back] = 0 if size == 1 else step
        step *= size
    return strides


def lower_pointwise(call: Call, emit: Emit) -> None:
    """Launch the kernel of a pointwise operator."""
    how = call.operator.pointwise
    assert how is not None
    output = call.outputs[0]
    names = _operand_names(call)
    operands = call.present
    sizes, strides = collapse(output.shape, [value.shape for value in operands])
    compute = how.compute_type(call)
    roles = {"O": output.dtype, "C_": compute} | {f"I{k}": v.dtype for k, v in enumerate(operands)}
    walks = tuple(_walk(sizes, stride) for stride in strides)
    kinds = [_parameter_type(getattr(call.a, name), compute)[0] for name in how.parameters]
    source = _source(how, names, walks, len(sizes), compute, kinds)
    parameters = [_parameter(getattr(call.a, name), compute) for name in how.parameters]
    numbers = [np.int32(size) for size in sizes[1:]]
    steps = [
        np.int32(s) for walk, stride in zip(walks, strides, strict=True) if walk == "strided" for s in stride
    ]
    emit.map(
        source, "pointwise", output.size, [*operands, output, *parameters, *numbers, *steps], types=roles
    )


def _operand_names(call: Call) -> list[str]:
    """The expression's name of each input that is there (variadic ones are numbered)."""
    declared = call.operator.signature.inputs
    names: list[str] = []
    for index, value in enumerate(call.inputs):
        if value is None:
            continue
        if index < len(declared) and not declared[index].variadic:
            names.append(declared[index].name)
        else:
            names.append(f"{declared[-1].name}{index - len(declared) + 1}")
    return names


def _walk(sizes: list[int], stride: list[int]) -> str:
    """``scalar``: one element; ``linear``: the output's own order; ``strided``: the rest."""
    if not any(stride):
        return "scalar"
    expected, step = [], 1
    for size in reversed(sizes):
        expected.append(step)
        step *= size
    return "linear" if stride == expected[::-1] else "strided"


def _parameter(value: float, compute: np.dtype) -> np.generic:
    """A parameter as the kernel receives it: a float beside an integer type may have a fraction."""
    return np.dtype(_parameter_type(value, compute)[1]).type(value)


def _parameter_type(value: float, compute: np.dtype) -> tuple[str, str]:
    """The OpenCL and the numpy type of a parameter."""
    if not dtypes.is_float(compute) and isinstance(value, float):
        return "float", "f4"
    storage = dtypes.data_type(compute).compute
    return storage, {"float": "f4", "double": "f8"}.get(storage, compute.name)


def _source(
    how: Pointwise, names: list[str], walks: tuple[str, ...], rank: int, compute: np.dtype, kinds: list[str]
) -> str:
    """The kernel's text; equal shapes patterns give equal text, so one build serves them."""
    expression = how.integer if how.integer and not dtypes.is_float(compute) else how.expression
    strided = "strided" in walks
    arguments = [f"__global const I{k}_T *restrict in{k}" for k in range(len(names))]
    arguments += ["__global O_T *restrict out"]
    arguments += [f"const {kind} {name}" for kind, name in zip(kinds, how.parameters, strict=True)]
    arguments += [f"const int d{axis}" for axis in range(1, rank)]
    arguments += [
        f"const int s{k}_{axis}" for k, walk in enumerate(walks) if walk == "strided" for axis in range(rank)
    ]
    body = _index(rank) if strided else []
    for k, (name, walk) in enumerate(zip(names, walks, strict=True)):
        where = {"scalar": "0", "linear": "i"}.get(walk) or " + ".join(
            f"i{a} * s{k}_{a}" for a in range(rank)
        )
        load = f"I{k}_LOAD(in{k}, {where})"
        condition = name in how.conditions
        body.append(f"const int {name} = {load} != 0;" if condition else f"const C__C {name} = (C__C){load};")
    body.append(f"O_STORE(out, i, {expression});")
    text = "\n  ".join(body)
    includes = "".join(f"#define USE_{helper}\n" for helper in how.helpers)
    if includes:
        includes += '#define C C__C\n#include "math.cl"\n'
    signature = ", ".join(["const int n", *arguments])
    return (
        f"{includes}#define C C__C\n__kernel void pointwise({signature}) {{\n"
        f"  const int i = get_global_id(0);\n  if (i >= n) return;\n  {text}\n}}\n"
    )


def _index(rank: int) -> list[str]:
    """Split the flat index into one per merged dimension."""
    lines = ["int rest = i;"]
    for axis in range(rank - 1, 0, -1):
        lines.append(f"const int i{axis} = rest % d{axis}; rest /= d{axis};")
    lines.append("const int i0 = rest;")
    return lines
