"""What a command did to each model: the same entries as JSON, as a page, as a table."""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from .errors import TranslationError

STATUSES = ("ok", "failed", "skipped")
VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One model: ``status`` is ok, failed or skipped; ``details`` depend on the command."""

    file: str
    status: str
    message: str = ""
    node: str = ""
    target: str = ""
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    """All entries of one command, and in what surroundings it ran."""

    command: str
    options: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    started: float = field(default_factory=time.time)
    device: str = ""

    @property
    def good(self) -> bool:
        """Whether no model failed."""
        return not any(entry.status == "failed" for entry in self.entries)

    def counts(self) -> dict[str, int]:
        """How many entries there are of each status."""
        found = Counter(entry.status for entry in self.entries)
        return {status: found[status] for status in STATUSES}

    def document(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {
            "format": "sonnx report",
            "version": VERSION,
            "command": self.command,
            "options": self.options,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "seconds": round(time.time() - self.started, 3),
            "device": self.device,
            "software": software(),
            "summary": self.counts(),
            "entries": [asdict(entry) for entry in self.entries],
        }

    def write(self, path: Path) -> None:
        """Write the report; the suffix says as what.  Raises TranslationError."""
        document = self.document()
        if path.suffix == ".html":
            text = _page(document)
        else:
            text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise TranslationError(f"cannot be written: {error.strerror}", file=str(path)) from None


def software() -> dict[str, str]:
    """The versions that a result depends on."""
    found = {"python": platform.python_version()}
    for name in ("sonnx", "onnx", "numpy", "pyopencl", "onnxruntime"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _page(document: dict[str, Any]) -> str:
    import jinja2

    text = (resources.files("sonnx.translator") / "report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = figure
    return environment.from_string(text).render(document)


def figure(value: Any) -> str:
    """A number as a person reads it; anything else as it is."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
