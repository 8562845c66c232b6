"""Translation between SINGA and ONNX.  Names load what they need when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archive import load, save
    from .backend import SingaBackend, SingaRep, prepare, run_model, run_node, supports_device
    from .errors import ModelError, RuleError, TranslationError, UnsupportedError
    from .exporter import export_file, export_model
    from .frontend import SingaFrontend, to_onnx
    from .importer import import_model
    from .model import SONNXModel

_HOMES = {
    "ModelError": "errors",
    "RuleError": "errors",
    "SONNXModel": "model",
    "SingaBackend": "backend",
    "SingaFrontend": "frontend",
    "SingaRep": "backend",
    "TranslationError": "errors",
    "UnsupportedError": "errors",
    "export_file": "exporter",
    "export_model": "exporter",
    "import_model": "importer",
    "load": "archive",
    "prepare": "backend",
    "run_model": "backend",
    "run_node": "backend",
    "save": "archive",
    "supports_device": "backend",
    "to_onnx": "frontend",
}

__all__ = [
    "ModelError",
    "RuleError",
    "SONNXModel",
    "SingaBackend",
    "SingaFrontend",
    "SingaRep",
    "TranslationError",
    "UnsupportedError",
    "export_file",
    "export_model",
    "import_model",
    "load",
    "prepare",
    "run_model",
    "run_node",
    "save",
    "supports_device",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
