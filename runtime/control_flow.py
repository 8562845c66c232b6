"""If, Loop and Scan: a plan walks into their graphs, so that all it holds is a flat list of calls.

A branch or an iteration is walked like the nodes around it, under unique names.  After each
iteration of a loop comes a node of this module's own (``Loop/next``, ``Scan/next``), which holds
where the loop stands and starts the next one; a walk that is copied copies that with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import OperatorError
from .graph import Graph, Node
from .value import Value

if TYPE_CHECKING:
    from .specialise import Builder, Walk


class ReadRequest(Exception):
    """The walk needs values that only a run can give."""

    def __init__(self, values: list[Value]) -> None:
        super().__init__("values must be read from the device")
        self.values = values


@dataclass
class Frame:
    """A list of nodes being walked; ``rename`` maps a subgraph's own names to unique ones."""

    nodes: Sequence[Node]
    position: int = 0
    prefix: str = ""
    rename: dict[str, str] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.rename.get(name, name)


def _known(value: Value | None) -> np.ndarray | None:
    """A value's content, asking for a run where only the device has it."""
    if value is not None and value.host is None:
        raise ReadRequest([value])
    return None if value is None else value.host


def enter(walk: Walk, frame: Frame, graph: Graph, bound: dict[str, str], after: Node | None = None) -> Frame:
    """Walk a subgraph next, then ``after``.

    ``bound`` gives the graph's inputs the names of values; its own names become unique, and what
    it captures keeps the name that ``frame`` knows.  Returns the subgraph's frame.
    """
    walk.inlined += 1
    prefix = f"{frame.prefix}{walk.inlined}/"
    own = set(graph.states) | {name for node in graph.nodes for name in node.outputs if name}
    rename = {**frame.rename, **{name: prefix + name for name in own}, **bound}
    for name, state in graph.states.items():
        walk.environment[rename[name]] = Value(
            state.array.dtype, state.array.shape, state.array, rename[name]
        )
    if after is not None:
        walk.frames.append(Frame([after]))
    inner = Frame(graph.nodes, 0, prefix, rename)
    walk.frames.append(inner)
    return inner


# --- If ----------------------------------------------------------------------------------------


