"""Commands about one model or the machine: run, inspect, devices."""

from __future__ import annotations

from .options import Json
from .output import finish, write_json, write_line, write_table


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
