"""SINGA's tensors: arrays in a device's memory, with what autograd keeps of them.

The functions and operators here compute at once and are not differentiated, as in SINGA; those of
``autograd`` are.  Shapes are tuples; a scalar has shape ``()``.  Comparisons give 0 and 1 in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import dtypes, eager
from .array import DeviceArray
from .device import Device, get_default_device
from .errors import InputError

if TYPE_CHECKING:
    from .autograd import Operator

float32, float16, int32, int8, float64, uint8 = range(6)
"""SINGA's numbers for its types (``char`` is int8, ``double`` float64, ``uchar`` uint8)."""
char, double, uchar = int8, float64, uint8

_NUMBERED = {
    float32: "float32",
    float16: "float16",
    int32: "int32",
    int8: "int8",
    float64: "float64",
    uint8: "uint8",
}
int64, int16, uint16, uint32, uint64, bool_, bfloat16 = range(64, 71)
"""Types that SINGA lacks."""
_NUMBERED |= dict(
    zip(range(64, 71), ("int64", "int16", "uint16", "uint32", "uint64", "bool", "bfloat16"), strict=True)
)
_NUMBER_OF = {name: number for number, name in _NUMBERED.items()}

Number: TypeAlias = "int | float"
TypeLike: TypeAlias = "int | np.dtype | type | str"


def data_type(dtype: TypeLike) -> np.dtype:
    """The numpy dtype of one of SINGA's numbers, a name, or anything numpy takes."""
    if isinstance(dtype, int):
        if dtype not in _NUMBERED:
            raise InputError(f"{dtype} is none of SINGA's data types")
        return dtypes.by_name(_NUMBERED[dtype])
    return dtypes.by_name(dtype) if isinstance(dtype, str) else dtypes.data_type(dtype).numpy


def type_number(dtype: np.dtype) -> int:
    """SINGA's number of a numpy dtype; raises InputError where it has none."""
    if dtype.name not in _NUMBER_OF:
        raise InputError(f"SINGA's tensors have no type {dtype.name}")
    return _NUMBER_OF[dtype.name]


def same_device(tensors: Sequence[Tensor]) -> Device:
    """The one device of all tensors; raises InputError where they differ."""
    if not tensors:
        return get_default_device()
    first = tensors[0].device
    for tensor in tensors[1:]:
        if tensor.device is not first:
            raise InputError(f"tensors on different devices: {first} and {tensor.device}; use to_device")
    return first


