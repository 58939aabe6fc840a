# SPDX-License-Identifier: Apache-2.0
"""The Rust code for the program of all calls."""

import dataclasses
from typing import Any

from tensorflow_ext_codegen import op_interface, rust


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


FILTERS = {"value": _value}
