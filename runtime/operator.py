"""An operator of the SINGA graph: what it takes, what it gives, how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import OperatorError
from .signature import Signature, parse_signature
from .value import Value

if TYPE_CHECKING:
    from .emit import Emit
    from .pointwise import Pointwise
    from .specialise import Builder


@dataclass
class Call:
    """One operator applied to values of known type and shape.

    ``inputs`` has an entry for every input of the signature (None where absent), a variadic one's
    flattened at the end.  ``a`` holds the attributes by name, defaults filled in.  ``wanted``
    says of each output whether anything reads it.  ``outputs`` is set once ``infer`` has run.
    """

    operator: Operator
    inputs: list[Value | None]
    a: SimpleNamespace
    wanted: tuple[bool, ...] = (True,)
    label: str = ""
    outputs: list[Value] = field(default_factory=list)

    def fail(self, reason: str) -> OperatorError:
        """An error that names this node; ``raise call.fail("...")``."""
        return OperatorError(f"{self.label or self.operator.signature.name}: {reason}")

    @property
    def present(self) -> list[Value]:
        """The inputs that are there."""
        return [value for value in self.inputs if value is not None]

    def axis(self, axis: int, rank: int, inclusive: bool = False) -> int:
        """A possibly negative axis as one in 0..rank-1 (0..rank where ``inclusive``)."""
        top = rank + 1 if inclusive else rank
        if not -top <= axis < top:
            raise self.fail(f"axis {axis} is outside of rank {rank}")
        return axis + top if axis < 0 else axis


Infer = Callable[[Call], list[Value]]
Lower = Callable[[Call, "Emit"], None]
Expand = Callable[[Call, "Builder"], Sequence[Value]]
Host = Callable[[Call], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Operator:
    """How one operator is inferred and computed.

    Exactly one of these computes it: ``pointwise`` (an expression, which fusion can join with
    others), ``lower`` (launches kernels), ``expand`` (a graph of other operators), or ``view``
    (the first input under another shape, no computation).  ``infer`` gives the outputs' types and
    shapes; ``expand`` needs none.  ``host`` computes it with numpy, where all inputs are small and
    known when the plan is made: shape arithmetic only.
    """

    signature: Signature
    infer: Infer | None = None
    lower: Lower | None = None
    expand: Expand | None = None
    pointwise: Pointwise | None = None
    host: Host | None = None
    view: bool = False

    @property
    def name(self) -> str:
        return self.signature.name


class Registry(dict[str, Operator]):
    """Operators by name."""

    def add(self, signature: str, **how: Any) -> Operator:
        """Register an operator; raises ValueError where the name is taken."""
        operator = Operator(parse_signature(signature), **how)
        if operator.name in self:
            raise ValueError(f"operator {operator.name} is defined twice")
        self[operator.name] = operator
        return operator


registry = Registry()


def same_as_first(call: Call) -> list[Value]:
    """One output, of the first input's type and shape."""
    x = call.inputs[0]
    assert x is not None
    return [Value(x.dtype, x.shape)]


def broadcast_shape(call: Call, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that numpy broadcasting gives, or an error that names the node."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise call.fail(f"shapes {listed} do not broadcast together") from None
