"""Suppression of boxes that overlap a better one.

How many remain is known only when the model runs: the boxes are written to memory for the most there
could be, their number is read, and the result is the part that is filled.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import FLOAT32, INT32, INT64
from ..operator import Call, registry
from ..value import Value
from .rows import launch_rows

if TYPE_CHECKING:
    from ..emit import Emit
    from ..specialise import Builder

_ATTRIBUTES = (
    "max_output_boxes_per_class: int = 0, iou_threshold: float = 0.0, score_threshold: float?,"
    " center_point_box: int = 0"
)


def _sizes(call: Call) -> tuple[int, int, int, int]:
    """Images, classes, boxes, and the most boxes that one class of one image may keep."""
    boxes, scores = call.inputs[0], call.inputs[1]
    assert boxes is not None and scores is not None
    if boxes.rank != 3 or scores.rank != 3 or boxes.shape[::2] != (scores.shape[0], 4):
        raise call.fail(
            f"boxes {list(boxes.shape)} and scores {list(scores.shape)}; "
            "expected [batch, boxes, 4] and [batch, classes, boxes]"
        )
    if boxes.shape[1] != scores.shape[2]:
        raise call.fail(f"{boxes.shape[1]} boxes have {scores.shape[2]} scores")
    images, classes, count = scores.shape
    return images, classes, count, max(min(call.a.max_output_boxes_per_class, count), 0)


def _infer_kept(call: Call) -> list[Value]:
    for value in call.present:
        if value.dtype != FLOAT32:
            raise call.fail(f"input is {value.dtype.name}; expected float32")
    images, classes, _, most = _sizes(call)
    return [Value(INT64, (images * classes * most, 3)), Value(INT64, (1,))]


def _lower_kept(call: Call, emit: Emit) -> None:
    boxes, scores = call.inputs[0], call.inputs[1]
    assert boxes is not None and scores is not None
    images, classes, count, most = _sizes(call)
    rows = images * classes
    if not rows * most:
        emit.fill(call.outputs[1], 0)
        return
    ordered, places = emit.temporary(FLOAT32, scores.shape), emit.temporary(INT64, scores.shape)
    kept, counts = emit.temporary(INT32, (rows, most)), emit.temporary(INT32, (rows,))
    emit.operator("TopK", [scores], [ordered, places], k=count)
    lowest = -math.inf if call.a.score_threshold is None else call.a.score_threshold
    defines = {"CENTRE": 1} if call.a.center_point_box else {}
    arguments = [boxes, ordered, places, kept, counts, classes, count, most]
    arguments += [np.float32(call.a.iou_threshold), np.float32(lowest)]
    launch_rows(emit, "detection.cl", "suppress", rows, arguments, {}, defines)
    arguments = [kept, counts, *call.outputs, classes, most]
    launch_rows(emit, "detection.cl", "gather_kept", rows, arguments, {}, defines)


registry.add(
    f"_KeptBoxes(boxes, scores; {_ATTRIBUTES}) -> boxes, count",
    infer=_infer_kept,
    lower=_lower_kept,
)


def _infer_leading(call: Call) -> list[Value]:
    x = call.inputs[0]
    assert x is not None
    return [Value(x.dtype, (call.a.count, *x.shape[1:]))]


registry.add("_Leading(x; count: int) -> y", infer=_infer_leading, view=True)


def _expand_suppression(call: Call, build: Builder) -> list[Value]:
    boxes, count = build("_KeptBoxes", *call.inputs, **vars(call.a))
    return [build("_Leading", boxes, count=int(build.read(count)[0]))]


registry.add(
    f"NonMaxSuppression(boxes, scores; {_ATTRIBUTES}) -> selected_indices",
    expand=_expand_suppression,
)
