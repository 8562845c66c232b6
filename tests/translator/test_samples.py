"""Random inputs fit a model's types, shapes and value ranges."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser
from sonnx.translator import TranslationError
from sonnx.translator.samples import assignments, given_sizes, known_shapes, random_inputs
from sonnx.translator.value_ranges import Range, index_ranges


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')


def first(text: str, seed: int = 0) -> dict[str, np.ndarray]:
    found = model(text)
    return random_inputs(found, next(assignments(found)), seed)


def test_a_dimension_has_one_size_wherever_it_is() -> None:
    inputs = first("(float[batch, 3, n] a, int64[batch, n] b) => (float[batch, 3, n] y) { y = Identity(a) }")
    assert inputs["a"].shape == (2, 3, 8) and inputs["b"].shape == (2, 8)
    assert inputs["a"].dtype == np.float32 and inputs["b"].dtype == np.int64


def test_totals_are_sums() -> None:
    inputs = first(
        "(int64[b, len] ids, int64[b, total] mask, float[b, past] k) => (int64[b, len] y)"
        "{ y = Identity(ids) }"
    )
    assert inputs["mask"].shape[1] == inputs["ids"].shape[1] + inputs["k"].shape[1]


def test_dimensions_written_as_expressions_are_evaluated() -> None:
    found = model("(float[b, past] k, float[b, n] m) => (float[b, past] y) { y = Identity(k) }")
    found.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "past + 2*b"
    sizes = next(assignments(found))
    assert sizes["past + 2*b"] == sizes["past"] + 2 * sizes["b"]


def test_question_marks_and_minus_one_are_no_names() -> None:
    found = model("(float[n, n] x) => (float[n, n] y) { y = Identity(x) }")
    dims = found.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_param = "?"
    dims[1].dim_value = -1
    assert list(next(assignments(found))) == ["x:0", "x:1"]


def test_other_sizes_follow_and_given_ones_stay() -> None:
    found = model("(float[batch, 3, h, w] x) => (float[batch, 3, h, w] y) { y = Identity(x) }")
    tried = list(assignments(found, {"h": 7}))
    assert tried[0] == {"batch": 2, "h": 7, "w": 64}
    assert len({tuple(sorted(sizes.items())) for sizes in tried}) == len(tried) > 5
    assert all(sizes["h"] == 7 for sizes in tried)


def test_a_dimension_that_is_not_there_is_told() -> None:
    found = model("(float[batch] x) => (float[batch] y) { y = Identity(x) }")
    with pytest.raises(TranslationError, match="'bach'; there are: batch"):
        next(assignments(found, {"bach": 2}))


def test_given_inputs_fix_their_dimensions() -> None:
    found = model("(float[b, n] x, float[b, m] z) => (float[b, n] y) { y = Identity(x) }")
    assert given_sizes(found, {"x": np.zeros((5, 4))}) == {"b": 5, "n": 4}


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        ("(int64[n] i) => (float[n, 4] y) <float[7, 4] t> { y = Gather(t, i) }", Range(0, 7)),
        ("(int64[n] i) => (float[4, n] y) <float[7, 4] t> { y = Gather<axis = 1>(t, i) }", Range(0, 4)),
        (
            "(int32[n] i) => (float[n, 4] y) <float[7, 4] t> "
            "{ a = Cast<to = 7>(i)  z = Constant<value_ints = [0]>()  b = Unsqueeze(a, z)"
            "  c = Squeeze(b, z)  y = Gather(t, c) }",
            Range(0, 7),
        ),
        (
            "(int64[n] i) => (float[n, 4] y, float[n, 4] w) <float[7, 4] t, float[3, 4] u> "
            "{ y = Gather(t, i)  w = Gather(u, i) }",
            Range(0, 3),
        ),
        ("(int64[k] k) => (float[v] y, int64[v] i) <float[9] t> { y, i = TopK(t, k) }", Range(1, 10)),
        ("(int64[n] i) => (float[n, 6] y) <int64 d = {6}, float[2] v> { y = OneHot(i, d, v) }", Range(0, 6)),
    ],
)  # fmt: skip
def test_indices_stay_inside_of_what_they_index(body: str, limits: Range) -> None:
    found = model(body)
    for tensor in found.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.raw_data = bytes(4 * int(np.prod(tensor.dims)))
    ranges = index_ranges(found, known_shapes(found, {"n": 5, "k": 1}))
    assert list(ranges.values()) == [limits]


def test_masks_end_in_zeros_and_rates_are_rates() -> None:
    inputs = first(
        "(int64[b, n] attention_mask, int64 sr, bool[b] keep) => (bool[b] y) { y = Identity(keep) }"
    )
    assert inputs["attention_mask"][0].tolist() == [1] * 7 + [0]
    assert inputs["sr"] == 16000 and inputs["keep"].dtype == bool


def test_a_seed_gives_the_same_numbers() -> None:
    text = "(float[b, 9] x) => (float[b, 9] y) { y = Identity(x) }"
    assert np.array_equal(first(text, 1)["x"], first(text, 1)["x"])
    assert not np.array_equal(first(text, 1)["x"], first(text, 2)["x"])


@pytest.mark.parametrize(
    "kind", ["FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT8", "INT4", "UINT16", "FLOAT8E4M3FN"]
)
def test_every_numeric_type_is_drawn(kind: str) -> None:
    found = model("(float[4] x) => (float[4] y) { y = Identity(x) }")
    number = onnx.TensorProto.DataType.Value(kind)
    found.graph.input[0].type.tensor_type.elem_type = number
    array = random_inputs(found, {}, 0)["x"]
    assert onnx.helper.np_dtype_to_tensor_dtype(array.dtype) == number and array.shape == (4,)


def test_strings_and_sequences_are_refused_by_name() -> None:
    found = model("(string[4] x) => (string[4] y) { y = Identity(x) }")
    with pytest.raises(TranslationError, match="'x'"):
        random_inputs(found, {}, 0)
