"""Training gives the numbers of Apache SINGA, step for step, in both modes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from networks import CASES, GOLDEN, array, network, optimizer, states
from sonnx.runtime import device, tensor

TOLERANCE = 1e-5


def _assert_close(actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    assert actual.shape == expected.shape, what
    error = np.abs(actual.astype(np.float64) - expected)
    # Written so that a NaN fails.
    assert bool((error <= TOLERANCE).all()), f"{what}: off by {error.max()}"


@pytest.mark.parametrize("use_graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("case", CASES)
def test_same_numbers(case: str, use_graph: bool, tmp_path: Path) -> None:
    dev = device.create_cuda_gpu()
    x, y = array(case, "x"), array(case, "y")
    tx, ty = tensor.from_numpy(x[0], dev), tensor.from_numpy(y[0], dev)
    net = network(case)
    net.set_optimizer(optimizer(case))
    net.compile([tx], is_train=True, use_graph=use_graph, sequential=False)
    net.set_states(states(case, "initial_states"))
    for step, (batch, classes) in enumerate(zip(x, y, strict=True)):
        tx.copy_from_numpy(batch)
        ty.copy_from_numpy(classes)
        out, loss = net(tx, ty)
        _assert_close(tensor.to_numpy(out), array(case, "logits")[step], f"logits of step {step}")
        _assert_close(
            tensor.to_numpy(loss).reshape(()), array(case, "losses")[step].reshape(()), f"loss {step}"
        )
    final = states(case, "final_states")
    trained = net.get_states()
    assert trained.keys() == final.keys()
    for name, expected in final.items():
        _assert_close(tensor.to_numpy(trained[name]), expected, name)
    net.eval()
    tx.copy_from_numpy(x[0])
    _assert_close(tensor.to_numpy(net(tx)), array(case, "final_eval_logits_x0"), "evaluation")


@pytest.mark.parametrize("case", CASES)
def test_reads_apache_singas_checkpoint(case: str) -> None:
    tx = tensor.from_numpy(array(case, "x")[0])
    net = network(case)
    net.compile([tx], is_train=False)
    auxiliary = net.load_states(str(GOLDEN / case / "final_states.zip"))
    assert list(auxiliary) == ["epoch"]
    _assert_close(tensor.to_numpy(net(tx)), array(case, "final_eval_logits_x0"), "evaluation")


def test_new_tensors_of_the_same_shape_are_read_in_graph_mode() -> None:
    x, y = array("mlp", "x"), array("mlp", "y")
    net = network("mlp")
    net.set_optimizer(optimizer("mlp"))
    net.compile([tensor.from_numpy(x[0])], is_train=True, use_graph=True)
    net.set_states(states("mlp", "initial_states"))
    for step in range(len(x)):
        _, loss = net(tensor.from_numpy(x[step]), tensor.from_numpy(y[step]))
        _assert_close(
            tensor.to_numpy(loss).reshape(()), array("mlp", "losses")[step].reshape(()), f"loss {step}"
        )
