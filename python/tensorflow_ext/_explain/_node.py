"""Parses an op and its attributes from a command line."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, op_def_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

from tensorflow_ext._runtime import _attributes, _wrappers

# A type attribute that is not given takes the first of these that the OpDef allows.
_PREFERRED_TYPES = (
    types_pb2.DT_FLOAT,
    types_pb2.DT_DOUBLE,
    types_pb2.DT_COMPLEX64,
    types_pb2.DT_INT32,
)


class ExplainError(ValueError):
    """The op cannot be explained; the message, in one line, says why."""


def registered_ops() -> list[str]:
    """The names of all ops of this process, sorted."""
    return sorted(op.name for op in _wrappers.op_defs())


def find_op_def(op: str) -> op_def_pb2.OpDef:
    """The OpDef of a registered op.

    Raises:
      ExplainError: There is no such op; the message names ops with similar names.
    """
    op_def = op_def_registry.get(op)
    if op_def is not None:
        return op_def
    close = _close_names(op)
    hint = f" Did you mean {_either(close)}?" if close else ""
    raise ExplainError(
        f"there is no op {op!r}; an op of another library needs --library FILE.{hint}"
    )


def _close_names(op: str) -> list[str]:
    """The ops with similar names, nearest first; with or without the part before '>',
    ignoring case."""
    by_word: dict[str, list[str]] = {}
    for name in registered_ops():
        for word in {name.lower(), name.rpartition(">")[2].lower()}:
            by_word.setdefault(word, []).append(name)
    wanted = op.replace("_", "").lower()
    words = difflib.get_close_matches(wanted, by_word, n=4, cutoff=0.7)
    words += difflib.get_close_matches(wanted.rpartition(">")[2], by_word, 4, 0.7)
    names = [name for word in words for name in by_word[word]]
    return list(dict.fromkeys(names))[:4]


def _either(names: Sequence[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def make_node(op: str, given: Sequence[str]) -> tuple[node_def_pb2.NodeDef, set[str]]:
    """An op with all its attributes.

    Args:
      op: Name of a registered op.
      given: Attributes as "name=value". Those with a default may be missing. A
        missing type is float32 if the op accepts it, else the first type that the op
        accepts.

    Returns:
      The node, and the attributes that were not given.

    Raises:
      ExplainError: The op is unknown; an attribute is unknown, wrong or missing.
    """
    op_def = find_op_def(op)
    attrs = {attr.name: attr for attr in op_def.attr}
    values: dict[str, Any] = {}
    for assignment in given:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ExplainError(f"--attr {assignment}: expected NAME=VALUE.")
        if name not in attrs:
            expected = ", ".join(f"{a.name} ({a.type})" for a in op_def.attr)
            raise ExplainError(f"{op} has no attribute {name!r}; it has {expected or 'none'}.")
        values[name] = _parse(op, attrs[name], text)
    values.update(_defaults(op_def, values))
    try:
        node = _attributes.to_node_def(op, values)
    except tf.errors.OpError as error:
        raise ExplainError(one_line(error)) from None
    return node, set(values) - {text.partition("=")[0] for text in given}


def _defaults(
    op_def: op_def_pb2.OpDef, given: Mapping[str, Any]
) -> dict[str, attr_value_pb2.AttrValue]:
    """Values of the attributes that were not given."""
    found, missing = {}, []
    for attr in op_def.attr:
        if attr.name in given:
            continue
        if attr.HasField("default_value"):
            found[attr.name] = attr.default_value
        elif attr.type == "type":
            found[attr.name] = attr_value_pb2.AttrValue(type=_preferred(attr))
        else:
            missing.append(f"{attr.name} ({attr.type})")
    if missing:
        example = missing[0].partition(" ")[0]
        raise ExplainError(
            f"{op_def.name} needs {', '.join(missing)}: --attr {example}=VALUE for each."
        )
    return found


def _preferred(attr: op_def_pb2.OpDef.AttrDef) -> int:
    allowed = list(attr.allowed_values.list.type)
    for kind in _PREFERRED_TYPES:
        if not allowed or kind in allowed:
            return kind
    return allowed[0]


_PARSERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": lambda text: {"true": True, "1": True, "false": False, "0": False}[text.lower()],
    "string": str,
    "type": lambda text: tf.as_dtype(text.removeprefix("DT_").lower()),
    "shape": lambda text: tf.TensorShape(
        [None if size in ("?", "None") else int(size) for size in _elements(text)]
    ),
    "func": str,
}
_EXAMPLES = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "type": "a type such as half, float or int32",
    "shape": "a shape such as [2,?]",
}


def _elements(text: str) -> list[str]:
    inner = text.strip().removeprefix("[").removesuffix("]")
    return [element.strip() for element in inner.split(",") if element.strip()]


def _parse(op: str, attr: op_def_pb2.OpDef.AttrDef, text: str) -> Any:
    """The value of an attribute, parsed from `text`."""
    kind = attr.type.removeprefix("list(").removesuffix(")")
    parser = _PARSERS.get(kind)
    is_list = kind != attr.type
    if parser is None or (is_list and kind == "shape"):
        raise ExplainError(
            f"{op}: attribute {attr.name} is a {attr.type}, which --attr cannot give."
        )
    try:
        values = [parser(one) for one in (_elements(text) if is_list else [text])]
    except (KeyError, TypeError, ValueError):
        expected = _EXAMPLES.get(kind, kind)
        if is_list:
            expected = f"a list such as [a,b], each element {expected}"
        raise ExplainError(
            f"{op}: attribute {attr.name} is {text!r}; expected {expected}."
        ) from None
    return values if is_list else values[0]


def one_line(error: Exception) -> str:
    """The message of an error of TensorFlow in one line."""
    message = getattr(error, "message", None) or str(error)
    # TensorFlow adds the node and the OpDef, which is long.
    return re.sub(r" ?; NodeDef: .*>(?=\.)", "", " ".join(message.split()))


def type_name(kind: int) -> str:
    """A type as OpDefs call it."""
    return types_pb2.DataType.Name(kind).removeprefix("DT_").lower()


def argument_names(
    arguments: Sequence[op_def_pb2.OpDef.ArgDef], node: node_def_pb2.NodeDef
) -> list[str]:
    """A name for each tensor of these arguments; elements of a list are numbered."""
    names: list[str] = []
    sizes = _attributes.argument_sizes(list(arguments), node)
    for argument, size in zip(arguments, sizes, strict=True):
        if size is None:
            names.append(argument.name)
        else:
            names += [f"{argument.name}_{i}" for i in range(size)]
    return names


def argument_types(
    arguments: Sequence[op_def_pb2.OpDef.ArgDef], node: node_def_pb2.NodeDef
) -> list[int]:
    """The type of each tensor of these arguments."""
    types: list[int] = []
    for argument in arguments:
        if argument.type_list_attr:
            types += node.attr[argument.type_list_attr].list.type
            continue
        count = node.attr[argument.number_attr].i if argument.number_attr else 1
        types += [argument.type or node.attr[argument.type_attr].type] * count
    return types
