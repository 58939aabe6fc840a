"""Rust, in the style of the module `ops` of the crate `tensorflow`."""

import itertools
from collections.abc import Sequence
from typing import Any

from tensorflow.core.framework import types_pb2

from tensorflow_ext import _names as names
from tensorflow_ext_codegen.language import Language, comment, float_digits, quoted, words
from tensorflow_ext_codegen.op_interface import Argument, Attribute, Op
from tensorflow_ext_codegen.rust import train

# https://doc.rust-lang.org/reference/keywords.html, and names that the template uses.
_KEYWORDS = words(
    """
    abstract as async await become box break const continue crate do dyn else enum
    extern false final fn for gen if impl in let loop macro match mod move mut override
    priv pub ref return self static struct super trait true try type typeof unsafe
    unsized use virtual where while yield
    build build_instance control_input device graph name new op options scope tf value
    """
)
# Types that the file uses without a path.
_TYPE_NAMES = words(
    """
    Box Clone Debug Default Drop Err FnOnce From Into None Ok Option Options Result
    Self SetTensor Some String TensorAttribute Vec
    """
)

# The type in which a value is stored, and the type that a setter takes.
_KEPT = {
    "bool": "bool",
    "float": "f32",
    "func": "String",
    "int": "i64",
    "shape": "tf::Shape",
    "string": "String",
    "type": "tf::DataType",
}
# The crate's names of TensorFlow's types.
_DATA_TYPES = {
    f"DT_{name.upper()}": name
    for name in words(
        """
        Float Double Int32 UInt8 Int16 Int8 String Complex64 Int64 Bool QInt8 QUInt8
        QInt32 BFloat16 QInt16 QUInt16 UInt16 Complex128 Half Resource Variant UInt32
        UInt64
        """
    )
}
# rustfmt's maximum widths of a line, of a line with a sum, and of the arguments of a call.
_WIDTH = 100
_SUM_WIDTH = 98
_CALL_WIDTH = 60


def _type_name(op: Op) -> str:
    return names.safe(names.pascal_case(op.name), _TYPE_NAMES)


def _is_tensor(attribute: Attribute) -> bool:
    """True if it is stored as the function that sets it, because a tensor's type is generic."""
    return attribute.type == "tensor"


def kept(attribute: Attribute) -> str:
    """The type in which the value is stored."""
    if _is_tensor(attribute):
        return "TensorAttribute"
    element = _KEPT[attribute.type]
    return f"Vec<{element}>" if attribute.is_list else element


def parameter(attribute: Attribute) -> str:
    """The type of a parameter."""
    if _is_tensor(attribute):
        tensor = "tf::Tensor<impl tf::TensorType>"
        return f"Vec<{tensor}>" if attribute.is_list else tensor
    if attribute.is_list or attribute.type in ("func", "shape", "string"):
        return f"impl Into<{kept(attribute)}>"
    return kept(attribute)


def given(attribute: Attribute, value: str) -> str:
    """The expression that makes the stored value from a parameter."""
    if _is_tensor(attribute):
        kind = "list" if attribute.is_list else "one"
        return f'TensorAttribute::{kind}("{attribute.name}", {value})'
    return f"{value}.into()" if "Into" in parameter(attribute) else value


def set_attribute(attribute: Attribute, value: str) -> str:
    """The statement that sets the attribute; `value` is an expression of its stored type."""
    if _is_tensor(attribute):
        return f"{value}.set(&mut op)?;"
    if attribute.is_list and attribute.type == "func":
        proto = f"Options::function_list(&{value})"
        return f'op.set_attr_value_proto("{attribute.name}", &{proto})?;'
    method = {"func": "func_name"}.get(attribute.type, attribute.type)
    if attribute.is_list:
        method += "_list"
    by_reference = attribute.is_list or attribute.type in ("func", "shape", "string")
    reference = "&" if by_reference else ""
    return f'op.set_attr_{method}("{attribute.name}", {reference}{value})?;'


def data_type(name: str) -> str:
    """A type in Rust; types without a name in the crate are numbers."""
    number = types_pb2.DataType.Value(name)
    return _DATA_TYPES.get(name, f"UnrecognizedEnumValue({number})")


def literal(attribute: Attribute) -> str:
    """The default in Rust, for the documentation; empty if it has no short form."""
    if attribute.type in ("tensor", "func"):
        return ""
    value = attribute.default
    if attribute.is_list:
        return f"[{', '.join(scalar(attribute.type, x) for x in value)}]"
    return scalar(attribute.type, value)


