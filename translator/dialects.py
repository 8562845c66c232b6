"""What the two sides of a rule differ in: defaults, and constants in place of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.graph import Ref
from ..runtime.operators import registry
from .language import schemas
from .language.conditions import Context
from .language.patterns import REQUIRED, UNKNOWN, Application, CallPattern, as_array
from .language.values import Mismatch, same

_FLOAT, _INT = np.dtype(np.float32), np.dtype(np.int64)


class OnnxDialect:
    """ONNX's schemas at the operator set versions of the model at hand."""

    def default(self, application: Application, attribute: str, context: Context) -> Any:
        """The schema's default of an attribute."""
        domain = application.domain
        opset = context.opset(domain)
        defaults = schemas.attribute_defaults(application.operator, opset, domain)
        if attribute in defaults:
            return defaults[attribute]
        known = attribute in schemas.attribute_types(application.operator, opset, domain)
        return REQUIRED if known else UNKNOWN

    def output_name(self, application: Application, place: int, context: Context) -> str:
        """What the schema calls an output."""
        found = schemas.schema(application.operator, context.opset(application.domain), application.domain)
        formal = schemas.formal(found.outputs, place) if found else None
        return formal.name if formal else f"output {place}"

    def constant(
        self, value: Any, pattern: CallPattern, place: int, application: Application, context: Context
    ) -> str:
        """An initializer of the type that the schema wants at that place."""
        slot = pattern.inputs[place]
        reused = context.source_constant(slot.name, value)
        if reused is not None:
            return reused
        dtype = self._dtype(value, pattern, place, application, context)
        array = as_array(
            (value,) if slot.kind in ("ints", "floats") and np.ndim(value) == 0 else value, dtype
        )
        return context.add_constant(array, f"{application.name or application.operator}:{slot.name}")

    def _dtype(
        self, value: Any, pattern: CallPattern, place: int, application: Application, context: Context
    ) -> np.dtype:
        if isinstance(value, np.ndarray):
            return value.dtype
        opset = context.opset(pattern.domain)
        variable, allowed = schemas.element_types(pattern.operator, opset, pattern.domain, place)
        names = {schemas.dtype_name(name) for name in allowed}
        if len(names) == 1:
            return np.dtype(next(iter(names)))
        for other, name in enumerate(application.inputs):
            if name and schemas.element_types(pattern.operator, opset, pattern.domain, other)[0] == variable:
                info = context.info(name)
                if info and info.dtype is not None:
                    return info.dtype
        usual = usual_dtype(value)
        return np.dtype(np.float32) if names and usual.name not in names else usual


class SingaDialect:
    """The runtime's operator signatures."""

    def default(self, application: Application, attribute: str, context: Context) -> Any:
        """The signature's default of an attribute."""
        operator = registry.get(application.operator)
        found = operator.signature.attribute(attribute) if operator else None
        if found is None:
            return UNKNOWN
        if found.required:
            return REQUIRED
        return tuple(found.default) if isinstance(found.default, list) else found.default

    def output_name(self, application: Application, place: int, context: Context) -> str:
        """What the signature calls an output."""
        operator = registry.get(application.operator)
        outputs = operator.signature.outputs if operator else ()
        return outputs[place].name if place < len(outputs) else f"output {place}"

    def constant(
        self, value: Any, pattern: CallPattern, place: int, application: Application, context: Context
    ) -> str:
        """A constant state; a number takes the type of the tensor that it meets."""
        dtype = usual_dtype(value)
        if not isinstance(value, np.ndarray):
            for name in application.inputs:
                info = context.info(name) if name else None
                if info and info.dtype is not None and (dtype == _INT or info.dtype.kind not in "biu"):
                    dtype = info.dtype
                    break
        return context.add_constant(as_array(value, dtype), f"{application.operator}:{place}")


def usual_dtype(value: Any) -> np.dtype:
    """The type of a constant that nothing else decides: int64, float32, bool."""
    if isinstance(value, np.ndarray):
        return value.dtype
    if isinstance(value, (str, Ref)) or value is None:
        raise Mismatch(f"{value!r} is no number")
    first = np.asarray(value)
    if first.size == 0 or first.dtype.kind in "iu":
        return _INT
    return np.dtype(np.bool_) if first.dtype.kind == "b" else _FLOAT


def missing_defaults(application: Application, written: tuple[str, ...], context: Context) -> dict[str, Any]:
    """Attributes that the source wrote out at a default that the rule does not mention."""
    defaults = schemas.attribute_defaults(
        application.operator, context.opset(application.domain), application.domain
    )
    return {
        name: defaults[name]
        for name in written
        if name not in application.attributes and defaults.get(name) is not None
    }


__all__ = ["OnnxDialect", "SingaDialect", "missing_defaults", "same", "usual_dtype"]