class Tensor:
    """An array on a device.

    ``data``: initial content (a numpy array, another tensor, or None for zeros).  ``requires_grad``:
    whether a gradient flows to it; ``stores_grad``: whether that gradient is wanted (parameters).
    ``creator``: the autograd operator that computed it.
    """

    def __init__(
        self,
        shape: Sequence[int] = (),
        device: Device | None = None,
        dtype: TypeLike = float32,
        data: Any = None,
        requires_grad: bool = True,
        stores_grad: bool = False,
        creator: Operator | None = None,
        name: str | None = None,
    ) -> None:
        self.device = device or get_default_device()
        self.requires_grad = requires_grad
        self.stores_grad = stores_grad
        self.creator = creator
        self.name = name
        self.fixed = False
        self._array: DeviceArray | None = None
        self._shape = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
        self._dtype = data_type(dtype)
        if isinstance(data, DeviceArray):
            self._adopt(data)
        elif isinstance(data, Tensor):
            self._adopt(data.array)
        elif data is not None:
            array = np.asarray(data)
            self._shape, self._dtype = array.shape, array.dtype
            self.copy_from_numpy(array)

    @classmethod
    def from_array(cls, array: DeviceArray, device: Device) -> Tensor:
        """A tensor on memory that the device already holds."""
        return cls(device=device, data=array, requires_grad=False)

    def _adopt(self, array: DeviceArray) -> None:
        self._array, self._shape, self._dtype = array, tuple(array.shape), array.dtype

    # --- what it is

    @property
    def array(self) -> DeviceArray:
        """Its memory, made (zeros) when first asked for."""
        if self._array is None:
            self._array = _upload(self.device, np.zeros(self._shape, self._dtype))
        return self._array

    @property
    def data(self) -> DeviceArray:
        return self.array

    @data.setter
    def data(self, value: DeviceArray | Tensor) -> None:
        self._adopt(value.array if isinstance(value, Tensor) else value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def data_type(self) -> np.dtype:
        """The type as a numpy dtype."""
        return self._dtype

    @property
    def dtype(self) -> int:
        """The type as SINGA's number."""
        return type_number(self._dtype)

    def __repr__(self) -> str:
        return f"Tensor({self.name or ''}{list(self.shape)} {self._dtype.name} on {self.device})"

    def __str__(self) -> str:
        return str(to_numpy(self))

    def ndim(self) -> int:
        return len(self._shape)

    def size(self) -> int:
        """Elements in all."""
        return math.prod(self._shape)

    def memsize(self) -> int:
        """Bytes it takes."""
        return self.size() * self._dtype.itemsize

    def is_empty(self) -> bool:
        return self.size() == 0

    def is_dummy(self) -> bool:
        """Whether it is an input of the graph rather than computed by an operator."""
        from .autograd import Dummy

        return isinstance(self.creator, Dummy)

    def is_transpose(self) -> bool:
        """Always False: a transposed tensor is stored in its new order."""
        return False

    def contiguous(self) -> Tensor:
        return self

    # --- other forms

    def __getitem__(self, keys: Any) -> Tensor:
        """Basic indexing: integers, slices and ``...``."""
        return _index(self, keys)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        return _apply("Reshape", self, shape=tuple(shape))

    def transpose(self, axes: Sequence[int] | None = None) -> Tensor:
        order = tuple(axes) if axes is not None else tuple(reversed(range(self.ndim())))
        return _apply("Transpose", self, perm=order)

    @property
    def T(self) -> Tensor:
        return self.transpose()

    def repeat(self, repeats: int | Sequence[int], axis: int | None) -> Tensor:
        return repeat(self, repeats, axis)

    def reset_like(self, t: Tensor) -> None:
        """Take the shape and type of another tensor; the content is zero."""
        self._shape, self._dtype, self._array = t.shape, t.data_type, None
        self.device = t.device

    def as_type(self, dtype: TypeLike) -> Tensor:
        """A tensor with the values in another type."""
        return _apply("Cast", self, to=data_type(dtype))

    def to_type(self, dtype: TypeLike) -> Tensor:
        """Convert in place."""
        if data_type(dtype) != self._dtype:
            self._assign(self.as_type(dtype))
        return self

    def to_device(self, device: Device) -> Tensor:
        """Move to another device, in place."""
        if device is not self.device:
            content = to_numpy(self)
            self.device = device
            self._adopt(_upload(device, content))
        return self

    def to_host(self) -> Tensor:
        """Move to a CPU device, in place."""
        from .device import create_cpu_device

        return self.to_device(create_cpu_device())

    def clone(self) -> Tensor:
        """A tensor with a copy of the values."""
        copied = _apply("Identity", self)
        copied.requires_grad, copied.stores_grad, copied.name = (
            self.requires_grad,
            self.stores_grad,
            self.name,
        )
        return copied

    def copy(self) -> Tensor:
        """A tensor that shares the values until either is changed."""
        return Tensor(device=self.device, data=self.array, requires_grad=self.requires_grad, name=self.name)

    def deepcopy(self) -> Tensor:
        return self.clone()

    # --- new content

    def _assign(self, source: Tensor) -> None:
        """Take the content of another tensor, noted by a trace that records."""
        for trace in eager.all_active():
            trace.assign(self, source)
        self._adopt(source.array)

    def set_value(self, x: Number, inplace: bool = True) -> Tensor | None:
        """Make every element ``x``."""
        filled = Tensor(self.shape, self.device, data=np.full(self.shape, x, self._dtype))
        return self._place(filled, inplace)

    def copy_from_numpy(self, np_array: np.ndarray, offset: int = 0) -> None:
        """Take an array's elements, in this tensor's type; raises InputError where the size differs."""
        given = np.ascontiguousarray(np_array)
        if offset or given.size != self.size():
            content = (
                to_numpy(self).reshape(-1) if self._array is not None else np.zeros(self.size(), self._dtype)
            )
            if offset + given.size > content.size:
                raise InputError(
                    f"{self.name or 'tensor'} of shape {list(self.shape)} has no room for "
                    f"{given.size} elements at offset {offset}"
                )
            if not offset:
                raise InputError(
                    f"{self.name or 'tensor'} has shape {list(self.shape)}, the array {list(given.shape)}"
                )
            content[offset : offset + given.size] = given.reshape(-1)
            given = content
        content = given.astype(self._dtype, copy=False).reshape(self._shape)
        if self._array is None:
            self._array = _upload(self.device, content)
        else:
            # A new buffer: another tensor may share the old one.
            self._array = _upload(self.device, content)

    def copy_data(self, t: Tensor) -> None:
        """Take the values of another tensor of the same size."""
        if t.size() != self.size():
            raise InputError(
                f"cannot copy {list(t.shape)} to {self.name or 'tensor'} of shape {list(self.shape)}"
            )
        source = t if t.data_type == self._dtype else t.as_type(self._dtype)
        self._assign(source if source.shape == self.shape else source.reshape(self.shape))

    def copy_from(self, t: Tensor | np.ndarray, offset: int = 0) -> None:
        """``copy_data`` or ``copy_from_numpy``."""
        if isinstance(t, Tensor):
            self.copy_data(t)
        else:
            self.copy_from_numpy(t, offset)

    def bernoulli(self, p: float, inplace: bool = True) -> Tensor | None:
        """1 with probability ``p``, else 0."""
        draw = lt(self._random("RandomUniform", low=0.0, high=1.0), p)
        return self._place(draw.as_type(self._dtype), inplace)

    def gaussian(self, mean: float, std: float, inplace: bool = True) -> Tensor | None:
        """Normally distributed values."""
        return self._place(self._random("RandomNormal", mean=float(mean), scale=float(std)), inplace)

    def uniform(self, low: float, high: float, inplace: bool = True) -> Tensor | None:
        """Values spread evenly over low..high."""
        return self._place(self._random("RandomUniform", low=float(low), high=float(high)), inplace)

    def _random(self, operator: str, **attributes: float) -> Tensor:
        seed = float(self.device.next_seed() % (1 << 24))
        drawn = eager.draw(
            self.device, operator, shape=self.shape, seed=seed, dtype=np.dtype(np.float32), **attributes
        )
        return drawn.as_type(self._dtype)

    def _place(self, result: Tensor, inplace: bool) -> Tensor | None:
        if not inplace:
            return result
        self._assign(result)
        return None

    def l1(self) -> float:
        """The mean of the absolute values."""
        return float(to_numpy(_apply("ReduceMean", abs(self), keepdims=0)))

    def l2(self) -> float:
        """The Euclidean norm divided by the number of elements."""
        return float(to_numpy(sqrt(_apply("ReduceSum", square(self), keepdims=0)))) / max(self.size(), 1)

    # --- rows and columns of a matrix, in place

    def add_column(self, v: Tensor) -> None:
        add_column(1.0, v, 1.0, self)

    def add_row(self, v: Tensor) -> None:
        add_row(1.0, v, 1.0, self)

    def div_column(self, v: Tensor) -> None:
        self._assign(div(self, v.reshape((v.size(), 1))))

    def div_row(self, v: Tensor) -> None:
        self._assign(div(self, v.reshape((1, v.size()))))

    def mult_column(self, v: Tensor) -> None:
        self._assign(eltwise_mult(self, v.reshape((v.size(), 1))))

    def mult_row(self, v: Tensor) -> None:
        self._assign(eltwise_mult(self, v.reshape((1, v.size()))))

    # --- operators

    def __iadd__(self, x: Tensor | Number) -> Tensor:
        return self._update(add(self, x))

    def __isub__(self, x: Tensor | Number) -> Tensor:
        return self._update(sub(self, x))

    def __imul__(self, x: Tensor | Number) -> Tensor:
        return self._update(eltwise_mult(self, x))

    def __itruediv__(self, x: Tensor | Number) -> Tensor:
        return self._update(div(self, x))

    def _update(self, result: Tensor) -> Tensor:
        self._assign(result)
        return self

    def __add__(self, rhs: Tensor | Number) -> Tensor:
        return add(self, rhs)

    def __sub__(self, rhs: Tensor | Number) -> Tensor:
        return sub(self, rhs)

    def __mul__(self, rhs: Tensor | Number) -> Tensor:
        return eltwise_mult(self, rhs)

    def __truediv__(self, rhs: Tensor | Number) -> Tensor:
        return div(self, rhs)

    def __radd__(self, lhs: Number) -> Tensor:
        return add(_like(lhs, self), self)

    def __rsub__(self, lhs: Number) -> Tensor:
        return sub(_like(lhs, self), self)

    def __rmul__(self, lhs: Number) -> Tensor:
        return eltwise_mult(_like(lhs, self), self)

    def __rtruediv__(self, lhs: Number) -> Tensor:
        return div(_like(lhs, self), self)

    def __neg__(self) -> Tensor:
        return _apply("Negative", self)

    def __pow__(self, rhs: Tensor | Number) -> Tensor:
        return pow(self, rhs)

    def __lt__(self, x: Tensor | Number) -> Tensor:
        return lt(self, x)

    def __le__(self, x: Tensor | Number) -> Tensor:
        return le(self, x)

    def __gt__(self, x: Tensor | Number) -> Tensor:
        return gt(self, x)

    def __ge__(self, x: Tensor | Number) -> Tensor:
        return ge(self, x)

    def __matmul__(self, rhs: Tensor) -> Tensor:
        return _apply("Matmul", self, rhs)


class PlaceHolder(Tensor):
    """A tensor that stands for an input of some shape when a model is compiled."""


def _upload(device: Device, array: np.ndarray) -> DeviceArray:
    import pyopencl as cl

    content = np.ascontiguousarray(array)
    buffer = cl.Buffer(device.opencl.context, cl.mem_flags.READ_WRITE, max(content.nbytes, 1))
    if content.nbytes:
        cl.enqueue_copy(device.opencl.queue, buffer, content.reshape(-1).view(np.uint8))
    return DeviceArray(buffer, content.dtype, array.shape)


def _apply(operator: str, *inputs: Tensor, **attributes: Any) -> Tensor:
    return eager.apply(operator, inputs, **attributes)[0]


def _like(x: Number | Tensor, t: Tensor) -> Tensor:
    """A number as a scalar tensor of another tensor's type and device."""
    return x if isinstance(x, Tensor) else eager.scalar(t.device, x, t.data_type)


def _index(t: Tensor, keys: Any) -> Tensor:
    keys = keys if isinstance(keys, tuple) else (keys,)
    if Ellipsis in keys:
        place = keys.index(Ellipsis)
        keys = keys[:place] + (slice(None),) * (t.ndim() - len(keys) + 1) + keys[place + 1 :]
    if len(keys) > t.ndim():
        raise InputError(f"{len(keys)} indices for a tensor of {t.ndim()} dimensions")
    starts, ends, axes, steps, dropped = [], [], [], [], []
    for axis, key in enumerate(keys):
        size = t.shape[axis]
        if isinstance(key, int):
            if not -size <= key < size:
                raise InputError(f"index {key} is outside of axis {axis} of size {size}")
            key = slice(key % size, key % size + 1)
            dropped.append(axis)
        elif not isinstance(key, slice):
            raise InputError(f"a tensor is indexed by integers, slices and '...', not {key!r}")
        start, stop, step = key.indices(size)
        starts.append(start)
        ends.append(stop if stop >= 0 else -(1 << 31))
        axes.append(axis)
        steps.append(step)
    sliced = _apply("Slice", t, starts=starts, ends=ends, axes=axes, steps=steps)
    return _apply("Squeeze", sliced, axis=tuple(dropped)) if dropped else sliced


# --- making tensors ------------------------------------------------------------------------------


def from_raw_tensor(t: DeviceArray) -> Tensor:
    """A tensor on the default device's memory."""
    return Tensor.from_array(t, get_default_device())


def from_raw_tensors(tt: Sequence[DeviceArray]) -> list[Tensor]:
    return [from_raw_tensor(t) for t in tt]


def from_numpy(np_array: np.ndarray, dev: Device | None = None) -> Tensor:
    """A tensor with an array's values; float64 and int64 become float32 and int32, as in SINGA."""
    array = np.asarray(np_array)
    narrowed = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}.get(array.dtype, array.dtype)
    return Tensor(device=dev, data=array.astype(narrowed, copy=False), requires_grad=True)


