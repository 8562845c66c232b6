"""The closed list of what can be wrong with rules: a row for each kind of error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorKind:
    """``message`` is a format string; ``meaning`` explains it and says what to do."""

    message: str
    meaning: str


KINDS: dict[str, ErrorKind] = {
    # --- the text
    "syntax": ErrorKind(
        "unexpected {found}",
        "The text is not of the language here. `expected` lists what may stand in this place.",
    ),
    "not-text": ErrorKind(
        "the file is not UTF-8 text ({reason})",
        "Rule files are UTF-8.",
    ),
    "empty-range": ErrorKind(
        "the opset range {range} is empty",
        "The last version of a range may not be below its first, and versions count from 1.",
    ),
    "example-side": ErrorKind(
        "the example has no `{side}` line",
        "An example shows the nodes of both sides: at least one `onnx` and one `singa` line.",
    ),
    "repeated-item": ErrorKind(
        "`{item}` is given twice",
        "A rule has one `prefer`, an example one `opset` and one `producer`.",
    ),
    "given-value": ErrorKind(
        "the value of {name!r} is not a number, a string or a list of them",
        "`given x int64[2] = [0, 1]` fixes the content of a tensor by literals.",
    ),
}
