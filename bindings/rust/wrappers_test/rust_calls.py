"""The Rust code for the program of all calls."""

import dataclasses
import json
from typing import Any

from objects import Object

from tensorflow_ext import _names as names
from tensorflow_ext_codegen import op_interface, optimizers, rust


def _value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in Rust."""
    if attribute.is_list:
        one = dataclasses.replace(attribute, is_list=False)
        texts = [_value(one, x) for x in value]
        owned = ".to_string()" if attribute.type in ("func", "string") else ""
        return f"vec![{', '.join(text + owned for text in texts)}]"
    if attribute.type == "func":
        return f'"{value.name}"'
    if attribute.type == "tensor":
        return f"Tensor::from({value.float_val[0]}f32)"
    if attribute.type == "shape":
        sizes = ", ".join("None" if size is None else f"Some({size})" for size in value)
        return f"Shape::from(Some(vec![{sizes}]))"
    return rust.scalar(attribute.type, value)


def _field(value: Any, field: optimizers.Field) -> str:
    """The value of a field of an optimizer or another class, in Rust."""
    if isinstance(value, Object):
        variable = names.snake_case(value.made.name)
        return f"&{variable}" if field.kind == optimizers.OPTIMIZER else f"{variable}.clone()"
    return json.dumps(value)  # Its texts, numbers and lists are those of Rust.


FILTERS = {"field": _field, "value": _value}
