"""Files that Apache SINGA wrote: read, run as it computed them, and written again for others to read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from sonnx.runtime.errors import RuntimeFault
from sonnx.translator import SingaRep, export_model, import_model

GOLDEN = Path(__file__).parent / "golden"
MANIFEST = json.loads((GOLDEN / "manifest.json").read_text())["cases"]

IN_TRAINING = {"ops_test_onnx/batch_norm", "ops_test_onnx/dropout", "ops_extra/dropout_train"}
"""Computed in training, written as evaluation: the file means something else than what was computed."""

REFUSED = {
    "ops_test_onnx/gather": "index 3 is outside",
    "ops_test_onnx/tile": "repeats",
    "ops_test_onnx/unsqueeze": "axis 5 is outside",
    "ops_extra/input_order_swapped_shapes": "has shape",
}
"""Files that ONNX gives no meaning: what their nodes ask for is out of range, or shapes are swapped."""

WITHOUT_KERNEL = {"ops_extra/onehot_ax0", "ops_extra/onehot_m1"}
"""OneHot of types that onnxruntime has no kernel for: the reference evaluator computes them."""


def _inputs(case: str) -> list[np.ndarray]:
    return [np.load(path) for path in sorted((GOLDEN / case).glob("input_*.npy"))]


def _reference(model: onnx.ModelProto, case: str, feed: dict[str, np.ndarray]) -> np.ndarray:
    if case in WITHOUT_KERNEL:
        return np.asarray(ReferenceEvaluator(model).run(None, feed)[0])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def _assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=1e-6)


def _is_right(case: str) -> bool:
    """Whether onnxruntime computes from the file what Apache SINGA computed (or cannot read it, the
    types being SINGA's, and Apache SINGA reads it back as it was)."""
    entry = MANIFEST[case]
    told = entry["onnxruntime"]["ort"]
    return told == "same" or (told.startswith("ERROR") and entry["singa_reimport"] == "same")


@pytest.mark.parametrize(
    "case", sorted(case for case in MANIFEST if case not in REFUSED and not case.startswith("train/"))
)
def test_a_file_of_apache_singa(case: str) -> None:
    graph = import_model(str(GOLDEN / case / "model.onnx"))
    arrays = _inputs(case)
    (computed,) = SingaRep(graph).run(arrays)
    if _is_right(case):
        _assert_close(computed, np.load(GOLDEN / case / "output_0.npy"))
    written = export_model(graph)
    onnx.checker.check_model(written, full_check=True)
    feed = dict(zip((info.name for info in written.graph.input), arrays, strict=True))
    _assert_close(computed, _reference(written, case, feed))


@pytest.mark.parametrize("case", sorted(IN_TRAINING))
def test_what_was_computed_in_training_is_not_claimed(case: str) -> None:
    assert not _is_right(case)


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_file_without_a_meaning_is_refused(case: str) -> None:
    graph = import_model(str(GOLDEN / case / "model.onnx"))
    with pytest.raises(RuntimeFault, match=REFUSED[case]):
        SingaRep(graph).run(_inputs(case))
