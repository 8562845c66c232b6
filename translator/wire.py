"""A serialized ONNX model with its weights left in the file.

``split`` walks protobuf's wire format down to ``ModelProto.graph.initializer.raw_data`` (fields 7,
5 and 9) and cuts the larger contents out: what remains is a small model that protobuf parses, and
where in the file each content lies.  Weights are then views of the file, read when they are used.
"""

from __future__ import annotations

from dataclasses import dataclass

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
KEPT_BYTES = 4096
"""Contents up to this size stay in the model: shape inference reads them."""

_LENGTH_DELIMITED = 2
_FIXED = {1: 8, 5: 4}


class WireError(ValueError):
    """Bytes that are no protobuf message."""


@dataclass(frozen=True)
class Content:
    """Where a raw_data lies."""

    offset: int
    length: int


def split(data: memoryview) -> tuple[bytes, dict[int, Content]]:
    """The model without its larger weights, and those by their initializer's index.

    Raises WireError where the bytes are no protobuf message.
    """
    cut: dict[int, Content] = {}
    initializers = 0
    pieces: list[bytes | memoryview] = []
    for number, start, begin, end in _fields(data, 0, len(data)):
        if number != GRAPH:
            pieces.append(data[start:end])
            continue
        graph, initializers = _split_graph(data, begin, end, initializers, cut)
        pieces += [length_delimited(GRAPH, sum(map(len, graph))), *graph]
    return b"".join(pieces), cut


def _split_graph(
    data: memoryview, begin: int, end: int, initializers: int, cut: dict[int, Content]
) -> tuple[list[bytes | memoryview], int]:
    pieces: list[bytes | memoryview] = []
    copied = begin
    for number, start, inner, stop in _fields(data, begin, end):
        if number != INITIALIZER:
            continue
        if stop - inner > KEPT_BYTES:
            tensor, content = _split_tensor(data, inner, stop)
            if content is not None:
                pieces += [data[copied:start], length_delimited(INITIALIZER, sum(map(len, tensor)))]
                pieces += tensor
                copied = stop
                cut[initializers] = content
        initializers += 1
    pieces.append(data[copied:end])
    return pieces, initializers


def _split_tensor(data: memoryview, begin: int, end: int) -> tuple[list[memoryview], Content | None]:
    pieces: list[memoryview] = []
    content = None
    for number, start, inner, stop in _fields(data, begin, end):
        if number == RAW_DATA and stop - inner > KEPT_BYTES:
            content = Content(inner, stop - inner)
        else:
            pieces.append(data[start:stop])
    return pieces, content


def _fields(data: memoryview, position: int, end: int):
    """Each field of a message: its number, and where it, its content and its end are."""
    while position < end:
        start = position
        key, position = _read_varint(data, position, end)
        kind = key & 7
        if kind == _LENGTH_DELIMITED:
            length, position = _read_varint(data, position, end)
            stop = position + length
        elif kind == 0:
            _, stop = _read_varint(data, position, end)
        elif kind in _FIXED:
            stop = position + _FIXED[kind]
        else:
            raise WireError(f"wire type {kind} at byte {start}")
        if stop > end or not key >> 3:
            raise WireError(f"a field at byte {start} ends beyond its message")
        yield (key >> 3 if kind == _LENGTH_DELIMITED else -1), start, position, stop
        position = stop


def _read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    result = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
        if shift > 63:
            break
    raise WireError(f"no number at byte {position}")


def length_delimited(number: int, length: int) -> bytes:
    """What stands before the content of a field that is a message, a string or bytes."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
