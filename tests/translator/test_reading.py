"""Models from files: weights stay where they are, and bad files are named with a reason."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from sonnx.translator import ModelError, import_model
from sonnx.translator.reading import read_model
from sonnx.translator.wire import KEPT_BYTES, WireError, split


@pytest.fixture
def weighted(model) -> onnx.ModelProto:
    """A model with a large and a small weight."""
    large = numpy_helper.from_array(np.arange(3 * KEPT_BYTES, dtype=np.float32).reshape(-1, 3), "large")
    small = numpy_helper.from_array(np.ones(3, np.float32), "small")
    nodes = [helper.make_node("Mul", ["x", "small"], ["t"]), helper.make_node("Mul", ["t", "large"], ["y"])]
    return model(nodes, initializers=(large, small))


def test_a_large_weight_is_a_view_of_the_file(weighted, tmp_path, book):
    onnx.save(weighted, tmp_path / "m.onnx")
    graph = import_model(tmp_path / "m.onnx", book())
    for tensor in weighted.graph.initializer:
        np.testing.assert_array_equal(graph.states[tensor.name].array, numpy_helper.to_array(tensor))
    source = read_model(tmp_path / "m.onnx")
    assert not source.model.graph.initializer[0].HasField("raw_data")
    assert source.model.ByteSize() < KEPT_BYTES


def test_the_three_ways_to_give_a_model_agree(weighted, tmp_path, book):
    onnx.save(weighted, tmp_path / "m.onnx")
    graphs = [
        import_model(given, book())
        for given in (weighted, weighted.SerializeToString(), str(tmp_path / "m.onnx"))
    ]
    for graph in graphs:
        assert graph.nodes == graphs[0].nodes
        np.testing.assert_array_equal(graph.states["large"].array, graphs[0].states["large"].array)


def test_what_is_cut_out_is_what_protobuf_would_read(weighted):
    data = weighted.SerializeToString()
    small, cut = split(memoryview(data))
    assert list(cut) == [0]
    content = data[cut[0].offset : cut[0].offset + cut[0].length]
    assert content == weighted.graph.initializer[0].raw_data
    rest = onnx.ModelProto.FromString(small)
    rest.graph.initializer[0].raw_data = content
    assert rest == weighted


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\xff", b"\xff" * 12, b"\x0b", b"\x3a\x05\x2a\x7f"])
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(WireError):
        split(memoryview(data))


@pytest.mark.parametrize("content", [b"", b"hello world", b"\x00" * 100, b"\xff" * 100, bytes(range(256))])
def test_a_file_that_is_no_model_is_refused(tmp_path, content, book):
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.onnx: .*no ONNX model"):
        import_model(tmp_path / "m.onnx", book())


def test_a_missing_file_or_a_folder_is_refused(tmp_path, book):
    with pytest.raises(ModelError, match="No such file"):
        import_model(tmp_path / "none.onnx", book())
    with pytest.raises(ModelError, match="directory"):
        import_model(tmp_path, book())


def test_a_truncated_file_is_refused(weighted, tmp_path, book):
    data = weighted.SerializeToString()
    for length in range(1, len(data), len(data) // 40):
        (tmp_path / "m.onnx").write_bytes(data[:length])
        with pytest.raises(ModelError, match=r"m\.onnx"):
            import_model(tmp_path / "m.onnx", book())


@pytest.fixture
def external(weighted, tmp_path):
    """A model whose large weight is in ``weights.bin``; ``external(location=...)`` changes its place."""

    def make(**entries: str):
        path = tmp_path / "m.onnx"
        copy = onnx.ModelProto.FromString(weighted.SerializeToString())
        onnx.save(copy, path, save_as_external_data=True, location="weights.bin", size_threshold=1024)
        changed = onnx.load(path, load_external_data=False)
        tensor = changed.graph.initializer[0]
        for entry in tensor.external_data:
            entry.value = entries.get(entry.key, entry.value)
        path.write_bytes(changed.SerializeToString())
        return path

    return make


def test_external_data_is_a_view_of_its_file(external, weighted, book):
    array = import_model(external(), book()).states["large"].array
    np.testing.assert_array_equal(array, numpy_helper.to_array(weighted.graph.initializer[0]))
    assert not array.flags.owndata


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"location": "../weights.bin"}, "outside of the model's folder"),
        ({"location": "/etc/passwd"}, "outside of the model's folder"),
        ({"location": ""}, "outside of the model's folder"),
        ({"location": "none.bin"}, "missing"),
        ({"offset": "999999999"}, "is at bytes"),
        ({"offset": "-4"}, "is at bytes"),
        ({"length": "8"}, "has 8 bytes where"),
        ({"offset": "many"}, "no number"),
    ],
)
def test_external_data_that_is_not_there_is_refused(external, entries, reason, book):
    with pytest.raises(ModelError, match=f"'large'.*{reason}"):
        import_model(external(**entries), book())


def test_external_data_through_a_link_out_of_the_folder_is_refused(external, tmp_path, book):
    path = external()
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (tmp_path / "weights.bin").rename(outside / "weights.bin")
    inner = tmp_path / "model"
    inner.mkdir()
    path.rename(inner / "m.onnx")
    (inner / "weights.bin").symlink_to(outside / "weights.bin")
    with pytest.raises(ModelError, match="outside of the model's folder"):
        import_model(inner / "m.onnx", book())


def test_external_data_needs_a_folder(external, book):
    with pytest.raises(ModelError, match="whose folder is not known"):
        import_model(external().read_bytes(), book())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dims": [3, 1000]}, "has 49152 bytes|has .* bytes where"),
        ({"dims": [-1, 3]}, "negative size"),
        ({"dims": [2**40, 2**40]}, "bytes where"),
        ({"data_type": TensorProto.STRING}, "holds strings"),
        ({"data_type": 999}, "holds type 999"),
        ({"data_type": 0}, "holds type 0"),
        ({"name": "small"}, "defined twice"),
    ],
)
def test_a_damaged_weight_is_named(weighted, tmp_path, change, reason, book):
    tensor = weighted.graph.initializer[0]
    if "dims" in change:
        del tensor.dims[:]
        tensor.dims.extend(change["dims"])
    else:
        for name, value in change.items():
            setattr(tensor, name, value)
    for given in (weighted, weighted.SerializeToString()):
        with pytest.raises(ModelError, match=reason):
            import_model(given, book())


def test_a_sparse_weight_is_read_with_its_zeros(model, book):
    values = numpy_helper.from_array(np.array([5, 7], np.float32), "w")
    indices = numpy_helper.from_array(np.array([1, 2], np.int64), "i")
    source = model([helper.make_node("Mul", ["x", "w"], ["y"])])
    source.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    graph = import_model(source, book())
    np.testing.assert_array_equal(graph.states["w"].array, np.array([0, 5, 7], np.float32))


def test_inputs_that_are_no_tensors_are_refused(model, book):
    source = model([helper.make_node("Relu", ["x"], ["y"])])
    source.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    with pytest.raises(ModelError, match="'s' is a sequence_type"):
        import_model(source, book())
