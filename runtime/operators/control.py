"""Control flow: what these operators take; ``runtime.specialise`` walks into their graphs itself."""

from __future__ import annotations

from ..operator import registry

registry.add("If(cond; then_branch: graph, else_branch: graph) -> outputs...")
