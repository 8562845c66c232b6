"""The networks of the golden training data, written as a SINGA script writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sonnx.runtime import autograd, layer, model, opt
from sonnx.runtime.tensor import Tensor

GOLDEN = Path(__file__).parent / "golden"
CASES = ("cnn", "cnn_plain_sgd", "mlp")


class _Trained(model.Model):
    def train_one_batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        out = self.forward(x)
        loss = autograd.softmax_cross_entropy(out, y)
        self.optimizer(loss)
        return out, loss


class Cnn(_Trained):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = layer.Conv2d(6, 3, padding=1)
        self.bn1 = layer.BatchNorm2d()
        self.pool1 = layer.MaxPool2d(2, 2)
        self.conv2 = layer.Conv2d(12, 3, padding=1)
        self.bn2 = layer.BatchNorm2d()
        self.pool2 = layer.AvgPool2d(2, 2)
        self.flatten = layer.Flatten()
        self.fc1 = layer.Linear(24)
        self.fc2 = layer.Linear(10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool1(autograd.relu(self.bn1(self.conv1(x))))
        x = self.pool2(autograd.relu(self.bn2(self.conv2(x))))
        return self.fc2(autograd.relu(self.fc1(self.flatten(x))))


class Mlp(_Trained):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = layer.Linear(32)
        self.fc2 = layer.Linear(16)
        self.fc3 = layer.Linear(5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(autograd.tanh(self.fc2(autograd.relu(self.fc1(x)))))


def network(case: str) -> _Trained:
    return Mlp() if case == "mlp" else Cnn()


def optimizer(case: str) -> opt.SGD:
    if case == "cnn_plain_sgd":
        return opt.SGD(lr=0.05)
    return opt.SGD(lr=0.05, momentum=0.9, weight_decay=1e-5)


def array(case: str, name: str) -> np.ndarray:
    return np.load(GOLDEN / case / f"{name}.npy")


def states(case: str, name: str) -> dict[str, Any]:
    with np.load(GOLDEN / case / f"{name}.npz") as arrays:
        return dict(arrays)