def visit_if(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """Walk the branch that the condition takes."""
    condition = _known(walk.value(frame, node, node.inputs[0]))
    assert condition is not None
    branch = node.attributes["then_branch" if condition.reshape(-1)[0] else "else_branch"]
    finish = Node("If/end", [], [], {"outputs": tuple(map(frame.name, node.outputs))})
    inner = enter(walk, frame, branch, {}, finish)
    finish.inputs = [inner.name(info.name) for info in branch.outputs]


def visit_if_end(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """Give the branch's results the names that the graph around it knows."""
    _publish(walk, node.attributes["outputs"], [walk.environment[name] for name in node.inputs])


def _publish(walk: Walk, names: Sequence[str], values: Sequence[Value]) -> None:
    for name, value in zip(names, values, strict=False):
        if name:
            walk.environment[name] = value


# --- Loop and Scan -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """Where a loop stands before iteration ``number``: ``carried`` name the values that go round,
    ``gathered`` those that each output gathers.  ``limit`` is the number of iterations at most."""

    node: Node
    frame: Frame
    number: int
    limit: int | None
    carried: tuple[str, ...]
    gathered: tuple[tuple[str, ...], ...]

    @property
    def body(self) -> Graph:
        return self.node.attributes["body"]

    def alive(self) -> list[str]:
        """The names that later iterations or the end still read."""
        captured = [self.frame.name(name) for name in self.body.captures()]
        inputs = [self.frame.name(name) for name in self.node.inputs if name]
        return [*self.carried, *(name for names in self.gathered for name in names), *captured, *inputs]


def _carried(walk: Walk, frame: Frame, node: Node, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        walk.value(frame, node, name)
    return tuple(frame.name(name) for name in names)


def visit_loop(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """``Loop(M?, cond?, v...; body)``: the body takes (iteration, condition, v...) and gives
    (condition, v..., gathered...)."""
    first = [walk.value(frame, node, name) if name else None for name in (*node.inputs, "", "")[:2]]
    limit, condition = (_known(value) for value in first)
    carried = _carried(walk, frame, node, node.inputs[2:])
    gathered = len(node.attributes["body"].outputs) - 1 - len(carried)
    top = None if limit is None else int(limit.reshape(-1)[0])
    run = _Run(node, frame, 0, top, carried, ((),) * gathered)
    _loop(walk, build, run, condition is None or bool(condition.reshape(-1)[0]))


def _loop(walk: Walk, build: Builder, run: _Run, go: bool) -> None:
    """Walk one more iteration, or end the loop."""
    if not go or (run.limit is not None and run.number >= run.limit):
        _end(walk, build, run)
        return
    body, marker = run.body, f"{run.frame.prefix}{walk.inlined}/iteration"
    walk.environment[marker] = Value(np.int64, (), np.array(run.number, np.int64), marker)
    walk.environment[marker + "/go"] = Value(np.bool_, (), np.array(True), marker + "/go")
    names = [info.name for info in body.inputs]
    bound = dict(zip(names, (marker, marker + "/go", *run.carried), strict=True))
    _iterate(walk, run, bound, "Loop/next", 1)


def _iterate(walk: Walk, run: _Run, bound: dict[str, str], then: str, skipped: int) -> None:
    """Walk the body, then ``then``; ``skipped`` of its outputs come before those that go round."""
    after = Node(then, [], [])
    inner = enter(walk, run.frame, run.body, bound, after)
    results = [inner.name(info.name) for info in run.body.outputs]
    split = skipped + len(run.carried)
    gathered = tuple((*names, result) for names, result in zip(run.gathered, results[split:], strict=True))
    following = _Run(run.node, run.frame, run.number + 1, run.limit, tuple(results[skipped:split]), gathered)
    after.inputs = [*results[:skipped], *following.alive()]
    after.attributes = {"run": following}


def visit_loop_next(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """After an iteration: its first output says whether there is another."""
    run: _Run = node.attributes["run"]
    if run.limit is not None and run.number >= run.limit:
        _end(walk, build, run)
        return
    condition = _known(walk.environment[node.inputs[0]])
    assert condition is not None
    _loop(walk, build, run, bool(condition.reshape(-1)[0]))


def visit_scan(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """``Scan(state..., sequence...; body)``: the body takes (state..., slice...) and gives
    (state..., gathered...), once for each slice."""
    count = int(node.attributes["num_scan_inputs"])
    states = len(node.inputs) - count
    carried = _carried(walk, frame, node, node.inputs[:states])
    lengths = {
        value.shape[_entry(node, "scan_input_axes", place, value.rank)]
        for place, value in enumerate(walk.value(frame, node, name) for name in node.inputs[states:])
    }
    if len(lengths) != 1:
        raise OperatorError(f"{node.describe()}: its sequences have lengths {sorted(lengths)}")
    gathered = len(node.attributes["body"].outputs) - states
    _scan(walk, build, _Run(node, frame, 0, lengths.pop(), carried, ((),) * gathered))


def _entry(node: Node, attribute: str, place: int, rank: int | None = None) -> int:
    """One item of a list attribute that is 0 throughout where it is absent; an axis where a rank
    is given."""
    values = node.attributes.get(attribute)
    value = int(values[place]) if values else 0
    if rank is None:
        return value
    if not -rank <= value < rank:
        raise OperatorError(f"{node.describe()}: axis {value} is outside of rank {rank}")
    return value % rank


def _scan(walk: Walk, build: Builder, run: _Run) -> None:
    assert run.limit is not None
    if run.number >= run.limit:
        _end(walk, build, run)
        return
    node, states = run.node, len(run.carried)
    bound = dict(zip((info.name for info in run.body.inputs), run.carried, strict=False))
    for place, name in enumerate(node.inputs[states:]):
        value = walk.value(run.frame, node, name)
        backwards = _entry(node, "scan_input_directions", place)
        index = run.limit - 1 - run.number if backwards else run.number
        axis = _entry(node, "scan_input_axes", place, value.rank)
        slice_name = f"{run.frame.prefix}{walk.inlined}/slice {place}"
        walk.environment[slice_name] = build("Gather", value, build.constant(index, np.int64), axis=axis)
        bound[run.body.inputs[states + place].name] = slice_name
    _iterate(walk, run, bound, "Scan/next", 0)


def visit_scan_next(walk: Walk, frame: Frame, node: Node, build: Builder) -> None:
    """After an iteration: the next, if any."""
    _scan(walk, build, node.attributes["run"])


def _end(walk: Walk, build: Builder, run: _Run) -> None:
    """Give the loop's outputs their values."""
    results = [walk.environment[name] for name in run.carried]
    for place, names in enumerate(run.gathered):
        results.append(_gather(walk, build, run, place, names))
    _publish(walk, [run.frame.name(name) if name else "" for name in run.node.outputs], results)


def _gather(walk: Walk, build: Builder, run: _Run, place: int, names: Sequence[str]) -> Value:
    """What the iterations gave for one output, along a new axis."""
    if not names:
        info = run.body.outputs[len(run.body.outputs) - len(run.gathered) + place]
        if info.dtype is None:
            raise OperatorError(f"{run.node.describe()}: the type of {info.name!r} is not known")
        sizes = [size if isinstance(size, int) else 0 for size in info.shape or ()]
        return build.constant(np.zeros((0, *sizes), info.dtype))
    values = [walk.environment[name] for name in names]
    axis = _entry(run.node, "scan_output_axes", place, values[0].rank + 1)
    parts = [build("Unsqueeze", value, axis=(axis,)) for value in values]
    if _entry(run.node, "scan_output_directions", place):
        parts.reverse()
    return build("Concat", *parts, axis=axis)


Visit = Callable[["Walk", Frame, Node, "Builder"], Any]
VISITS: dict[str, Visit] = {
    "If": visit_if,
    "If/end": visit_if_end,
    "Loop": visit_loop,
    "Loop/next": visit_loop_next,
    "Scan": visit_scan,
    "Scan/next": visit_scan_next,
}
"""What a walk does at a node that holds graphs, and at those that follow one."""
