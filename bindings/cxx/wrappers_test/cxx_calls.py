# SPDX-License-Identifier: Apache-2.0
"""The C++ code for the program of all calls."""

from typing import Any

from tensorflow_ext_codegen import cxx, op_interface


def _value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in C++, even if only the OpDef has a default for its type."""
    if attribute.type not in ("func", "tensor"):
        text = cxx.literal(attribute, value)
        element = cxx.TYPES[attribute.type]
        return f"std::vector<{element}>{text}" if attribute.is_list else text
    texts = [
        f'Function("{x.name}")' if attribute.type == "func" else f"Scalar({x.float_val[0]})"
        for x in (value if attribute.is_list else [value])
    ]
    return f"{{{', '.join(texts)}}}" if attribute.is_list else texts[0]


FILTERS = {"value": _value}
