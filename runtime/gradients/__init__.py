"""Gradients: for each operator, the graph of operators that takes an output's gradient to its inputs'.

They are stated on tensors, so that they are computed at once or traced alike, and fused, planned and
exported as any other operators are.
"""

from . import elementwise, linear, movement, reduction, window
from .gradient import Applied, gradient_of, gradients

__all__ = ["Applied", "elementwise", "gradient_of", "gradients", "linear", "movement", "reduction", "window"]
