"""Java, in the style of the ops of TensorFlow Java: a class for each op, and one class to
call them."""

import dataclasses
import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensorflow_ext import _names as names
from tensorflow_ext_codegen.java import train
from tensorflow_ext_codegen.language import Language, RenderError, float_digits, words
from tensorflow_ext_codegen.op_interface import Argument, Arity, Attribute, Op

# https://docs.oracle.com/javase/specs/jls/se17/html/jls-3.html#jls-3.9
_WORDS = words(
    """
    abstract assert boolean break byte case catch char class const continue default do
    double else enum extends false final finally float for goto if implements import
    instanceof int interface long native new null package private protected public
    return short static strictfp super switch synchronized this throw throws transient
    true try void volatile while
    """
)
# The language's words, the names that a wrapper's methods use, and inherited methods.
_KEYWORDS = _WORDS | words(
    """
    create i opBuilder operation options opts outputIndex scope
    asOutput asTensor clone equals finalize forEach getClass hashCode iterator notify
    notifyAll op rank shape size spliterator toString type wait
    """
)
# The classes that a wrapper uses, by simple name.
_IMPORTS = {
    name.rpartition(".")[2]: name
    for name in words(
        """
    java.util.Arrays java.util.Iterator java.util.List
    org.tensorflow.ConcreteFunction org.tensorflow.Operand org.tensorflow.Operation
    org.tensorflow.OperationBuilder org.tensorflow.Output org.tensorflow.Tensor
    org.tensorflow.ndarray.Shape
    org.tensorflow.op.Operands org.tensorflow.op.Ops org.tensorflow.op.RawOp
    org.tensorflow.op.Scope
    org.tensorflow.proto.DataType
    org.tensorflow.types.TBfloat16 org.tensorflow.types.TBool
    org.tensorflow.types.TFloat16 org.tensorflow.types.TFloat32
    org.tensorflow.types.TFloat64 org.tensorflow.types.TInt32
    org.tensorflow.types.TInt64 org.tensorflow.types.TString
    org.tensorflow.types.TUint16 org.tensorflow.types.TUint8
    org.tensorflow.types.family.TNumber org.tensorflow.types.family.TType
    """
    )
}
# Reserved: an op's class must not have one of these names.
_CLASSES = {*_IMPORTS, *words("Boolean Class Float Iterable Long Object Options Override String")}
TENSORS = {
    "DT_BFLOAT16": "TBfloat16",
    "DT_BOOL": "TBool",
    "DT_DOUBLE": "TFloat64",
    "DT_FLOAT": "TFloat32",
    "DT_HALF": "TFloat16",
    "DT_INT32": "TInt32",
    "DT_INT64": "TInt64",
    "DT_STRING": "TString",
    "DT_UINT16": "TUint16",
    "DT_UINT8": "TUint8",
}
_NUMBERS = set(TENSORS) - {"DT_BOOL", "DT_STRING"} | {
    "DT_INT8",
    "DT_INT16",
    "DT_UINT32",
    "DT_UINT64",
}
_TYPES = {
    "bool": "Boolean",
    "float": "Float",
    "func": "ConcreteFunction",
    "int": "Long",
    "shape": "Shape",
    "string": "String",
    "tensor": "Tensor",
    "type": "DataType",
}


@dataclasses.dataclass(frozen=True)
class Item:
    """An input, output or attribute, with its type and name in Java."""

    type: str
    name: str
    of: Any


@dataclasses.dataclass(frozen=True)
class Class:
    """The class of an op.

    Attributes:
      op: The op.
      name: The name of the class.
      variables: The type variables of the class with their bounds.
      further: The type variables of `create` that the class does not have.
      inputs: The tensors that `create` takes.
      required: The attributes without default that `create` takes.
      chosen: The types of outputs, which have defaults. A second `create` omits them.
      optional: The attributes of `Options`.
      outputs: The outputs of the op.
      defaults: The types that the variables have without `chosen`.
    """

    op: Op
    name: str
    variables: dict[str, str]
    further: dict[str, str]
    inputs: tuple[Item, ...]
    required: tuple[Item, ...]
    chosen: tuple[Item, ...]
    optional: tuple[Item, ...]
    outputs: tuple[Item, ...]
    defaults: Mapping[str, str]

    @property
    def scope(self) -> Item:
        """The first parameter of `create`."""
        return Item("Scope", "scope", None)

    def generic(self, without_chosen: bool = False) -> str:
        """The class with its type arguments."""
        given = [self.defaults.get(v, v) if without_chosen else v for v in self.variables]
        return f"{self.name}<{', '.join(given)}>" if given else self.name

    def declared(self, further: bool = False, without_chosen: bool = False) -> str:
        """The declarations of the type variables of the class, or of `create`."""
        variables = self.variables | (self.further if further else {})
        bounds = [
            f"{name} extends {bound}"
            for name, bound in variables.items()
            if not (without_chosen and name in self.defaults)
        ]
        return f"<{', '.join(bounds)}>" if bounds else ""

    def parameters(self, without_chosen: bool = False) -> list[Item]:
        """The parameters of `create` between the scope and the options."""
        chosen = () if without_chosen else self.chosen
        return [*self.inputs, *self.required, *chosen]


