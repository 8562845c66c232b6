"""``sonnx inspect``: what a model is, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import is_singa

if TYPE_CHECKING:
    import onnx

    from ..runtime.graph import Graph, ValueInfo


def inspect(
    path: Path, rules: Iterable[str | Path] = (), sizes: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The facts of a model as JSON holds them.  Raises TranslationError where it is none."""
    facts = _inspect_singa(path) if is_singa(path) else _inspect_onnx(path, tuple(rules), dict(sizes or {}))
    return {"file": str(path), "bytes": path.stat().st_size, **facts}


def _inspect_singa(path: Path) -> dict[str, Any]:
    from .archive import load
    from .convert import all_nodes, rules_used

    graph = load(path)
    nodes = list(all_nodes(graph))
    source = graph.metadata
    return {
        "kind": "SINGA archive",
        "name": graph.name,
        "source": {
            k: source[k] for k in ("producer", "producer_version", "ir_version", "opset") if k in source
        },
        "inputs": [_info(info) for info in graph.inputs],
        "outputs": [_info(info) for info in graph.outputs],
        "nodes": len(nodes),
        "operators": _counted(node.operator for node in nodes),
        "rules": rules_used(graph),
        **_states(graph),
    }


def _states(graph: Graph) -> dict[str, Any]:
    trained = [state.array for state in graph.states.values() if state.kind == "param"]
    return {
        "parameters": sum(array.size for array in trained),
        "states": dict(Counter(state.kind for state in graph.states.values())),
        "weight_bytes": sum(state.array.nbytes for state in graph.states.values()),
    }


def _info(info: ValueInfo) -> dict[str, Any]:
    dtype = None if info.dtype is None else info.dtype.name
    return {"name": info.name, "type": dtype, "shape": None if info.shape is None else list(info.shape)}


def _inspect_onnx(path: Path, rules: tuple[str | Path, ...], sizes: dict[str, int]) -> dict[str, Any]:
    from .onnx_graph import value_info
    from .reading import read_model
    from .samples import assignments, known_shapes, model_inputs

    model = read_model(path).model
    assumed = next(assignments(model, {**_single_batch(model), **sizes}))
    return {
        "kind": "ONNX model",
        "name": model.graph.name,
        "ir_version": model.ir_version,
        "opsets": {opset.domain or "ai.onnx": opset.version for opset in model.opset_import},
        "producer": f"{model.producer_name} {model.producer_version}".strip(),
        "inputs": [_info(value_info(v.name, v.type)) for v in model_inputs(model)],
        "outputs": [_info(value_info(v.name, v.type)) for v in model.graph.output],
        "nodes": len(model.graph.node),
        "operators": _counted(_name(node) for node in model.graph.node),
        **_weights(model),
        **_work(model, known_shapes(model, assumed)),
        "assumed_sizes": assumed,
        **_coverage(path, rules),
    }


def _single_batch(model: onnx.ModelProto) -> dict[str, int]:
    """A batch of one: FLOPs are understood as those of one sample."""
    from .samples import BATCH, dimensions

    return {d.name: 1 for d in dimensions(model) if d.candidates == BATCH}


def _name(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _weights(model: onnx.ModelProto) -> dict[str, Any]:
    """Elements and bytes of the initializers, by type; floats are what is trained."""
    from math import prod

    from .language import schemas

    elements: Counter[str] = Counter()
    nbytes = 0
    for tensor in model.graph.initializer:
        dtype = schemas.numpy_dtype(tensor.data_type)
        size = prod(tensor.dims)
        elements[dtype.name if dtype is not None else "other"] += size
        nbytes += size * (dtype.itemsize if dtype is not None else 0)
    floats = sum(size for name, size in elements.items() if "float" in name)
    return {"parameters": floats, "weights": dict(elements), "weight_bytes": nbytes}


def _work(model: onnx.ModelProto, shapes: Mapping[str, Any]) -> dict[str, Any]:
    from .flops import count

    work = count(model, shapes)
    return {"flops": work.flops, "flops_by_operator": work.by_operator, "nodes_of_unknown_work": work.unknown}


def _coverage(path: Path, rules: tuple[str | Path, ...]) -> dict[str, Any]:
    """Which rule takes the nodes of each operator, and which nodes none takes."""
    from .explain import explain

    covered: dict[str, Counter[str]] = {}
    missing: dict[str, dict[str, Any]] = {}
    for found in explain(path, rules):
        name = f"{found.domain}::{found.operator}" if found.domain else found.operator
        if found.matched:
            rule = (
                f"{found.rule} ({Path(found.file).name}:{found.line})" if found.rule else "its function body"
            )
            covered.setdefault(name, Counter())[rule] += 1
        else:
            entry = missing.setdefault(name, {"nodes": 0, "first": found.node, "why": str(found)})
            entry["nodes"] += 1
    return {"covered": {name: dict(rules) for name, rules in sorted(covered.items())}, "missing": missing}
