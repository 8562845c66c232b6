"""Control flow: what these operators take.  A plan walks into their graphs (``control_flow``)."""

from __future__ import annotations

from ..operator import registry

registry.add("If(cond; then_branch: graph, else_branch: graph) -> outputs...")
registry.add("Loop(M?, cond?, v_initial...; body: graph) -> v_final_and_scan_outputs...")
registry.add(
    "Scan(initial_state_and_scan_inputs...; body: graph, num_scan_inputs: int, scan_input_axes: ints?,"
    " scan_input_directions: ints?, scan_output_axes: ints?, scan_output_directions: ints?)"
    " -> final_state_and_scan_outputs..."
)