def zeros(shape: Sequence[int], device: Device | None = None) -> Tensor:
    return Tensor(shape, device)


def ones(shape: Sequence[int], device: Device | None = None) -> Tensor:
    return Tensor(shape, device, data=np.ones(shape, np.float32))


def random(shape: Sequence[int], device: Device | None = None) -> Tensor:
    """Values spread evenly over 0..1."""
    t = Tensor(shape, device)
    t.uniform(0.0, 1.0)
    return t


def zeros_like(t: Tensor) -> Tensor:
    return Tensor(t.shape, t.device, t.data_type)


def ones_like(t: Tensor) -> Tensor:
    return Tensor(t.shape, t.device, data=np.ones(t.shape, t.data_type))


def to_numpy(t: Tensor) -> np.ndarray:
    """The values on the host."""
    import pyopencl as cl

    array = np.empty(t.shape, t.data_type)
    if array.nbytes:
        cl.enqueue_copy(t.device.opencl.queue, array.reshape(-1).view(np.uint8), t.array.buffer)
    return array


def to_host(t: Tensor) -> Tensor:
    """A copy on a CPU device."""
    return t.clone().to_host()


def product(shape: Sequence[int]) -> int:
    return math.prod(shape)


def sizeof(dtype: TypeLike) -> int:
    """Bytes an element takes."""
    return data_type(dtype).itemsize


