"""The nine light networks inside the installed onnx package, as jobs for ``check``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from .errors import TranslationError
from .samples import concrete_shape, model_inputs
from .verify import Job, Settings


def light_models() -> list[Path]:
    """The networks' files, by name.  Raises TranslationError where this onnx has none."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    found = sorted(folder.glob("light_*.onnx"))
    if not found:
        raise TranslationError("the installed onnx package holds no networks", file=str(folder))
    return found


def light_jobs(device: str | None) -> list[Job]:
    """Each network with the inputs that its stored outputs belong to, and those outputs."""
    return [Job(path, light_settings(path, device)) for path in light_models()]


def light_settings(path: Path, device: str | None) -> Settings:
    """The inputs of onnx's own test of a network, numbers that rise evenly from 0 to 1, and its outputs."""
    model = onnx.load(str(path))
    inputs = {}
    for value in model_inputs(model):
        shape = concrete_shape(value, {})
        size = int(np.prod(shape))
        inputs[value.name] = (np.arange(size).reshape(shape) / size).astype(np.float32)
    stored = []
    for index in range(len(model.graph.output)):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.with_name(f"{path.stem}_output_{index}.pb").read_bytes())
        stored.append(numpy_helper.to_array(tensor))
    return Settings(device=device, inputs=inputs, stored=tuple(stored))
