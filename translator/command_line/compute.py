"""Commands about one model or the machine: run, inspect, devices."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Device, Dimensions, InputFiles, Json, Model, Rules, Seed
from .output import finish, note, write_json, write_line, write_table, wrong_usage

if TYPE_CHECKING:
    import numpy as np

    from ...runtime.graph import Graph
    from ...runtime.opencl import OpenCLDevice
    from ...runtime.profile import Profile


def run(
    model: Model,
    inputs: InputFiles = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.npz", dir_okay=False)] = None,
    random: Annotated[bool, typer.Option("--random", help="Random inputs for those not given.")] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Time by operator and by kernel.")] = False,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Runs that a profile is of.")] = 10,
    seed: Seed = 0,
    dimensions: Dimensions = None,
    rules: Rules = None,
    device: Device = None,
    json: Json = False,
) -> None:
    """Run a model on OpenCL.

    Example: sonnx run model.onnx -i x=image.npy -o result.npz --profile
    """
    from ...runtime import opencl
    from ..files import read_graph
    from .inputs import named, random_feeds, read_inputs, read_sizes, write_arrays
    from .showing import facts_of_run, show_run

    if output is not None and output.suffix != ".npz":
        wrong_usage(f"-o {output}: results are written as .npz")
    graph = read_graph(model, rules or ())
    given = named(graph, read_inputs(inputs or ()))
    sizes = read_sizes(dimensions or ())
    chosen = opencl.choose(device)
    feeds = random_feeds(model, graph, given, sizes, seed) if random else [given]
    results, measured = _compute(graph, chosen, feeds, repeat if profile else 0)
    if output is not None:
        for name in write_arrays(output, results):
            note(f"{name} is written as float32, which holds its values: numpy files have no such type")
    facts = facts_of_run(model, chosen, results, measured)
    if json:
        write_json(facts)
    else:
        show_run(facts)


def _compute(
    graph: Graph, device: OpenCLDevice, feeds: Iterable[dict[str, np.ndarray]], repeat: int
) -> tuple[dict[str, np.ndarray], Profile | None]:
    """The results of the first inputs, of those to be tried, that the graph takes."""
    from ...runtime.errors import RuntimeFault
    from ...runtime.executor import Executor
    from ...runtime.profile import profile

    fault: RuntimeFault | None = None
    for inputs in feeds:
        try:
            if repeat:
                measured, results = profile(graph, device, inputs, repeat)
                return results, measured
            return Executor(graph, device).run(inputs), None
        except RuntimeFault as error:
            fault = fault or error
    assert fault is not None
    raise fault


def inspect(model: Model, rules: Rules = None, dimensions: Dimensions = None, json: Json = False) -> None:
    """Show what a model is: versions, inputs, outputs, sizes, work, operators and their rules.

    Example: sonnx inspect model.onnx
    """
    from ..inspection import inspect as facts_of
    from .inputs import read_sizes
    from .showing import show_facts

    facts = facts_of(model, rules or (), read_sizes(dimensions or ()))
    if json:
        write_json(facts)
    else:
        show_facts(facts)


def devices(json: Json = False) -> None:
    """List the OpenCL devices, which one is chosen and why.

    Example: sonnx devices
    """
    from ...runtime import opencl

    found = opencl.candidates()
    usable = [entry for entry in found if entry.fault is None]
    chosen = opencl.choose() if usable else None
    if json:
        facts = [e.describe() | {"chosen": e is chosen, "reason": opencl.reason(e)} for e in found]
        write_json({"devices": facts, "chosen": chosen.index if chosen else None})
        finish(chosen is not None)
    rows = [
        (
            entry.index,
            "*" if entry is chosen else "",
            entry.kind,
            entry.name,
            entry.platform,
            entry.device.driver_version,
            entry.device.max_compute_units,
            f"{entry.device.global_mem_size / 2**30:.1f}",
            " ".join(bits for bits, has in (("64", entry.has_fp64), ("16", entry.has_fp16)) if has),
            opencl.reason(entry),
        )
        for entry in found
    ]
    columns = (
        "index>", "chosen", "type", "device", "platform", "driver", "units>", "GiB>", "floats", "why",
    )  # fmt: skip
    write_table(columns, rows)
    if chosen is None:
        write_line(opencl.INSTALL)
    finish(chosen is not None)