def contiguous(tensor: Tensor) -> Tensor:
    return tensor.contiguous()


def reshape(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    return tensor.reshape(shape)


def transpose(t: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return t.transpose(axes)


def copy_data_to_from(dst: Tensor, src: Tensor, size: int, dst_offset: int = 0, src_offset: int = 0) -> None:
    """Copy ``size`` elements between tensors, offsets in elements."""
    values = to_numpy(src).reshape(-1)[src_offset : src_offset + size]
    content = to_numpy(dst).reshape(-1)
    if values.size != size or dst_offset + size > content.size:
        raise InputError(f"{size} elements are more than {list(src.shape)} or {list(dst.shape)} holds there")
    content[dst_offset : dst_offset + size] = values
    dst.copy_from_numpy(content.reshape(dst.shape))


def copy_from_numpy(data: Tensor, np_array: np.ndarray) -> None:
    data.copy_from_numpy(np_array)


# --- elementwise ---------------------------------------------------------------------------------


def _unary(operator: str, text: str) -> Callable[[Tensor], Tensor]:
    def function(t: Tensor) -> Tensor:
        return _apply(operator, t)

    function.__doc__ = text
    function.__name__ = operator.lower()
    return function


abs = _unary("Abs", "Absolute values.")
exp = _unary("Exp", "e to the power of each value.")
ceil = _unary("Ceil", "Each value rounded up.")
log = _unary("Log", "Natural logarithms.")
sigmoid = _unary("Sigmoid", "1 / (1 + exp(-x)).")
sign = _unary("Sign", "-1, 0 or 1.")
sqrt = _unary("Sqrt", "Square roots.")
tanh = _unary("Tanh", "Hyperbolic tangents.")


def square(t: Tensor) -> Tensor:
    return _apply("Mul", t, t)


def _binary(operator: str, lhs: Tensor | Number, rhs: Tensor | Number, ret: Tensor | None = None) -> Tensor:
    like = lhs if isinstance(lhs, Tensor) else rhs
    assert isinstance(like, Tensor)
    result = _apply(operator, _like(lhs, like), _like(rhs, like))
    return result if ret is None else ret._update(result)


def add(lhs: Tensor, rhs: Tensor | Number, ret: Tensor | None = None) -> Tensor:
    return _binary("Add", lhs, rhs, ret)


def sub(lhs: Tensor, rhs: Tensor | Number, ret: Tensor | None = None) -> Tensor:
    return _binary("Sub", lhs, rhs, ret)


def eltwise_mult(lhs: Tensor, rhs: Tensor | Number, ret: Tensor | None = None) -> Tensor:
    return _binary("Mul", lhs, rhs, ret)


def div(lhs: Tensor | Number, rhs: Tensor | Number, ret: Tensor | None = None) -> Tensor:
    return _binary("Div", lhs, rhs, ret)


def pow(t: Tensor, x: Tensor | Number, out: Tensor | None = None) -> Tensor:
    return _binary("Pow", t, x, out)


def _compare(operator: str, t: Tensor, x: Tensor | Number) -> Tensor:
    """0 and 1 in float32, as SINGA has no bool."""
    return _binary(operator, t, x).as_type(float32)


def lt(t: Tensor, x: Tensor | Number) -> Tensor:
    return _compare("Less", t, x)


def le(t: Tensor, x: Tensor | Number) -> Tensor:
    return _compare("LessOrEqual", t, x)


def gt(t: Tensor, x: Tensor | Number) -> Tensor:
    return _compare("Greater", t, x)


def ge(t: Tensor, x: Tensor | Number) -> Tensor:
    return _compare("GreaterOrEqual", t, x)


def eq(t: Tensor, x: Tensor | Number) -> Tensor:
    return _compare("Equal", t, x)


def axpy(alpha: float, x: Tensor, y: Tensor) -> Tensor:
    """y += alpha * x, in place."""
    return y._update(add(y, eltwise_mult(x, alpha)))


# --- reductions and products ---------------------------------------------------------------------


def sum(t: Tensor, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """The sum over an axis, or over all (shape ``()``)."""
    result = _apply("ReduceSum", t, axes=None if axis is None else (axis,), keepdims=0)
    return result if out is None else out._update(result)


def average(t: Tensor, axis: int | None = None) -> Tensor:
    """The mean over an axis, or over all (shape ``()``)."""
    return _apply("ReduceMean", t, axes=None if axis is None else (axis,), keepdims=0)


def softmax(t: Tensor, out: Tensor | None = None) -> Tensor:
    """Softmax over the last dimension of a matrix, or of a vector."""
    result = _apply("SoftMax", t, axis=t.ndim() - 1, flatten=0)
    return result if out is None else out._update(result)


def mult(A: Tensor, B: Tensor, C: Tensor | None = None, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
    """alpha * A B + beta * C (written to C where it is given)."""
    result = _apply("Matmul", A, B)
    if alpha != 1.0:
        result = eltwise_mult(result, alpha)
    if C is None:
        return result
    return C._update(add(result, eltwise_mult(C, beta)) if beta else result)


def einsum(ops: str, *args: Tensor) -> Tensor:
    """Sums of products, in numpy's notation."""
    return eager.apply("Einsum", args, equation=ops)[0]


def tensordot(A: Tensor, B: Tensor, axes: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Products summed over axes, as numpy.tensordot."""
    if isinstance(axes, int):
        left, right = list(range(A.ndim() - axes, A.ndim())), list(range(axes))
    else:
        left, right = ([a] if isinstance(a, int) else list(a) for a in axes)
        left, right = [a % A.ndim() for a in left], [b % B.ndim() for b in right]
    free_a = [a for a in range(A.ndim()) if a not in left]
    free_b = [b for b in range(B.ndim()) if b not in right]
    inner = math.prod(A.shape[a] for a in left)
    a = A.transpose(free_a + left).reshape((-1 if inner else 0, inner))
    b = B.transpose(right + free_b).reshape((inner, -1 if inner else 0))
    return _apply("Matmul", a, b).reshape([A.shape[i] for i in free_a] + [B.shape[i] for i in free_b])


def repeat(t: Tensor, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each element ``repeats`` times along an axis (flattened where it is None), as numpy.repeat."""
    source = t if axis is not None else t.reshape((t.size(),))
    along = (axis or 0) % max(source.ndim(), 1)
    counts = np.broadcast_to(np.asarray(repeats), (source.shape[along],))
    indices = Tensor(device=t.device, data=np.repeat(np.arange(source.shape[along]), counts).astype(np.int64))
    return _apply("Gather", source, indices, axis=along)


def concatenate(tensors: Sequence[Tensor], axis: int) -> Tensor:
    return eager.apply("Concat", list(tensors), axis=axis)[0]


def add_column(alpha: float, v: Tensor, beta: float, M: Tensor) -> Tensor:
    """M = beta * M + alpha * v for every column, in place."""
    column = eltwise_mult(v.reshape((v.size(), 1)), alpha)
    return M._update(add(eltwise_mult(M, beta), column))


def add_row(alpha: float, v: Tensor, beta: float, M: Tensor) -> Tensor:
    """M = beta * M + alpha * v for every row, in place."""
    row = eltwise_mult(v.reshape((1, v.size())), alpha)
    return M._update(add(eltwise_mult(M, beta), row))


def sum_columns(M: Tensor) -> Tensor:
    """The sum of the columns: one value for each row."""
    return sum(M, 1)


def sum_rows(M: Tensor) -> Tensor:
    """The sum of the rows: one value for each column."""
    return sum(M, 0)


def bernoulli(p: float, t: Tensor) -> Tensor:
    t.bernoulli(p)
    return t


def gaussian(mean: float, std: float, t: Tensor) -> Tensor:
    t.gaussian(mean, std)
    return t


def uniform(low: float, high: float, t: Tensor) -> Tensor:
    t.uniform(low, high)
    return t
