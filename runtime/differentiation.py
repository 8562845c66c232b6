"""Differentiation: operators remember what they were applied to, ``backward`` goes back through them.

An operator instance is one application.  A user's own subclass of ``Operator`` defines ``forward``
and ``backward`` in terms of tensors.  ``autograd`` has SINGA's names for all of this.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from . import eager
from . import tensor as tensor_module
from .errors import InputError, OperatorError
from .gradients import gradient_of
from .gradients import gradients as gradient_table
from .gradients.composite import expand
from .gradients.gradient import Applied, applied, sum_to
from .operators import registry
from .tensor import Tensor


def recording() -> bool:
    """Whether applications are remembered for ``backward``: SINGA's ``autograd.training``."""
    from . import autograd

    return autograd.training


@contextmanager
def evaluating() -> Iterator[None]:
    """Outside of training for a while."""
    from . import autograd

    before, autograd.training = autograd.training, False
    try:
        yield
    finally:
        autograd.training = before


class Operator:
    """One application of a differentiable function.

    Subclasses define ``forward(*xs)``, giving a tensor or a tuple of them, and ``backward(*dys)``,
    giving one gradient (or None) for each input.
    """

    _count: ClassVar[Counter[str]] = Counter()

    def __init__(self, name: str | None = None) -> None:
        kind = type(self).__name__
        self.name = name or f"{kind}#{Operator._count[kind]}"
        Operator._count[kind] += 1
        self.src: list[tuple[Operator, int, Tensor | None, bool]] = []
        self.y_id2idx: dict[int, int] = {}
        self.requires_grad = False
        self.inputs: tuple[Tensor | None, ...] = ()
        self.outputs: tuple[Tensor, ...] = ()

    def __call__(self, *xs: Tensor | None) -> Any:
        return self._do_forward(*xs)

    def _do_forward(self, *xs: Tensor | None) -> Any:
        for x in xs:
            if x is not None and not isinstance(x, Tensor):
                raise InputError(f"{self.name} takes tensors, not {type(x).__name__}")
        result = self.forward(*xs)
        ys = result if isinstance(result, tuple) else (result,)
        self.requires_grad = recording() and any(x is not None and x.requires_grad for x in xs)
        for y in ys:
            y.requires_grad = self.requires_grad
        if self.requires_grad:
            self._remember(xs, ys)
        return result

    def _remember(self, xs: Sequence[Tensor | None], ys: Sequence[Tensor]) -> None:
        self.inputs, self.outputs = tuple(xs), tuple(ys)
        for x in xs:
            if x is None:
                # An absent optional input: a source that nothing is given back to.
                x = Tensor(device=ys[0].device, requires_grad=False)
            if x.creator is None:
                x.creator = Dummy(x)
            self.src.append((x.creator, id(x), x if x.stores_grad else None, x.stores_grad))
        for index, y in enumerate(ys):
            y.creator = self
            self.y_id2idx[id(y)] = index

    def output_name(self, idx: int) -> str:
        return f"{self.name}:{idx}"

    def grad_name(self, idx: int) -> str:
        return f"{self.name}_g"

    def forward(self, *xs: Tensor) -> Any:
        raise OperatorError(f"{type(self).__name__} defines no forward")

    def backward(self, *dys: Tensor) -> Any:
        raise OperatorError(f"{type(self).__name__} defines no backward, so no parameter trains through it")

    def get_params(self) -> list[Tensor]:
        """Tensors of the operator that train: none, unless a subclass has them."""
        return []


class Dummy(Operator):
    """What stands before the first operator: an input or a parameter."""

    def __init__(self, tensor: Tensor, name: str | None = None) -> None:
        super().__init__(name)
        self.y_id2idx = {id(tensor): 0}
        self.tensor = tensor
        self.requires_grad = False

    def output_name(self, idx: int) -> str:
        return self.name

    def grad_name(self, idx: int) -> str:
        return f"{self.name}_g"


class Builtin(Operator):
    """An application of one of the runtime's operators; ``given`` are the attributes it is given."""

    operator = ""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.given: dict[str, Any] = {}

    def output_count(self) -> int:
        return 1

    def forward(self, *xs: Tensor | None) -> Any:
        attributes = self.given
        if recording() and registry[self.operator].expand and self.operator not in gradient_table:
            outputs, self._parts = expand(self.operator, xs, attributes)
        else:
            outputs = eager.apply(self.operator, xs, self.output_count(), **attributes)
            self._applied = applied(self.operator, xs, outputs, attributes)
            self._parts = None
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def backward(self, *dys: Tensor) -> tuple[Tensor | None, ...]:
        if self._parts is None:
            return tuple(gradient_of(self._applied, dys))
        return _through_parts(self._parts, self.outputs, dys, self.inputs)


