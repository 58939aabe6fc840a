"""Combinations of the values that an OpDef admits for an op's attributes."""

import dataclasses
import itertools
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2, types_pb2

from tensorflow_ext._runtime import _attributes

# The types to try if an OpDef admits any type.
_ANY_TYPE = [
    *(tf.float32, tf.float64, tf.half, tf.bfloat16, tf.complex64, tf.complex128),
    *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32),
    *(tf.uint64, tf.bool, tf.string),
]
_WIDE = {
    tf.half: tf.float64,
    tf.bfloat16: tf.float64,
    tf.float32: tf.float64,
    tf.complex64: tf.complex128,
}
# The values to try if the OpDef says only their kind.
_OF_KIND: dict[str, list[Any]] = {
    "int": [1, 2],
    "float": [1.0, 0.5],
    "bool": [False, True],
    "string": [""],
    "shape": [tf.TensorShape([2, 3])],
    "tensor": [tf.make_tensor_proto(1.0)],
    "func": [],
    "list(int)": [[1, 1]],
    "list(float)": [[1.0, 1.0]],
    "list(bool)": [[True, False]],
    "list(string)": [[""]],
    "list(shape)": [[tf.TensorShape([2, 3])]],
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """An op with a value for each attribute.

    Attributes:
      op_def: The op.
      attrs: Values by name: types as tf.DType, strings as str, lists as Python lists.
      guessed: The attributes whose value the OpDef admits but does not name. The op may
        still refuse them.
    """

    op_def: op_def_pb2.OpDef
    attrs: dict[str, Any]
    guessed: frozenset[str] = frozenset()

    def __str__(self) -> str:
        values = []
        for name, value in self.attrs.items():
            if isinstance(value, tf.DType):
                value = value.name
            elif isinstance(value, list) and value and isinstance(value[0], tf.DType):
                value = [dtype.name for dtype in value]
            values.append(f"{name}={value}")
        return ", ".join(values) or "no attributes"

    def sizes(self, arguments: Iterable[op_def_pb2.OpDef.ArgDef]) -> list[int | None]:
        """The number of tensors of each argument; None if it is not a list."""
        return [
            self.attrs[a.number_attr]
            if a.number_attr
            else (len(self.attrs[a.type_list_attr]) if a.type_list_attr else None)
            for a in arguments
        ]

    def types(self, arguments: Iterable[op_def_pb2.OpDef.ArgDef]) -> list[tf.DType]:
        """The types of the tensors of these arguments, one by one."""
        types: list[tf.DType] = []
        for a in arguments:
            if a.type_list_attr:
                types += self.attrs[a.type_list_attr]
                continue
            one = tf.as_dtype(a.type) if a.type else self.attrs[a.type_attr]
            types += [one] * (self.attrs[a.number_attr] if a.number_attr else 1)
        return types

    @property
    def input_types(self) -> list[tf.DType]:
        """The types of the inputs, lists flattened."""
        return self.types(self.op_def.input_arg)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs; elements of a list are `values[0]`."""
        return self._names(self.op_def.input_arg)

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs; elements of a list are `clipped[0]`."""
        return self._names(self.op_def.output_arg)

    def _names(self, arguments: Sequence[op_def_pb2.OpDef.ArgDef]) -> list[str]:
        names: list[str] = []
        for argument, size in zip(arguments, self.sizes(arguments), strict=True):
            if size is None:
                names.append(argument.name)
            else:
                names += [f"{argument.name}[{i}]" for i in range(size)]
        return names

    def grouped(self, tensors: Sequence[Any]) -> list[Any]:
        """The inputs grouped by argument, with a list for each list argument."""
        rest = iter(tensors)
        return [
            next(rest) if size is None else [next(rest) for _ in range(size)]
            for size in self.sizes(self.op_def.input_arg)
        ]

    def widened(self) -> "Variant | None":
        """The variant in double; None if it already is, or the OpDef has no double."""
        attrs = dict(self.attrs)
        for attr in self.op_def.attr:
            if attr.type == "type":
                wide = _WIDE.get(attrs[attr.name])
                if wide is not None and _admits(attr, wide):
                    attrs[attr.name] = wide
        return None if attrs == self.attrs else Variant(self.op_def, attrs)

    @property
    def for_xla(self) -> bool:
        """True if XLA supports all types."""
        types = [*self.input_types, *self.types(self.op_def.output_arg)]
        return not {tf.string, tf.resource, tf.variant} & set(types)

    def replaced(self, name: str, value: Any) -> "Variant":
        """The variant with another value for one attribute."""
        return dataclasses.replace(self, attrs=self.attrs | {name: value})


def _admits(attr: op_def_pb2.OpDef.AttrDef, dtype: tf.DType) -> bool:
    allowed = attr.allowed_values.list.type
    return not allowed or dtype.as_datatype_enum in allowed


def allowed_types(attr: op_def_pb2.OpDef.AttrDef) -> list[tf.DType]:
    """The types that the OpDef admits for a type attribute, or for elements of a list of
    types; float first.
    """
    allowed = [tf.as_dtype(kind) for kind in attr.allowed_values.list.type]
    allowed = allowed or _ANY_TYPE
    return sorted(allowed, key=lambda t: t.as_datatype_enum != types_pb2.DT_FLOAT)


def _choices(attr: op_def_pb2.OpDef.AttrDef) -> tuple[list[Any], bool]:
    """The values to try for an attribute; True if they are guesses."""
    default = [_value(attr.default_value)] if attr.HasField("default_value") else []
    if attr.type == "type":
        return allowed_types(attr), False
    if attr.type == "list(type)":
        types = allowed_types(attr)
        other = next((dtype for dtype in types if dtype.is_integer), types[-1])
        lists = [[types[0]], [types[0], other]]
        return [x for x in lists if len(x) >= attr.minimum] or [[types[0]] * attr.minimum], False
    if attr.allowed_values.list.s:
        return [text.decode() for text in attr.allowed_values.list.s], False
    if attr.type == "int" and attr.has_minimum:
        return _unique([*default, max(attr.minimum, 1), attr.minimum + 1]), True
    if attr.type == "bool":
        return [False, True], False
    if attr.type == "float" and default:
        return _unique([*default, 0.5]), True
    if attr.type == "int" and default:
        return _unique([*default, default[0] + 1]), True
    if default:
        return default, False
    return _OF_KIND.get(attr.type, []), True


def _value(value: Any) -> Any:
    """A default value, with strings as str."""
    value = _attributes.to_python(value)
    if isinstance(value, list):
        return [_text(element) for element in value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _given(attr: op_def_pb2.OpDef.AttrDef, given: Any) -> list[Any]:
    """The values that the caller gives; a single value stands for a list of it."""
    is_list = attr.type.startswith("list(")
    many = isinstance(given, (list, tuple)) and (
        not is_list or all(isinstance(element, (list, tuple)) for element in given)
    )
    values = list(given) if many else [given]
    if attr.type == "type":
        return [tf.as_dtype(value) for value in values]
    if attr.type == "list(type)":
        return [[tf.as_dtype(element) for element in value] for value in values]
    if is_list:
        return [list(value) for value in values]
    return values


@dataclasses.dataclass(frozen=True)
class Sample:
    """A sample of an op's variants, with their total number."""

    variants: list[Variant]
    total: int


def variants(
    op_def: op_def_pb2.OpDef, given: Mapping[str, Any], most: int, seed: int = 0
) -> Sample:
    """The combinations of values that an op's attributes may have.

    Args:
      op_def: The op.
      given: For some attributes, the values to try, or a single value.
      most: The maximum number of variants. If there are more, each value of each
        attribute is in at least one variant, as far as `most` allows, and the rest are
        drawn.
      seed: Seed of the random numbers.

    Raises:
      ValueError: There is no such attribute, or the caller must give values for an
        attribute of this kind, such as a function.
    """
    names = [attr.name for attr in op_def.attr]
    for name in given:
        if name not in names:
            raise ValueError(f"{op_def.name} has no attribute {name!r}; expected one of {names}.")
    choices: list[list[Any]] = []
    guessed = set()
    for attr in op_def.attr:
        if attr.name in given:
            values, guess = _given(attr, given[attr.name]), False
        else:
            values, guess = _choices(attr)
        if not values:
            raise ValueError(
                f"{op_def.name}: no values are known for attribute {attr.name!r}, a "
                f"{attr.type}; give attrs={{{attr.name!r}: [...]}}."
            )
        if guess:
            guessed.add(attr.name)
        choices.append(values)
    picked = _pick(choices, most, random.Random(f"{op_def.name} {seed}"))
    found = [
        Variant(op_def, dict(zip(names, values, strict=True)), frozenset(guessed))
        for values in picked
    ]
    return Sample(found, math.prod(map(len, choices)))


def _pick(choices: list[list[Any]], most: int, generator: random.Random) -> list[tuple[Any, ...]]:
    total = math.prod(map(len, choices))
    if total <= most:
        return list(itertools.product(*choices))
    longest = max(map(len, choices))
    picked: list[tuple[Any, ...]] = []
    for k in range(most * 20):
        if len(picked) == most:
            break
        values = tuple(
            # Take each value of each attribute in turn first, then random ones.
            c[k % len(c)] if k < longest else generator.choice(c)
            for c in choices
        )
        if values not in picked:
            picked.append(values)
    return picked
