"""Facts about a model or a run, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report import figure
from .output import write_line, write_table

if TYPE_CHECKING:
    from ...runtime.opencl import OpenCLDevice
    from ...runtime.profile import Profile, Timed

SHOWN = 15
"""How many lines a table of a profile has."""


def facts_of_run(
    model: Path, device: OpenCLDevice, results: Mapping[str, np.ndarray], measured: Profile | None
) -> dict[str, Any]:
    """A run's outputs in short and its profile, as JSON holds them."""
    facts: dict[str, Any] = {
        "file": str(model),
        "device": f"{device.name} [{device.platform}]",
        "outputs": [_summary(name, array) for name, array in results.items()],
    }
    if measured is not None:
        facts["profile"] = {
            "first_run_seconds": measured.first,
            "run_seconds": measured.wall,
            "device_seconds": measured.seconds,
            "operators": _gathered(measured, lambda step: step.operator),
            "kernels": _gathered(measured, lambda step: step.kernel),
            "nodes": _gathered(measured, lambda step: step.node),
        }
    return facts


def _summary(name: str, array: np.ndarray) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": name, "type": array.dtype.name, "shape": list(array.shape)}
    if array.size and array.dtype.kind != "c":
        values = array.astype(np.float64)
        facts |= {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
    return facts


def _gathered(measured: Profile, key: Callable[[Timed], str]) -> list[dict[str, Any]]:
    """Launches and seconds by key, the longest first."""
    steps: dict[str, list[float]] = defaultdict(list)
    for step in measured.steps:
        steps[key(step)].append(step.seconds)
    total = measured.seconds or 1.0
    rows = [
        {"name": name, "launches": len(times), "seconds": sum(times), "share": sum(times) / total}
        for name, times in steps.items()
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def show_run(facts: Mapping[str, Any]) -> None:
    """The outputs of a run and, where there is one, its profile."""
    rows = []
    for output in facts["outputs"]:
        numbers = [figure(output[name]) if name in output else "" for name in ("min", "max", "mean")]
        rows.append((output["name"], output["type"], _shape(output["shape"]), *numbers))
    write_table(("output", "type", "shape", "min>", "max>", "mean>"), rows)
    found = facts.get("profile")
    if found is None:
        return
    write_line(
        f"\n{facts['device']}: first run {_ms(found['first_run_seconds'])} ms, then "
        f"{_ms(found['run_seconds'])} ms, of which {_ms(found['device_seconds'])} ms in kernels"
    )
    for what in ("operators", "kernels", "nodes"):
        rows = [
            (row["name"], row["launches"], _ms(row["seconds"]), f"{row['share']:.1%}")
            for row in found[what][:SHOWN]
        ]
        write_line()
        write_table((what.removesuffix("s"), "launches>", "ms>", "share>"), rows)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def _shape(shape: list[Any] | None) -> str:
    if shape is None:
        return "any"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def show_facts(facts: Mapping[str, Any]) -> None:
    """What ``inspect`` finds."""
    shown = [name for name in PLAIN if facts.get(name) not in (None, "", {})]
    rows: list[tuple[str, ...]] = [(name.replace("_", " "), _text(facts[name])) for name in shown]
    write_table(("fact", "value"), rows)
    for what in ("inputs", "outputs"):
        write_line()
        rows = [(info["name"], info["type"] or "any", _shape(info["shape"])) for info in facts[what]]
        write_table((what.removesuffix("s"), "type", "shape"), rows)
    write_line()
    rows = [_operator(name, count, facts) for name, count in facts["operators"].items()]
    write_table(("operator", "nodes>", "FLOPs>", "rule"), rows)
    missing = facts.get("missing", {})
    if "missing" in facts:
        write_line(f"\n{len(missing) or 'no'} operators without a rule")
    for entry in missing.values():
        write_line(f"{entry['nodes']} nodes, first {entry['why']}")


PLAIN = (
    "file", "kind", "name", "producer", "source", "ir_version", "opsets", "bytes", "nodes", "parameters",
    "weights", "states", "weight_bytes", "flops", "nodes_of_unknown_work", "assumed_sizes",
)  # fmt: skip
"""The facts that are shown as they are, in order."""


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    return figure(value)


def _operator(name: str, count: int, facts: Mapping[str, Any]) -> tuple[str, ...]:
    flops = facts.get("flops_by_operator", {}).get(name)
    rules = ", ".join(facts.get("covered", {}).get(name, ()))
    return name, str(count), "" if flops is None else figure(flops), rules
