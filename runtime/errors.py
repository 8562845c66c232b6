"""What can go wrong between a graph and its numbers; each message is for the person who runs it."""

from __future__ import annotations


class RuntimeFault(ValueError):
    """Base of every error that the runtime raises for what a user gave it."""


class OperatorError(RuntimeFault):
    """An operator given what it cannot take: the message names the node and what was expected."""


class InputError(RuntimeFault):
    """An input to a run that is missing, unknown, or of the wrong type or shape."""


class DeviceLimitError(RuntimeFault):
    """Something this device cannot hold or compute (memory, float64)."""