def describe(op: Op) -> Class:
    """Describes the Java class of an op."""
    by_output = {x.type_attr for x in op.outputs if x.arity is not Arity.LIST_OF_TYPES}
    uses = Counter(x.type_attr for x in op.inputs if x.arity is not Arity.LIST_OF_TYPES)
    several = {attr for attr, count in uses.items() if count > 1}
    of_class = {attr for attr in by_output if attr}
    shared = (of_class | several) - {""}
    attributes = (*op.inferred, *op.required, *op.optional)
    letters = iter("TUVWXYZABCDEFGHIJKLMNOPQRS")
    variables = {
        a.name: (next(letters), _bound(a.allowed))
        for a in attributes
        if a.name in shared and a.type == "type" and not a.is_list
    }

    def tensor(argument: Argument, of_output: bool) -> str:
        if argument.arity is Arity.LIST_OF_TYPES:
            return "?"
        if argument.type_attr in variables:
            return variables[argument.type_attr][0]
        known = TENSORS.get(argument.types[0]) if not argument.type_attr else None
        bound = known or _bound(argument.types)
        return bound if known or of_output else f"? extends {bound}"

    taken: set[str] = set(_KEYWORDS)

    def called(name: str) -> str:
        name = names.safe(names.camel_case(name), taken)
        taken.add(name)
        return name

    inputs = []
    for x in op.inputs:
        operand = f"Operand<{tensor(x, False)}>"
        inputs.append(
            Item(f"Iterable<? extends {operand}>" if x.is_list else operand, called(x.name), x)
        )
    types = {name: variable for name, (variable, _) in variables.items()}
    required = [
        Item(f"Class<{types[a.name]}>" if a.name in types else _parameter(a), called(a.name), a)
        for a in op.required
    ]
    chosen = [a for a in op.optional if a.name in types]
    of_chosen = [Item(f"Class<{types[a.name]}>", called(a.name), a) for a in chosen]
    optional = [a for a in op.optional if a.name not in types]
    outputs: list[Item] = []
    for x in op.outputs:
        name = names.safe(names.camel_case(x.name), {*_KEYWORDS, *(y.name for y in outputs)})
        output = f"Output<{tensor(x, True)}>"
        outputs.append(Item(f"List<{output}>" if x.is_list else output, name, x))
    return Class(
        op=op,
        name=names.safe(op.name, _CLASSES),
        variables=dict(v for a, v in variables.items() if a in of_class),
        further=dict(v for a, v in variables.items() if a not in of_class),
        inputs=tuple(inputs),
        required=tuple(required),
        chosen=tuple(of_chosen),
        optional=tuple(
            Item(_parameter(a), names.safe(names.camel_case(a.name), _KEYWORDS), a)
            for a in optional
        ),
        outputs=tuple(outputs),
        defaults={types[a.name]: TENSORS.get(a.default, "TType") for a in chosen},
    )


def _bound(types: Iterable[str]) -> str:
    types = tuple(types)
    return "TNumber" if types and _NUMBERS.issuperset(types) else "TType"


def _parameter(attribute: Attribute) -> str:
    element = _TYPES[attribute.type]
    return f"List<{element}>" if attribute.is_list else element


def _array(attribute: Attribute) -> str:
    """The type of a list's elements in the array that OperationBuilder takes."""
    primitive = {"bool": "boolean", "float": "float", "int": "long"}
    return primitive.get(attribute.type, _TYPES[attribute.type])


def _default(attribute: Attribute) -> str:
    """A default as the documentation shows it."""
    if attribute.is_list:
        return f"[{', '.join(_said(attribute.type, x) for x in attribute.default)}]"
    return _said(attribute.type, attribute.default)


