"""What can go wrong in a translation; each message names the file, the node and the reason."""

from __future__ import annotations


class TranslationError(ValueError):
    """A model that cannot be read, translated or written.

    ``file``, ``node``, ``reason`` and ``hint`` (what to do about it) are the parts of the message;
    those that do not apply are empty.
    """

    def __init__(self, reason: str, *, file: str = "", node: str = "", hint: str = "") -> None:
        self.file = file
        self.node = node
        self.reason = reason
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.file}: {self.without_file()}" if self.file else self.without_file()

    def without_file(self) -> str:
        """The message for where the file is named already."""
        text = f"{self.node}: {self.reason}" if self.node else self.reason
        return f"{text}\n  {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.reason, self.file, self.node, self.hint)

    def at(self, file: str = "", node: str = "") -> TranslationError:
        """The same error with the file and the node filled in where it lacks them."""
        self.file = self.file or file
        self.node = self.node or node
        self.args = (str(self),)
        return self


def _rebuild(kind: type[TranslationError], reason: str, file: str, node: str, hint: str) -> TranslationError:
    """Errors cross process borders when many models are converted in parallel."""
    return kind(reason, file=file, node=node, hint=hint)


class ModelError(TranslationError):
    """A file that is no model, or a model that breaks ONNX's own rules."""


class UnsupportedError(TranslationError):
    """A valid model with something that no rule says how to translate."""


class RuleError(TranslationError):
    """Rules that cannot be loaded."""
