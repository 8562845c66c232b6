"""Translation between SINGA and ONNX.  Names load what they need when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archive import load, save
    from .backend import SingaBackend, SingaRep, prepare
    from .errors import ModelError, RuleError, TranslationError, UnsupportedError
    from .exporter import export_file, export_model
    from .importer import import_model

_HOMES = {
    "ModelError": "errors",
    "RuleError": "errors",
    "SingaBackend": "backend",
    "SingaRep": "backend",
    "TranslationError": "errors",
    "UnsupportedError": "errors",
    "export_file": "exporter",
    "export_model": "exporter",
    "import_model": "importer",
    "load": "archive",
    "prepare": "backend",
    "save": "archive",
}

__all__ = [
    "ModelError",
    "RuleError",
    "SingaBackend",
    "SingaRep",
    "TranslationError",
    "UnsupportedError",
    "export_file",
    "export_model",
    "import_model",
    "load",
    "prepare",
    "save",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
