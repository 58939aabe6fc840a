"""C++, in the style of TensorFlow's cc/ops/*_ops.h."""

import math
from typing import Any

from tensorflow_ext import _names as names
from tensorflow_ext_codegen.cxx import train
from tensorflow_ext_codegen.language import Language, float_digits, quoted, words
from tensorflow_ext_codegen.op_interface import Attribute, Op

# https://en.cppreference.com/w/cpp/keyword
_WORDS = words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t
    char16_t char32_t class compl concept const consteval constexpr constinit const_cast
    continue co_await co_return co_yield decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq
    """
)
# The language's words and the names that an op's class uses.
_KEYWORDS = _WORDS | words("attrs builder node operation scope")

# The types in which values are stored; strings are passed as views.
TYPES = {
    "bool": "bool",
    "float": "float",
    "func": "::tensorflow::NameAttrList",
    "int": "int64_t",
    "shape": "::tensorflow::PartialTensorShape",
    "string": "std::string",
    "tensor": "::tensorflow::Tensor",
    "type": "::tensorflow::DataType",
}
_BY_VALUE = {"bool", "float", "int", "type"}


def _kept(attribute: Attribute) -> str:
    """The type of the attribute's member in `Attrs`."""
    element = TYPES[attribute.type]
    kept = f"std::vector<{element}>" if attribute.is_list else element
    return f"std::optional<{kept}>" if is_left_to_op_def(attribute) else kept


def _parameter(attribute: Attribute) -> str:
    """The type of a parameter."""
    element = TYPES[attribute.type]
    if attribute.is_list:
        return f"const std::vector<{element}>&"
    if attribute.type == "string":
        return "absl::string_view"
    return element if attribute.type in _BY_VALUE else f"const {element}&"


def is_left_to_op_def(attribute: Attribute) -> bool:
    """True if only the OpDef has the default, as for a tensor or a function."""
    return attribute.has_default and attribute.type in ("tensor", "func")


def literal(attribute: Attribute, value: Any) -> str:
    """The value as a C++ literal."""
    if attribute.is_list:
        return f"{{{', '.join(_scalar(attribute.type, x) for x in value)}}}"
    return _scalar(attribute.type, value)


def _scalar(element: str, value: Any) -> str:
    if element == "bool":
        return "true" if value else "false"
    if element == "int":
        least = -(2**63)
        return "std::numeric_limits<int64_t>::min()" if value == least else str(value)
    if element == "float":
        if math.isfinite(value):
            return f"{float_digits(value)}f"
        what = "quiet_NaN" if math.isnan(value) else "infinity"
        return f"{'-' if value < 0 else ''}std::numeric_limits<float>::{what}()"
    if element == "string":
        text = quoted(value)
        return f"std::string({text}, {len(value)})" if b"\0" in value else text
    if element == "type":
        return f"::tensorflow::{value}"
    if element == "shape":
        if value is None:
            return "::tensorflow::PartialTensorShape()"
        sizes = ", ".join("-1" if size is None else str(size) for size in value)
        return f"::tensorflow::PartialTensorShape({{{sizes}}})"
    raise ValueError(f"no literal of {element}")


def _setter(attribute: Attribute, op: Op) -> str:
    """The name of a setter, which must differ from the names of class and struct."""
    return names.safe(names.pascal_case(attribute.name), {op.name, "Attrs"})


def _namespace(name: str) -> str:
    return "::".join(names.safe(part, _WORDS) for part in name.split("."))


LANGUAGE = Language(
    title="C++",
    templates={".h": "header.jinja", ".cc": "source.jinja"},
    train={".h": "optimizers.jinja"},
    keywords=_KEYWORDS,
    filters={
        "kept": _kept,
        "left_to_op_def": is_left_to_op_def,
        "literal": literal,
        "namespace": _namespace,
        "parameter": _parameter,
        "setter": _setter,
        "train_member": train.member,
    },
)
