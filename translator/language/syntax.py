"""The syntax tree of the rule language: what the parser makes, what every later stage reads.

A rule has a SINGA side and one or more alternatives, each an arrow to an ONNX side.  A side is
either one *signature* (``Softmax(x; axis = -1)``: it declares every input and attribute of one
operator, ``= -1`` being the attribute's default) or a *block* of *steps* in braces
(``{ h = HardSigmoid(x; alpha = 1/6)  y = Mul(x, h) }``: calls, ``alpha = 1/6`` being a value).
Both sides share one set of variables: equal names mean equal values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

RuleKind = OneOf["renamed", "special", "unhandled", "bool", "composed"]
Arrow = OneOf["<->", "->", "<-"]
PortRole = OneOf["input", "const", "param", "state"]


@dataclass(frozen=True)
class Span:
    """A region of a rule file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Literal:
    """A number, a string, a list of them, ``true``, ``false``, ``none`` or, in an example, a graph."""

    value: bool | int | float | str | tuple | Subgraph | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Apply:
    """An operator or function applied to arguments.

    ``function`` is one of ``+ - * / neg`` (arithmetic), ``== != < <= > >= in and or not``
    (conditions), or the name of a lens or of a condition function such as ``rank``.
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False)


Expression = Name | Literal | Apply


# --- node patterns -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Port:
    """An input or output in a signature: ``x``, ``b?``, ``xs...``, ``const shape``, ``param W``,
    ``state mean`` or, with a default for when it is absent, ``const value? = 0.0``.

    ``const``: an ONNX input that is an attribute on the SINGA side.  ``param``, ``state``: an
    initializer there becomes a trained parameter, or a state that training does not train.
    """

    name: str
    role: PortRole
    optional: bool
    variadic: bool
    default: Expression | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class AttributePort:
    """An attribute in a signature: ``axis``, ``axes?``, ``axis = -1``, ``axis as a = -1``.

    ``variable`` is the rule's name for its value: ``name`` unless ``as`` renames it.
    ``optional`` without a default: absent is ``none``.
    """

    name: str
    variable: str
    optional: bool
    default: Expression | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Signature:
    """``y, mask? = Dropout(x; ratio = 0.5)``: one operator with all it has.

    ``outputs`` is ``(Port("y", ...),)`` where the text names none.  ``ports`` is None for the bare
    ``renamed ReLU <-> Relu``: all inputs, attributes and outputs in order, by the same names.
    ``operator`` on the ONNX side may carry a domain: ``com.microsoft::Gelu``.
    """

    operator: str
    inputs: tuple[Port, ...] | None
    attributes: tuple[AttributePort, ...]
    outputs: tuple[Port, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Step:
    """One call in a block: ``y = Mul(x, h)``; ``-`` is an absent input (None) or output ("").

    ``arguments`` are names, literals (constants) or, with ``const``, expressions over attributes;
    ``attributes`` maps names to values; what is not listed is at its default.
    """

    outputs: tuple[str, ...]
    operator: str
    arguments: tuple[Expression | None, ...]
    attributes: tuple[tuple[str, Expression], ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Block:
    """Several calls that together are one side; names used and not bound are its inputs."""

    steps: tuple[Step, ...]
    span: Span = field(compare=False)


Side = Signature | Block


@dataclass(frozen=True)
class Subgraph:
    """``graph(i, c; c_out) { c_out = Add(i, c) }``: the value of an attribute that holds a graph."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]


# --- clauses -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Binding:
    """``where gamma = beta``, ``where padding, odd = split_pads(pads)``, ``where flatten = 1``."""

    targets: tuple[str, ...]
    value: Expression
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Require:
    """``require rank(x) == 2 "why"``: the reason shown when the alternative does not apply.

    ``direction`` restricts it: ``require on import``, ``require on export``, or both (None).
    """

    condition: Expression
    message: str
    direction: OneOf["import", "export"] | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Ignore:
    """``ignore seed "why"``: an ONNX attribute or output with no meaning here."""

    name: str
    reason: str
    span: Span = field(compare=False)


Clause = Binding | Require | Ignore


@dataclass(frozen=True)
class Alternative:
    """One arrow with its ONNX side.

    ``opset`` is an inclusive range (last None: up to the newest that onnx knows).  ``producer``:
    only files that this producer wrote (import only).  ``reason`` says why a one-way arrow is.
    """

    arrow: Arrow
    opset: tuple[int, int | None]
    producer: str | None
    side: Side
    clauses: tuple[Clause, ...]
    reason: str | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Rule:
    """``special SoftMax(x; axis) <-> ... <-> ...``; ``clauses`` hold for every alternative.

    ``name`` is the SINGA operator, or the name given to a block on the SINGA side.
    ``prefer`` is the reason why an import takes this rule where another gives the same ONNX node.
    """

    kind: RuleKind
    name: str
    override: bool
    side: Side
    alternatives: tuple[Alternative, ...]
    clauses: tuple[Clause, ...]
    prefer: str | None
    documentation: str
    span: Span = field(compare=False)


# --- examples ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """``given x float32[2, 3] in -1..1`` or ``given x int64[2] = [0, 1]``: a tensor of an example.

    ``low``, ``high`` bound random values; ``value`` fixes them.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | None
    high: float | None
    value: tuple | int | float | bool | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Example:
    """Concrete nodes of both sides, tested both ways (or one way) and on numbers.

    ``opset`` is the inclusive range in which it is tested (both ends, and wherever the ONNX
    schema changes between).
    """

    title: str
    arrow: Arrow
    producer: str | None
    onnx: tuple[Step, ...]
    singa: tuple[Step, ...]
    opset: tuple[int, int | None]
    given: tuple[Given, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class RuleFile:
    """One parsed file."""

    path: str
    text: str = field(repr=False)
    rules: tuple[Rule, ...] = ()
    examples: tuple[Example, ...] = ()