def _said(element: str, value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return float_digits(value) if math.isfinite(value) else str(value)
        case bytes():
            return f'"{value.decode(errors="replace")}"'
    if element == "shape":
        if value is None:
            return "a shape of unknown rank"
        return f"[{', '.join('?' if size is None else str(size) for size in value)}]"
    return "the op's default" if element in ("tensor", "func") else str(value)


def _escaped(text: str) -> str:
    """A text escaped so that Javadoc finds no markup or tags, and Java no escapes."""
    text = html.escape(text, quote=False)
    text = text.translate({ord("\\"): "&#92;", ord("@"): "&#64;"})
    return text.replace("*/", "*&#47;")


def _doc(text: str) -> str:
    """A text as HTML: paragraphs, with indented text unchanged."""
    written: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if re.match(r"\s", block):
            written.append(f"<pre>\n{_escaped(block)}\n</pre>")
        elif written:
            written.append(f"<p>{_escaped(block)}")
        else:
            written.append(_escaped(block))
    return "\n\n".join(written)


def _javadoc(text: str, indent: int) -> str:
    """The lines of a comment with this indentation; consecutive empty lines become one."""
    text = re.sub(r"\n{3,}", "\n\n", text.strip("\n"))
    space = " " * indent
    lines = [f"{space} * {line}".rstrip() for line in text.splitlines()]
    return "\n".join([f"{space}/**", *lines, f"{space} */"])


def _entry(tag: str, name: str, description: str) -> str:
    """A Javadoc tag, with continuation lines indented."""
    text = _escaped(" ".join(description.split()))
    return f"{tag} {name} {text}".rstrip()


def _method(begins: str, parameters: Sequence[Item], options: str = "") -> str:
    """The first lines of a method, broken to fit the line length."""
    given = [f"{x.type} {x.name}" for x in parameters]
    given += [f"{options}... options"] if options else []
    line = ", ".join(given)
    if len(f"  {begins}({line}) {{") <= 100:
        return f"  {begins}({line}) {{"
    if len(f"      {line}) {{") > 100:
        line = ",\n      ".join(given)
    return f"  {begins}(\n      {line}) {{"


def _imports(source: str) -> str:
    """The Java imports of the classes that a source uses."""
    # A class of the package takes precedence over imported ones.
    used = sorted(_IMPORTS[word] for word in set(re.findall(r"\w+", source)) & set(_IMPORTS))
    return "\n".join(f"import {name};" for name in used)


def package(name: str) -> str:
    """The name of a package, in lower case and without underscores."""
    parts = name.replace("_", "").lower().split(".")
    return ".".join(names.safe(part, _WORDS) for part in parts)


def group(ops: Sequence[Op], name: str) -> str:
    """The name of the class to call the ops: `TfExtOps` for those of `TfExt>`."""
    spaces = [op.op.rpartition(">")[0] for op in ops]
    first = next(filter(None, spaces), names.pascal_case(name.rpartition(".")[2]))
    first = re.sub(r"\W", "", first)
    return first if first.endswith("Ops") else f"{first}Ops"


def _files(ops: Sequence[Op], name: str) -> dict[str, tuple[str, Mapping[str, Any]]]:
    classes = [describe(op) for op in ops]
    chief = group(ops, name)
    if chief in {c.name for c in classes}:
        raise RenderError(f"An op is named {chief}, like the class of all ops.")
    files: dict[str, tuple[str, Mapping[str, Any]]] = {
        f"{c.name}.java": ("op.jinja", {"c": c}) for c in classes
    }
    return files | {f"{chief}.java": ("ops.jinja", {"group": chief, "classes": classes})}


LANGUAGE = Language(
    title="Java",
    templates={},
    keywords=_KEYWORDS,
    files=_files,
    own_files={"Gradients.java": "gradients.jinja", "TfExtLibrary.java": "library.jinja"},
    train=train.FILES,
    filters={
        "array": _array,
        "default": _default,
        "doc": _doc,
        "entry": lambda item, tag, name: _entry(tag, name, item.of.description),
        "escaped": _escaped,
        "imports": _imports,
        "javadoc": _javadoc,
        "package": package,
        "method": _method,
        "safe_method": lambda word: names.safe(word, _KEYWORDS),
        "train_default": train.default,
        "train_parameter": train.parameter,
    },
)
