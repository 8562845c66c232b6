"""Rule files and the operators they are checked against, whatever the runtime has."""

from __future__ import annotations

from pathlib import Path

import pytest
from sonnx.runtime.operator import Registry

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def operators() -> Registry:
    """The operators of ``operators.txt``: signatures alone."""
    registry = Registry()
    for line in (HERE / "operators.txt").read_text().splitlines():
        registry.add(line)
    return registry
