"""Gradients of elementwise operators.

``_FACTORS``: dx = dy * factor, the factor being a function of the application's input x, output y
and attributes a.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

from ..tensor import Tensor
from .gradient import Applied, gradient, gradients, number, op, sum_to


def _where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return op("Where", condition, x, y)


def _step(operator: str, x: Tensor, bound: float) -> Tensor:
    """1 where the comparison with ``bound`` holds, else 0, in x's type."""
    return op("Cast", op(operator, x, number(bound, x)), to=x.data_type)


def _selu(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    return _where(op("Greater", x, number(0, x)), number(a.gamma, x), y + a.gamma * a.alpha)


def _hard_sigmoid(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    return a.alpha * _step("Greater", y, 0.0) * _step("Less", y, 1.0)


def _clip(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    inside = x * 0.0 + 1.0
    if a.min is not None:
        inside = inside * _step("GreaterOrEqual", x, a.min)
    if a.max is not None:
        inside = inside * _step("LessOrEqual", x, a.max)
    return inside


def _inside(x: Tensor, bound: float) -> Tensor:
    return op("Less", op("Abs", x), number(bound, x))


def _mish(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    squashed = op("Tanh", op("SoftPlus", x))
    return squashed + x * (1.0 - squashed * squashed) * op("Sigmoid", x)


def _swish(x: Tensor, alpha: float) -> Tensor:
    share = op("Sigmoid", x * alpha)
    return share + x * alpha * share * (1.0 - share)


def _gelu(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    below = 0.5 + 0.5 * op("Erf", x * math.sqrt(0.5))
    return below + x * op("Exp", x * x * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))


def _gelu_tanh(x: Tensor, y: Tensor, a: SimpleNamespace) -> Tensor:
    scale, cubic = math.sqrt(2.0 / math.pi), 0.044715
    bent = op("Tanh", (x + x * x * x * cubic) * scale)
    return 0.5 * (1.0 + bent) + x * (1.0 - bent * bent) * (0.5 * scale) * (1.0 + 3.0 * cubic * x * x)


_FACTORS: dict[str, Callable[[Tensor, Tensor, SimpleNamespace], Tensor]] = {
    "Negative": lambda x, y, a: number(-1, x),
    "Abs": lambda x, y, a: op("Sign", x),
    "Exp": lambda x, y, a: y,
    "Log": lambda x, y, a: 1.0 / x,
    "Sqrt": lambda x, y, a: 0.5 / y,
    "Reciprocal": lambda x, y, a: -(y * y),
    "Sin": lambda x, y, a: op("Cos", x),
    "Cos": lambda x, y, a: -op("Sin", x),
    "Tan": lambda x, y, a: 1.0 + y * y,
    "Asin": lambda x, y, a: 1.0 / op("Sqrt", 1.0 - x * x),
    "Acos": lambda x, y, a: -1.0 / op("Sqrt", 1.0 - x * x),
    "Atan": lambda x, y, a: 1.0 / (1.0 + x * x),
    "Sinh": lambda x, y, a: op("Cosh", x),
    "Cosh": lambda x, y, a: op("Sinh", x),
    "Tanh": lambda x, y, a: 1.0 - y * y,
    "Asinh": lambda x, y, a: 1.0 / op("Sqrt", x * x + 1.0),
    "Acosh": lambda x, y, a: 1.0 / op("Sqrt", x * x - 1.0),
    "Atanh": lambda x, y, a: 1.0 / (1.0 - x * x),
    "Erf": lambda x, y, a: (2.0 / math.sqrt(math.pi)) * op("Exp", -(x * x)),
    "Sigmoid": lambda x, y, a: y * (1.0 - y),
    "ReLU": lambda x, y, a: _step("Greater", x, 0.0),
    "LeakyRelu": lambda x, y, a: _where(op("Less", x, number(0, x)), number(a.a, x), number(1, x)),
    "Elu": lambda x, y, a: _where(op("Greater", x, number(0, x)), number(1, x), y + a.alpha),
    "SeLU": _selu,
    "SoftPlus": lambda x, y, a: op("Sigmoid", x),
    "SoftSign": lambda x, y, a: 1.0 / op("Pow", 1.0 + op("Abs", x), number(2, x)),
    "HardSigmoid": _hard_sigmoid,
    "Clip": _clip,
    "HardSwish": lambda x, y, a: _where(
        _inside(x, 3.0), (2.0 * x + 3.0) * (1.0 / 6.0), _step("Greater", x, 0.0)
    ),
    "Mish": _mish,
    "Swish": lambda x, y, a: _swish(x, a.alpha),
    "Celu": lambda x, y, a: _where(
        op("Greater", x, number(0, x)), number(1, x), op("Exp", x * (1.0 / a.alpha))
    ),
    "ThresholdedRelu": lambda x, y, a: _step("Greater", x, a.alpha),
    "Shrink": lambda x, y, a: _step("Less", x, -a.lambd) + _step("Greater", x, a.lambd),
    "_Gelu_none": _gelu,
    "_Gelu_tanh": _gelu_tanh,
}


def _unary(factor: Callable[[Tensor, Tensor, SimpleNamespace], Tensor]):
    def backward(call: Applied, dy: Tensor) -> list[Tensor | None]:
        return [dy * factor(call.x, call.y, call.a)] + [None] * (len(call.inputs) - 1)

    return backward


for _name, _factor in _FACTORS.items():
    gradients[_name] = _unary(_factor)


@gradient("Sign", "Ceil", "Floor", "Round", "Rounde")
def _flat(call: Applied, dy: Tensor) -> list[Tensor]:
    """Constant almost everywhere."""
    return [dy * 0.0]


@gradient(
    "Equal",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "And",
    "Or",
    "Xor",
    "Not",
    "IsNaN",
    "IsInf",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitwiseNot",
    "_AtLeast",
    "_AtMost",
    "Shape",
    "Size",
    "Range",
    "OneHot",
    "ArgMax",
    "ArgMin",
    "NonZero",
    "ConstantOfShape",
    "Fill",
    "EyeLike",
    "Hardmax",
    "RandomUniformLike",
    "RandomNormalLike",
)
def _stepped(call: Applied, *_: Tensor | None) -> list[None]:
    """What changes in steps, or not with its inputs' values, gives nothing back."""
    return [None] * len(call.inputs)


@gradient("Identity")
def _identity(call: Applied, dy: Tensor) -> list[Tensor]:
    return [dy]


@gradient("Cast")
def _cast(call: Applied, dy: Tensor) -> list[Tensor]:
    return [op("Cast", dy, to=call.x.data_type)]


def _pair(call: Applied) -> tuple[Tensor, Tensor]:
    a, b = call.inputs[:2]
    assert a is not None and b is not None
    return a, b


@gradient("Add")
def _add(call: Applied, dy: Tensor) -> list[Tensor]:
    a, b = _pair(call)
    return [sum_to(dy, a), sum_to(dy, b)]


@gradient("Sub")
def _sub(call: Applied, dy: Tensor) -> list[Tensor]:
    a, b = _pair(call)
    return [sum_to(dy, a), sum_to(-dy, b)]


@gradient("Mul")
def _mul(call: Applied, dy: Tensor) -> list[Tensor]:
    a, b = _pair(call)
    return [sum_to(dy * b, a), sum_to(dy * a, b)]


@gradient("Div")
def _div(call: Applied, dy: Tensor) -> list[Tensor]:
    a, b = _pair(call)
    da = dy / b
    return [sum_to(da, a), sum_to(-(da * call.y), b)]


@gradient("Pow")
def _pow(call: Applied, dy: Tensor) -> list[Tensor]:
    """d/db is y log(a), and 0 where a is 0 (its limit from the right)."""
    a, b = _pair(call)
    one = number(1, a)
    positive = op("Greater", a, number(0, a))
    logarithm = op("Log", _where(positive, a, one))
    return [sum_to(dy * b * op("Pow", a, b - one), a), sum_to(dy * call.y * logarithm, b)]


@gradient("PRelu")
def _prelu(call: Applied, dy: Tensor) -> list[Tensor]:
    x, slope = _pair(call)
    negative = op("Cast", op("Less", x, number(0, x)), to=x.data_type)
    return [dy * (1.0 - negative + negative * slope), sum_to(dy * negative * x, slope)]


@gradient("Where")
def _choose(call: Applied, dy: Tensor) -> list[Tensor | None]:
    condition, x, y = call.inputs
    assert condition is not None and x is not None and y is not None
    zero = number(0, dy)
    return [None, sum_to(_where(condition, dy, zero), x), sum_to(_where(condition, zero, dy), y)]


@gradient("Max", "Min", "_Max2", "_Min2")
def _extreme(call: Applied, dy: Tensor) -> list[Tensor]:
    """The gradient goes to the inputs that are the extreme, in equal shares."""
    xs = [x for x in call.inputs if x is not None]
    hits = [op("Cast", op("Equal", x, call.y), to=dy.data_type) for x in xs]
    count = hits[0]
    for hit in hits[1:]:
        count = count + hit
    share = dy / count
    return [sum_to(share * hit, x) for x, hit in zip(xs, hits, strict=True)]


@gradient("Sum")
def _sum(call: Applied, dy: Tensor) -> list[Tensor]:
    return [sum_to(dy, x) for x in call.inputs if x is not None]


@gradient("Mean")
def _mean(call: Applied, dy: Tensor) -> list[Tensor]:
    share = dy * (1.0 / len(call.inputs))
    return [sum_to(share, x) for x in call.inputs if x is not None]
