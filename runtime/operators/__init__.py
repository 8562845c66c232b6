"""The operators of the SINGA graph, one module for each family; importing this registers them all."""

from ..operator import Call, Operator, Registry, registry
from ..signature import Attribute, Input, Signature
from . import convolution, elementwise, linear, pooling, reduction, softmax

__all__ = [
    "Attribute",
    "Call",
    "Input",
    "Operator",
    "Registry",
    "Signature",
    "convolution",
    "elementwise",
    "linear",
    "pooling",
    "reduction",
    "registry",
    "softmax",
]
