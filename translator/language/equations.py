"""Expressions and bindings as functions: evaluated one way, inverted the other.

``arrange`` takes what is known in one direction and puts the bindings into an order in which each
can be used: forwards (the right side is known), backwards (the left side is, and the right side has
an inverse), or as a test (both are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...runtime.dtypes import by_name
from ...runtime.graph import Ref
from .conditions import CONSTANTS, TENSOR_CONDITIONS, VALUE_CONDITIONS, Context
from .lenses import LENSES, Lens
from .syntax import Apply, Binding, Expression, Literal, Name
from .values import Mismatch, Unknown, same, show, tidy

Environment = dict[str, Any]
"""The variables of one application of a rule: attribute values, names of tensors (None: absent),
tuples of names for variadic ones."""

Evaluator = Callable[[Environment, Context], Any]
Solver = Callable[[Any, Environment, Context], None]
Action = Callable[[Environment, Context], None]

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "neg": lambda a: -a,
}
_COMPARISON: dict[str, Callable[[Any, Any], bool]] = {
    "==": same,
    "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: any(same(a, item) for item in b),
}
_INVERSE: dict[tuple[str, int], Callable[[Any, Any], Any]] = {
    ("+", 0): lambda result, other: result - other,
    ("+", 1): lambda result, other: result - other,
    ("-", 0): lambda result, other: result + other,
    ("-", 1): lambda result, other: other - result,
    ("*", 0): lambda result, other: result / other,
    ("*", 1): lambda result, other: result / other,
    ("/", 0): lambda result, other: result * other,
    ("/", 1): lambda result, other: other / result,
}
"""``(operator, place of the unknown)``: the unknown from the result and the other operand."""


def variables(expression: Expression) -> set[str]:
    """The names that an expression reads."""
    if isinstance(expression, Name):
        return {expression.name}
    if isinstance(expression, Apply):
        return set().union(*(variables(argument) for argument in expression.arguments))
    return set()


def evaluator(expression: Expression, tensors: frozenset[str]) -> Evaluator:
    """A function that computes an expression; ``tensors`` are the variables that name tensors.

    The function raises Mismatch where the expression has no value.
    """
    if isinstance(expression, Literal):
        value = expression.value
        return lambda env, context: value
    if isinstance(expression, Name):
        return _variable(expression.name)
    arguments = [evaluator(argument, tensors) for argument in expression.arguments]
    name = expression.function
    if name in ("and", "or", "not"):
        return _logic(name, arguments)
    if name in _COMPARISON:
        return _comparison(_COMPARISON[name], *arguments)
    if name in _ARITHMETIC:
        return _arithmetic(name, _ARITHMETIC[name], arguments)
    if name == "list":
        return lambda env, context: tuple(a(env, context) for a in arguments)
    first = expression.arguments[0] if expression.arguments else None
    about_tensor = isinstance(first, Name) and first.name in tensors
    if name in TENSOR_CONDITIONS and (about_tensor or name not in LENSES):
        function = TENSOR_CONDITIONS[name]
        return lambda env, context: function(context, *(a(env, context) for a in arguments))
    if name in VALUE_CONDITIONS:
        test = VALUE_CONDITIONS[name]
        return lambda env, context: test(*(a(env, context) for a in arguments))
    if name in LENSES:
        return _lens_get(LENSES[name], arguments)
    dtype = by_name(name)
    return lambda env, context: np.array(arguments[0](env, context), dtype)


def _variable(name: str) -> Evaluator:
    if name not in CONSTANTS:
        return lambda env, context: env[name]
    constant = CONSTANTS[name]
    return lambda env, context: env.get(name, constant)


def _logic(name: str, arguments: list[Evaluator]) -> Evaluator:
    if name == "not":
        return lambda env, context: not arguments[0](env, context)
    if name == "and":
        return lambda env, context: all(a(env, context) for a in arguments)

    def either(env: Environment, context: Context) -> bool:
        doubt: Unknown | None = None
        for argument in arguments:
            try:
                if argument(env, context):
                    return True
            except Unknown as unknown:
                doubt = unknown
        if doubt:
            raise doubt
        return False

    return either


def _comparison(compare: Callable[[Any, Any], bool], left: Evaluator, right: Evaluator) -> Evaluator:
    def run(env: Environment, context: Context) -> bool:
        a, b = left(env, context), right(env, context)
        try:
            return compare(a, b)
        except TypeError:
            raise Mismatch(f"{show(a)} and {show(b)} cannot be compared") from None

    return run


def _arithmetic(name: str, function: Callable[..., Any], arguments: list[Evaluator]) -> Evaluator:
    def run(env: Environment, context: Context) -> Any:
        values = [argument(env, context) for argument in arguments]
        return _calculate(name, function, *values)

    return run


def _calculate(name: str, function: Callable[..., Any], *values: Any) -> Any:
    """A number computed from numbers; an absent one makes the result absent."""
    if any(value is None for value in values):
        return None
    if not all(isinstance(value, (int, float)) for value in values):
        raise Mismatch(f"{', '.join(map(show, values))}: no number to compute {name!r} with")
    try:
        return tidy(function(*values))
    except (ZeroDivisionError, OverflowError) as error:
        raise Mismatch(f"{', '.join(map(show, values))}: {error}") from None


def _lens_get(lens: Lens, arguments: list[Evaluator]) -> Evaluator:
    def run(env: Environment, context: Context) -> Any:
        values = [argument(env, context) for argument in arguments]
        if any(isinstance(value, Ref) for value in values):
            return _through(lens, values[: lens.sources])
        results = lens.get(*values)
        return results[0] if lens.targets == 1 else results

    return run


def _through(lens: Lens, values: Sequence[Any]) -> Any:
    """A value computed at run time, where the lens lets it pass."""
    if lens.refs and len(values) == 1:
        return values[0]
    ref = next(value for value in values if isinstance(value, Ref))
    raise Mismatch(f"{lens.name} needs a constant, and {ref.name!r} is computed when the model runs")


def solver(expression: Expression, unknown: frozenset[str], tensors: frozenset[str]) -> Solver | None:
    """A function that binds the ``unknown`` variables so that the expression has a given value.

    None where the expression has no inverse in them.
    """
    if isinstance(expression, Name) and expression.name in unknown:
        return _assign(expression.name)
    if not variables(expression) & unknown:
        return _check(evaluator(expression, tensors))
    if isinstance(expression, Apply) and expression.function in LENSES:
        return _solve_lens(expression, LENSES[expression.function], unknown, tensors)
    if isinstance(expression, Apply) and expression.function == "list":
        return _solve_list(expression, unknown, tensors)
    if isinstance(expression, Apply) and expression.function in _ARITHMETIC:
        return _solve_arithmetic(expression, unknown, tensors)
    return None


def _assign(name: str) -> Solver:
    def run(value: Any, env: Environment, context: Context) -> None:
        if name in env and not same(env[name], value):
            raise Mismatch(f"{name} is {show(env[name])} in one place and {show(value)} in another")
        env[name] = value

    return run


def _check(expected: Evaluator) -> Solver:
    def run(value: Any, env: Environment, context: Context) -> None:
        wanted = expected(env, context)
        if not same(wanted, value):
            raise Mismatch(f"it is {show(value)} where this rule has {show(wanted)}")

    return run


def _solve_lens(
    expression: Apply, lens: Lens, unknown: frozenset[str], tensors: frozenset[str]
) -> Solver | None:
    sources, context_arguments = expression.arguments[: lens.sources], expression.arguments[lens.sources :]
    if any(variables(argument) & unknown for argument in context_arguments):
        return None
    inner = [solver(source, unknown, tensors) for source in sources]
    solvers = [solve for solve in inner if solve is not None]
    if len(solvers) < len(inner):
        return None
    contexts = [evaluator(argument, tensors) for argument in context_arguments]

    def run(value: Any, env: Environment, context: Context) -> None:
        values = [value] if lens.targets == 1 else list(value)
        if any(isinstance(item, Ref) for item in values):
            solvers[0](_through(lens, values), env, context)
            return
        results = lens.put(*values, *(evaluate(env, context) for evaluate in contexts))
        for solve, result in zip(solvers, results, strict=True):
            solve(result, env, context)

    return run


def _solve_list(expression: Apply, unknown: frozenset[str], tensors: frozenset[str]) -> Solver | None:
    inner = [solver(item, unknown, tensors) for item in expression.arguments]
    solvers = [solve for solve in inner if solve is not None]
    if len(solvers) < len(inner):
        return None

    def run(value: Any, env: Environment, context: Context) -> None:
        if not isinstance(value, tuple) or len(value) != len(solvers):
            raise Mismatch(f"{show(value)} is no list of {len(solvers)}")
        for solve, item in zip(solvers, value, strict=True):
            solve(item, env, context)

    return run


def _solve_arithmetic(expression: Apply, unknown: frozenset[str], tensors: frozenset[str]) -> Solver | None:
    places = [i for i, argument in enumerate(expression.arguments) if variables(argument) & unknown]
    if len(places) != 1:
        return None
    place, name = places[0], expression.function
    inner = solver(expression.arguments[place], unknown, tensors)
    if inner is None:
        return None
    if name == "neg":
        return lambda value, env, context: inner(_calculate(name, lambda v: -v, value), env, context)
    inverse = _INVERSE[name, place]
    other = evaluator(expression.arguments[1 - place], tensors)

    def run(value: Any, env: Environment, context: Context) -> None:
        inner(_calculate(name, inverse, value, other(env, context)), env, context)

    return run


def arrange(
    known: Iterable[str], bindings: Sequence[Binding], tensors: frozenset[str]
) -> tuple[list[Action], set[str], list[Binding]]:
    """Order bindings so that each can be used once those before it were.

    Returns the actions, the names known after them, and the bindings that cannot be used.
    """
    have, pending, actions = set(known), list(bindings), []
    while pending:
        for binding in pending:
            action = _use(binding, have, tensors)
            if action is not None:
                actions.append(action)
                have.update(binding.targets, variables(binding.value))
                pending.remove(binding)
                break
        else:
            break
    return actions, have, pending


def _use(binding: Binding, have: set[str], tensors: frozenset[str]) -> Action | None:
    missing = frozenset(variables(binding.value) - have - CONSTANTS.keys())
    if not missing:
        return _forwards(binding, evaluator(binding.value, tensors))
    if all(target in have for target in binding.targets):
        solve = solver(binding.value, missing, tensors)
        return None if solve is None else _backwards(binding.targets, solve)
    return None


def _forwards(binding: Binding, evaluate: Evaluator) -> Action:
    assigns = [(target, _assign(target)) for target in binding.targets]

    def run(env: Environment, context: Context) -> None:
        value = evaluate(env, context)
        values = value if len(assigns) > 1 else (value,)
        for (target, assign), item in zip(assigns, values, strict=True):
            if target in env and not same(env[target], item):
                raise Mismatch(f"{target} is {show(env[target])} where this rule has {show(item)}")
            assign(item, env, context)

    return run


def _backwards(targets: tuple[str, ...], solve: Solver) -> Action:
    if len(targets) == 1:
        return lambda env, context: solve(env[targets[0]], env, context)
    return lambda env, context: solve(tuple(env[target] for target in targets), env, context)
