"""SONNXModel and to_onnx: an ONNX model trained on, extended and written again."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from networks import CASES, GOLDEN, array, network, optimizer, states
from sonnx import translator as sonnx
from sonnx.runtime import autograd, layer, model, tensor
from sonnx.runtime.errors import InputError
from sonnx.translator import TranslationError

TOLERANCE = 1e-5


class Classifier(sonnx.SONNXModel):
    """An imported network with a training step."""

    def forward(self, *xs: Any) -> Any:
        return super().forward(*xs)[0]

    def train_one_batch(self, x: Any, y: Any) -> Any:
        out = self.forward(x)
        loss = autograd.softmax_cross_entropy(out, y)
        self.optimizer(loss)
        return out, loss


class Extended(Classifier):
    """The network without its last layers, and a new one."""

    def __init__(self, proto: Any, classes: int) -> None:
        super().__init__(proto)
        self.added = layer.Linear(classes)

    def forward(self, *xs: Any) -> Any:
        return self.added(sonnx.SONNXModel.forward(self, *xs, last_layers=-2)[0])


@pytest.fixture
def recording():
    before, autograd.training = autograd.training, True
    yield
    autograd.training = before


def _session(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(proto, full_check=True)
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def _assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.shape == expected.shape
    error = np.abs(actual.astype(np.float64) - expected)
    assert bool((error <= TOLERANCE).all()), error.max()


@pytest.mark.parametrize("use_graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("case", CASES)
def test_an_imported_model_trains_as_apache_singas(case: str, use_graph: bool) -> None:
    x, y = array(case, "x"), array(case, "y")
    net = Classifier(str(GOLDEN / case / "initial.onnx"))
    tx, ty = tensor.from_numpy(x[0]), tensor.from_numpy(y[0])
    net.set_optimizer(optimizer(case))
    net.compile([tx], is_train=True, use_graph=use_graph)
    for step in range(len(x)):
        tx.copy_from_numpy(x[step])
        ty.copy_from_numpy(y[step])
        out, loss = net(tx, ty)
        _assert_close(tensor.to_numpy(out), array(case, "logits")[step])
        _assert_close(tensor.to_numpy(loss).reshape(()), array(case, "losses")[step].reshape(()))
    net.eval()
    tx.copy_from_numpy(x[0])
    _assert_close(tensor.to_numpy(net(tx)), array(case, "final_eval_logits_x0"))
    expected = states(case, "final_states").values()
    assert sorted(t.shape for t in net.get_states().values()) == sorted(tuple(a.shape) for a in expected)


@pytest.mark.parametrize("opset", [9, 13, 21, None])
@pytest.mark.parametrize("case", CASES)
def test_a_written_model_gives_the_same_numbers(case: str, opset: int | None, recording: None) -> None:
    x = array(case, "x")[0]
    net, tx = network(case), tensor.from_numpy(x)
    net.compile([tx], is_train=True)
    net.set_states(states(case, "initial_states"))
    written = sonnx.to_onnx([tx], [net.forward(tx)], opset=opset, dynamic_batch=True)
    assert {t.name for t in written.graph.initializer} >= set(net.get_states())
    net.eval()
    session = _session(written)
    for batch in (x, x[:3]):
        actual = session.run(None, {session.get_inputs()[0].name: batch})[0]
        _assert_close(actual, tensor.to_numpy(net(tensor.from_numpy(batch))))


def test_an_extended_model_trains_and_is_written(recording: None) -> None:
    x, y = array("mlp", "x")[0], array("mlp", "y")[0]
    net = Extended(str(GOLDEN / "mlp" / "initial.onnx"), 7)
    tx, ty = tensor.from_numpy(x), tensor.from_numpy(y)
    net.set_optimizer(optimizer("mlp"))
    net.compile([tx], is_train=True, use_graph=False)
    assert {"added.W", "added.b"} <= set(net.get_params())
    losses = [float(tensor.to_numpy(net(tx, ty)[1]).reshape(())) for _ in range(20)]
    assert losses[-1] < losses[0]
    session = _session(sonnx.to_onnx([tx], [net.forward(tx)]))
    net.eval()
    _assert_close(
        session.run(None, {session.get_inputs()[0].name: x})[0], tensor.to_numpy(net(tensor.from_numpy(x)))
    )


def test_inputs_and_outputs_keep_their_order(recording: None) -> None:
    dice = np.random.default_rng(3)
    arrays = [dice.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (4, 2))]
    a, b = map(tensor.from_numpy, arrays)
    product = autograd.matmul(b, a)
    where = autograd.where(
        product, autograd.negative(product), autograd.greater(product, autograd.abs(product))
    )
    outputs = [where, autograd.dropout(product, 0.25), product]
    session = _session(sonnx.to_onnx([a, b], outputs))
    names = [info.name for info in session.get_inputs()]
    got = session.run(None, dict(zip(names, arrays, strict=True)))
    expected = arrays[1] @ arrays[0]
    _assert_close(got[0], -expected)
    for actual in got[1:]:
        _assert_close(actual, expected)


def test_a_users_own_operator_is_written_by_what_it_does(recording: None) -> None:
    class Cube(autograd.Operator):
        def forward(self, x: Any) -> Any:
            return x * x * x

        def backward(self, dy: Any) -> Any:
            return dy

    x = np.float32([1, -2, 3])
    session = _session(sonnx.to_onnx([tx := tensor.from_numpy(x)], [autograd.relu(Cube()(tx))]))
    _assert_close(session.run(None, {session.get_inputs()[0].name: x})[0], np.maximum(x**3, 0))


def test_the_loss_is_written_too(recording: None) -> None:
    x, y = array("mlp", "x")[0], array("mlp", "y")[0]
    net, tx, ty = network("mlp"), tensor.from_numpy(x), tensor.from_numpy(y)
    net.compile([tx], is_train=True)
    loss = autograd.softmax_cross_entropy(net.forward(tx), ty)
    session = _session(sonnx.to_onnx([tx, ty], [loss]))
    names = [info.name for info in session.get_inputs()]
    got = session.run(None, dict(zip(names, (x, y), strict=True)))[0]
    _assert_close(got.reshape(()), tensor.to_numpy(loss).reshape(()))


def test_writing_a_model_leaves_the_way_back_as_it_was(recording: None) -> None:
    x, y = array("cnn", "x")[0], array("cnn", "y")[0]
    gradients = []
    for written in (False, True):
        net, tx, ty = network("cnn"), tensor.from_numpy(x), tensor.from_numpy(y)
        net.compile([tx], is_train=True)
        net.set_states(states("cnn", "initial_states"))
        loss = autograd.softmax_cross_entropy(net.forward(tx), ty)
        if written:
            sonnx.to_onnx([tx, ty], [loss])
        gradients.append({p.name: tensor.to_numpy(g) for p, g in autograd.backward(loss)})
    plain, after = gradients
    assert plain.keys() == after.keys() and len(plain) == len(net.get_params())
    for name, gradient in plain.items():
        _assert_close(after[name], gradient)


def test_the_same_output_twice(recording: None) -> None:
    x = np.float32([1, -2, 3])
    y = autograd.relu(tx := tensor.from_numpy(x))
    session = _session(sonnx.to_onnx([tx], [y, y]))
    results = session.run(None, {session.get_inputs()[0].name: x})
    assert len(results) == 2
    for result in results:
        _assert_close(result, np.maximum(x, 0))


def test_a_model_that_is_part_of_another_keeps_its_states() -> None:
    class Outer(model.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = sonnx.SONNXModel(str(GOLDEN / "cnn" / "initial.onnx"))
            self.head = layer.Linear(3)

        def forward(self, x: Any) -> Any:
            return self.head(self.inner.forward(x)[0])

    net = Outer()
    net.compile([tensor.from_numpy(array("cnn", "x")[0])], is_train=False)
    own = {f"inner.{name}" for name in net.inner.get_states()}
    assert len(own) == 16
    assert set(net.get_states()) == own | {"head.W", "head.b"}
    assert set(net.get_params()) == {f"inner.{name}" for name in net.inner.get_params()} | {
        "head.W",
        "head.b",
    }


def test_what_no_operator_made_is_refused() -> None:
    x = tensor.from_numpy(np.float32([1, 2]))
    with pytest.raises(TranslationError, match=r"autograd\.training"):
        sonnx.to_onnx([x], [x])


def test_too_many_layers_left_out() -> None:
    net = sonnx.SONNXModel(str(GOLDEN / "mlp" / "initial.onnx"))
    x = tensor.from_numpy(array("mlp", "x")[0])
    with pytest.raises(InputError, match="layers"):
        net.forward(x, last_layers=-99)
    *_, hidden = net.forward(x, aux_output=[net.sg_ir.graph.nodes[0].outputs[0]])
    assert hidden.shape[1] == 32
