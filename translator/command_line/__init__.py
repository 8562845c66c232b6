"""The ``sonnx`` command.  Each module here holds commands; what they need is imported when they run,
so that ``sonnx --help`` is quick."""

from __future__ import annotations

from .app import app, main

__all__ = ["app", "main"]
