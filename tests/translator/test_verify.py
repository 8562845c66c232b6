"""``check``: what passes, what fails, and where a difference is said to begin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_models import WRONG_RULE, small, with_weights, write
from sonnx.translator.comparison import Tolerance
from sonnx.translator.demo import light_models, light_settings
from sonnx.translator.files import read_graph, write_graph
from sonnx.translator.report import Entry
from sonnx.translator.verify import Job, Settings, check_all, check_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(small(), tmp_path / "small.onnx")


@pytest.mark.parametrize("against", ["onnxruntime", "reference", None])
def test_a_good_model_passes(model: Path, against: str | None) -> None:
    entry = check_model(model, Settings(against=against))
    assert (entry.status, entry.message) == ("ok", "")
    assert entry.details["against"] == (against or "onnxruntime")
    assert entry.details["returned_nodes"] == "3 of 3"
    assert entry.details["inputs"] == {"x": [2, 4]}
    assert entry.details["rules"] == {"Mul": 1, "ReLU": 1, "Sigmoid": 1}
    assert 0 <= entry.details["relative_error"] < 1e-6
    assert {"import", "run", "export", "run again"} <= entry.details["seconds"].keys()


def test_an_archive_is_checked_too(model: Path, tmp_path: Path) -> None:
    write_graph(read_graph(model), tmp_path / "small.singa")
    entry = check_model(tmp_path / "small.singa", Settings())
    assert (entry.status, entry.message) == ("ok", "")


def test_sizes_and_inputs_that_are_given_are_used(tmp_path: Path) -> None:
    path = write(with_weights(), tmp_path / "w.onnx")
    assert check_model(path, Settings(sizes={"x:0": 5})).details["inputs"] == {"x": [5, 3]}
    given = {"x": np.ones((7, 3), np.float32)}
    assert check_model(path, Settings(inputs=given)).details["inputs"] == {"x": [7, 3]}


def test_the_first_wrong_node_and_its_rule_are_named(model: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.rules").write_text(WRONG_RULE)
    entry = check_model(model, Settings(rules=(str(tmp_path / "wrong.rules"),)))
    assert entry.status == "failed"
    assert "output 'y' of the model has 8 of 8 differ too much" in entry.message
    assert "Sigmoid 'second', by rule Tanh" in entry.message and "wrong.rules:1" in entry.message
    assert entry.details["first_differing_node"].startswith("Sigmoid 'second'")


def test_a_tolerance_of_zero_is_met_by_what_is_exact_only(tmp_path: Path) -> None:
    path = write(with_weights(), tmp_path / "w.onnx")
    assert check_model(path, Settings(tolerance=Tolerance(0.0, 0.0))).status == "ok"


def test_stored_outputs_are_compared_too(tmp_path: Path) -> None:
    path = write(with_weights(), tmp_path / "w.onnx")
    inputs = {"x": np.ones((1, 3), np.float32)}
    right, wrong = np.float32([[0, 1, 2]]), np.float32([[0, 1, 3]])
    assert check_model(path, Settings(inputs=inputs, stored=(right,))).status == "ok"
    entry = check_model(path, Settings(inputs=inputs, stored=(wrong,)))
    assert entry.status == "failed" and "stored output 'y'" in entry.message


def test_what_no_reference_can_run_is_told(tmp_path: Path) -> None:
    model = small()
    model.graph.node[1].op_type = "MatMul"
    model.graph.node[1].input.append("r")
    entry = check_model(write(model, tmp_path / "m.onnx"), Settings())
    assert entry.status == "failed" and "Traceback" not in entry.message


def test_bad_models_fail_with_their_reason_and_stop_no_other(model: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\x08\x07garbage")
    entries = {
        Path(e.file).name: e for e in check_all([Job(bad, Settings()), Job(model, Settings())], processes=2)
    }
    assert entries["bad.onnx"].status == "failed" and entries["bad.onnx"].message
    assert entries["small.onnx"].status == "ok"


@pytest.mark.parametrize("path", light_models(), ids=lambda path: path.stem)
def test_the_light_networks_pass_with_their_stored_outputs(path: Path) -> None:
    entry: Entry = check_model(path, light_settings(path, None))
    assert (entry.status, entry.message) == ("ok", "")
    same, _, nodes = entry.details["returned_nodes"].partition(" of ")
    assert same == nodes
