# SPDX-License-Identifier: Apache-2.0
"""The op to write, and the data for its templates."""

import dataclasses

from new_op.errors import NewOpError
from new_op.specification import (
    FLOATING,
    INTEGERS,
    NUMERIC,
    TYPES,
    Argument,
    Attribute,
    camel_case,
    check_type_name,
    duplicates,
)

_MOST_INPUTS = 8
# Names that the templates use themselves where they also use names of attributes, and in some
# places names of inputs.
_NAMES_OF_TEMPLATES = {"context", "raw_ops", "tf", "tfe"}
_NAMES_OF_ELEMENTWISE = {
    *("T", "backprops", "factor", "functor", "gradient", "gradients", "np"),
    *("x_backprops", "y_backprops"),
}


@dataclasses.dataclass(frozen=True)
class Op:
    """An op.

    Attributes:
      name: Its Python function; the op is TfExt>Name.
      kind: "unary", "binary" or "general".
      broadcasts: True if the inputs of a binary op broadcast.
      family: The family of ops that it belongs to; None for an op with its own folder.
      module: The module of tensorflow_ext.ops that gets the function.
      attributes: All attributes except those that are the type of an input.
      types: The types of inputs and outputs that are attributes.
      inputs: Its inputs.
      outputs: Its outputs.
    """

    name: str
    kind: str
    broadcasts: bool = False
    family: str | None = None
    module: str = "activations"
    attributes: tuple[Attribute, ...] = ()
    types: tuple[Attribute, ...] = ()
    inputs: tuple[Argument, ...] = ()
    outputs: tuple[Argument, ...] = ()

    @property
    def op(self) -> str:
        return camel_case(self.name)

    @property
    def folder(self) -> str:
        """The folder below tensorflow_ext/ops."""
        return self.family or self.name

    @property
    def has_minima(self) -> bool:
        """True if it has a header that checks attributes."""
        return any(a.checks_minimum for a in self.attributes)

    @property
    def arity(self) -> int:
        return len(self.inputs)

    def allowed(self, argument: Argument) -> tuple[str, ...]:
        """The types that an input or output may have."""
        found = [a.allowed for a in self.types if a.name == argument.type]
        return found[0] if found else (argument.type,)

    def is_floating(self, argument: Argument) -> bool:
        return self.kind != "general" or "double" in self.allowed(argument)


def pointwise(
    name: str,
    binary: bool,
    broadcasts: bool,
    family: str | None,
    module: str | None,
    attributes: list[Attribute],
) -> Op:
    """An elementwise op with checked attributes.

    Raises:
      NewOpError: An attribute has a type that its functor cannot have.
    """
    for a in attributes:
        argument = f"--attr {a.name}"
        if a.is_list or a.type == "type" or (a.type == "string" and not a.allowed):
            raise NewOpError(
                f"{argument}: an elementwise op's functor has numbers for members; "
                "expected bool, int, float or the strings that are allowed, as in "
                f"{a.name}:{{up,down}}. With --inputs and --outputs it may be any"
            )
    if broadcasts and attributes:
        raise NewOpError(
            f"--attr {attributes[0].name}: functors that broadcast have no members "
            "(kernels/broadcast.h); expected --same-shape beside --binary, or no --attr"
        )
    if broadcasts and family:
        raise NewOpError(
            f"--family {family}: the families' inputs have one shape; expected "
            "--same-shape beside --binary"
        )
    inputs = [Argument("x", "T"), Argument("y", "T")][: 2 if binary else 1]
    op = Op(
        name,
        "binary" if binary else "unary",
        broadcasts,
        family,
        module or family or ("arithmetic" if broadcasts else "activations"),
        tuple(attributes),
        (),
        tuple(inputs),
        (Argument("z" if binary else "y", "T"),),
    )
    _check_names(op, _NAMES_OF_ELEMENTWISE)
    return op


def _default_types(name: str) -> Attribute:
    is_index = any(part in name.lower() for part in ("ind", "idx", "shape", "size"))
    return Attribute(name, "type", allowed=INTEGERS if is_index else FLOATING)


def general(
    name: str,
    module: str | None,
    attributes: list[Attribute],
    inputs: list[Argument],
    outputs: list[Argument],
) -> Op:
    """An op with its own folder and checked types.

    Raises:
      NewOpError: A type has no kernel, or nothing has a gradient.
    """
    by_name = {a.name: a for a in attributes}
    types: dict[str, Attribute] = {}
    for option, argument in [
        *(("--inputs", x) for x in inputs),
        *(("--outputs", x) for x in outputs),
    ]:
        said = f"{option} {argument.name}:{argument.type}"
        if argument.type in INTEGERS or argument.type in types:
            continue
        if argument.type in FLOATING:
            raise NewOpError(
                f"{said}: an op has kernels for all floating-point types; expected an "
                "attribute such as T, or int32 or int64"
            )
        if argument.type in TYPES:
            raise NewOpError(
                f"{said}: no kernel computes with this type; expected int32, int64 or "
                "an attribute such as T"
            )
        check_type_name(f"{said}: the type", argument.type)
        if option == "--outputs" and argument.type not in by_name:
            raise NewOpError(
                f"{said}: no input has this type; expected one of "
                f"{', '.join(types) or 'the inputs'}, int32, int64, or a type that "
                f"--attr {argument.type}:{{...}} lists"
            )
        attribute = by_name.get(argument.type) or _default_types(argument.type)
        allowed = set(attribute.allowed)
        valid = attribute.type == "type" and allowed and allowed <= set(NUMERIC)
        if not valid or (not allowed >= set(FLOATING) and allowed & set(FLOATING)):
            raise NewOpError(
                f"{said}: expected a type attribute that lists "
                f"{', '.join(FLOATING)} all, {', '.join(INTEGERS)}, or both: an op has "
                "a kernel for every type that it admits"
            )
        types[argument.type] = attribute
    of_inputs = {x.type for x in inputs}
    only_outputs = [t for t in types if t not in of_inputs]
    op = Op(
        name,
        "general",
        module=module or "arrays",
        attributes=tuple(a for a in attributes if a.name not in types or a.name in only_outputs),
        types=tuple(types.values()),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )
    if not 1 <= len(inputs) <= _MOST_INPUTS or not outputs:
        raise NewOpError(
            f"--inputs and --outputs: expected 1 to {_MOST_INPUTS} inputs and an output"
        )
    if not any(op.is_floating(x) and x.type in of_inputs for x in outputs):
        raise NewOpError(
            "--outputs: none has the type of a floating-point input: expected one, "
            "through which a gradient flows"
        )
    if not op.is_floating(op.inputs[0]):
        raise NewOpError(
            f"--inputs {inputs[0].name}:{inputs[0].type}: expected a floating-point "
            "input first, such as x:T"
        )
    _check_names(op, set())
    return op


def _check_names(op: Op, taken: set[str]) -> None:
    names = [x.name for x in (*op.inputs, *op.outputs)]
    names += [a.name for a in op.attributes]
    for name in names:
        if name in taken | _NAMES_OF_TEMPLATES | {op.op, f"{op.op}Grad"}:
            raise NewOpError(
                f"'{name}': what is written has something of this name; expected "
                "another for an input, an output or an attribute"
            )
    types = {a.name for a in op.types if a not in op.attributes}
    for name in duplicates([*names, *types]):
        raise NewOpError(
            f"'{name}' is the name of two of the op's inputs, outputs and attributes: "
            "expected another for one of them"
        )