def scalar(element: str, value: Any) -> str:
    """A value that is not a list, in Rust; a shape as the documentation shows it."""
    if element == "bool":
        return "true" if value else "false"
    if element == "float":
        return float_digits(value)
    if element == "string":
        return quoted(value)
    if element == "type":
        return f"DataType::{data_type(value)}"
    if element == "shape":
        if value is None:
            return "any shape"
        return str(["?" if size is None else size for size in value]).replace("'", "")
    return str(value)


def _fitting(head: str, arguments: Sequence[str], tail: str, within: int) -> str:
    """`head(arguments)tail` as rustfmt breaks it; `head` includes the indentation."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= _WIDTH and len(", ".join(arguments)) <= within:
        return line
    indent = head[: len(head) - len(head.lstrip())]
    lines = [f"{indent}    {argument}," for argument in arguments]
    return "\n".join([f"{head}(", *lines, f"{indent}){tail}"])


def signature(head: str, parameters: Sequence[str], tail: str) -> str:
    """The first lines of a function."""
    return _fitting(head, parameters, tail, _WIDTH)


def call(head: str, arguments: Sequence[str], tail: str = "") -> str:
    """A call."""
    return _fitting(head, arguments, tail, _CALL_WIDTH)


def fenced(text: str) -> str:
    """The text with indented parts fenced, because rustdoc would take them for Rust code."""
    lines: list[str] = []
    for indented, group in itertools.groupby(
        text.splitlines(), key=lambda line: line.startswith("  ")
    ):
        fence = (["```text"], ["```"]) if indented else ([], [])
        lines += [*fence[0], *group, *fence[1]]
    return "\n".join(lines)


def rustdoc(text: str, prefix: str) -> str:
    """The text as a comment."""
    return comment(fenced(text), prefix)


def entry(name: str, description: str, prefix: str) -> str:
    """An item of a list as a comment."""
    text = f"* `{name}`" + (f": {fenced(description)}" if description else "")
    return comment(text.replace("\n", "\n  "), prefix)


def output_index(op: Op, output: Argument) -> str:
    """An expression for the index of an output among all outputs of the op."""
    before = op.outputs[: op.outputs.index(output)]
    terms = [f'self.op.output_list_length("{x.name}")?' for x in before if x.is_list]
    single = len(before) - len(terms)
    if single or not terms:
        terms.append(str(single))
    return " + ".join(terms)


def index_statement(variable: str, op: Op, output: Argument) -> str:
    """Sets a variable to the index of an output, as rustfmt breaks the line."""
    head, indent, value = f"        let {variable} =", " " * 12, output_index(op, output)
    for line in (f"{head} {value};", f"{head}\n{indent}{value};"):
        if len(line.splitlines()[-1]) <= _SUM_WIDTH:
            return line
    broken = value.replace(" + ", f"\n{indent}+ ")
    return f"{head} {broken};"


def has_list_before(op: Op, output: Argument) -> bool:
    """True if the index of an output is known only when the op is built."""
    return any(x.is_list for x in op.outputs[: op.outputs.index(output)])


def example(ops: Sequence[Op]) -> str:
    """An example of building an op, preferably one with an optional attribute."""
    op = next((op for op in ops if op.optional), ops[0])
    required = ", ".join(names.snake_case(a.name) for a in op.required)
    setter = "".join(f".{names.snake_case(a.name)}(..)" for a in op.optional[:1])
    inputs = "".join(f"{names.snake_case(x.name)}, " for x in op.inputs)
    return f"{_type_name(op)}::new({required}){setter}.build({inputs}&mut scope)?"


def uses(ops: Sequence[Op], kind: str) -> bool:
    """True if an attribute of any op is a tensor, or a list of functions."""
    attributes = [a for op in ops for a in (*op.required, *op.optional)]
    if kind == "tensor":
        return any(map(_is_tensor, attributes))
    return any(a.is_list and a.type == "func" for a in attributes)


LANGUAGE = Language(
    title="Rust",
    templates={".rs": "ops.jinja"},
    train={".rs": "train.jinja"},
    keywords=_KEYWORDS,
    filters={
        "call": call,
        "data_type": data_type,
        "entry": entry,
        "given": given,
        "example": example,
        "has_list_before": has_list_before,
        "kept": kept,
        "literal": literal,
        "index_statement": index_statement,
        "output_index": output_index,
        "parameter": parameter,
        "rustdoc": rustdoc,
        "set_attribute": set_attribute,
        "signature": signature,
        "train_default": train.default,
        "train_given": train.given,
        "train_member": train.member,
        "train_parameter": train.parameter,
        "train_said": train.said,
        "type_name": _type_name,
        "uses": uses,
    },
)