def _through_parts(
    parts: Sequence[Applied],
    outputs: Sequence[Tensor],
    dys: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
) -> tuple[Tensor | None, ...]:
    """Go back through the parts of a composite operator."""
    wanted: set[int] = {id(x) for x in inputs}
    for part in parts:
        if any(x is not None and id(x) in wanted for x in part.inputs):
            wanted.update(id(y) for y in part.outputs)
    sums: dict[int, Tensor] = {id(y): dy for y, dy in zip(outputs, dys, strict=True) if dy is not None}
    for part in reversed(parts):
        given = [sums.get(id(y)) for y in part.outputs]
        needed = any(x is not None and id(x) in wanted for x in part.inputs)
        if not needed or all(dy is None for dy in given):
            continue
        for x, dx in zip(part.inputs, gradient_of(part, given), strict=False):
            if x is not None and dx is not None and id(x) in wanted:
                sums[id(x)] = sums[id(x)] + dx if id(x) in sums else dx
    return tuple(sums.get(id(x)) for x in inputs)


# --- going back ----------------------------------------------------------------------------------


def axis_helper(y_shape: Sequence[int], x_shape: Sequence[int]) -> list[int]:
    """The axes of y along which x was repeated by broadcasting."""
    more = len(y_shape) - len(x_shape)
    return [a for a in range(len(y_shape)) if a < more or (x_shape[a - more] == 1 and y_shape[a] != 1)]


def back_broadcast(y_shape: Sequence[int], x_shape: Sequence[int], x: Tensor) -> Tensor:
    """Sum a gradient of y's shape to one of x's shape."""
    return sum_to(x, Tensor(tuple(x_shape), x.device, x.data_type)) if tuple(y_shape) != tuple(x_shape) else x


def infer_dependency(op: Operator) -> Counter[Operator]:
    """How many remembered applications use each operator's output, going back from ``op``."""
    dependency: Counter[Operator] = Counter()
    seen, queue = {op}, deque([op])
    while queue:
        for source, *_ in queue.popleft().src:
            dependency[source] += 1
            if source not in seen and not isinstance(source, Dummy):
                seen.add(source)
                queue.append(source)
    return dependency


def gradients(y: Tensor, dy: Tensor | None = None) -> dict[Tensor, Tensor]:
    """Every parameter's gradient: ``backward`` as a dictionary."""
    return dict(backward(y, dy))


def backward(y: Tensor, dy: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """Go back from ``y``, giving each parameter and its gradient as soon as it is known.

    ``dy``: y's gradient; without it ``y`` must be a scalar (one element) and 1 is taken.
    Raises InputError for a y that no operator made, or a non-scalar without ``dy``.
    """
    if y.creator is None or isinstance(y.creator, Dummy):
        raise InputError(
            "backward: the tensor was not computed by an operator while autograd.training was on"
        )
    if dy is None:
        if y.size() != 1:
            raise InputError(
                f"backward: y has shape {list(y.shape)}; give dy, or reduce it to a scalar first"
            )
        dy = tensor_module.ones_like(y)
        dy.fixed = True
    waiting = infer_dependency(y.creator)
    sums: dict[int, Tensor] = {id(y): dy}
    ready: deque[Operator] = deque([y.creator])
    while ready:
        op = ready.popleft()
        if isinstance(op, Dummy) or not op.src:
            continue
        given = [sums.pop(id(out), None) for out in op.outputs]
        dxs = _backward_of(op, given)
        for (source, key, parameter, _), dx in zip(op.src, dxs, strict=True):
            if dx is not None and (source.requires_grad or parameter is not None):
                sums[key] = sums[key] + dx if key in sums else dx
            waiting[source] -= 1
            if waiting[source]:
                continue
            if parameter is not None and key in sums:
                yield parameter, sums.pop(key)
            ready.append(source)


def _backward_of(op: Operator, given: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """One gradient for each source of an operator."""
    if all(dy is None for dy in given):
        return [None] * len(op.src)
    result = op.backward(*given)
    dxs = result if isinstance(result, (tuple, list)) else (result,)
    if len(dxs) != len(op.src):
        raise OperatorError(f"{op.name}: backward gave {len(dxs)} gradients for {len(op.src)} inputs")
    return dxs
