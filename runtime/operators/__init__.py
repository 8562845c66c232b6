"""The operators of the SINGA graph, one module for each family; importing this registers them all."""

from ..operator import Call, Operator, Registry, registry
from ..signature import Attribute, Input, Signature
from . import (
    backward,
    convolution,
    elementwise,
    linear,
    losses,
    normalization,
    pooling,
    reduction,
    softmax,
    sorting,
)

__all__ = [
    "Attribute",
    "Call",
    "Input",
    "Operator",
    "Registry",
    "Signature",
    "backward",
    "convolution",
    "elementwise",
    "linear",
    "losses",
    "normalization",
    "pooling",
    "reduction",
    "registry",
    "softmax",
    "sorting",
]
