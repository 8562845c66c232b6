"""Reading ONNX models: from a path, bytes or a loaded proto, weights left where they are."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from .errors import ModelError
from .language import schemas
from .onnx_graph import Source
from .weights import Weights, map_file
from .wire import WireError, split


def read_model(model: str | Path | bytes | onnx.ModelProto) -> Source:
    """A model and its weights; raises ModelError where it is none."""
    if isinstance(model, onnx.ModelProto):
        return _checked(model, "", Weights())
    if isinstance(model, bytes):
        return _parse(memoryview(model), "", None)
    path = Path(model)
    try:
        content = map_file(path)
    except OSError as error:
        raise ModelError(error.strerror or str(error), file=str(path)) from None
    return _parse(content, str(path), path.parent)


def _parse(content: memoryview, file: str, folder: Path | None) -> Source:
    model = onnx.ModelProto()
    try:
        small, cut = split(content)
        model.ParseFromString(small)
    except (WireError, DecodeError):
        raise ModelError("this is no ONNX model, or it is damaged", file=file) from None
    return _checked(model, file, Weights(content, cut, folder))


def _checked(model: onnx.ModelProto, file: str, weights: Weights) -> Source:
    if not model.HasField("graph"):
        raise ModelError("this is no ONNX model: it holds no graph", file=file)
    opsets = {
        ("" if o.domain in schemas.DEFAULT_DOMAINS else o.domain): o.version for o in model.opset_import
    }
    texts = (model.producer_name, *opsets, *(text for p in model.metadata_props for text in (p.key, p.value)))
    if not all(isinstance(text, str) for text in texts):
        raise ModelError("what the model says of itself is not UTF-8 text", file=file)
    opsets.setdefault("", 1)
    if not 1 <= opsets[""] <= schemas.NEWEST:
        raise ModelError(
            f"the model uses opset {opsets['']}; the installed onnx knows 1 to {schemas.NEWEST}", file=file
        )
    return Source(model, file, weights, opsets)
