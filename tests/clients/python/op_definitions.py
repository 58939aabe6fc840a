"""The facts that modules of ops have for tests, without TensorFlow: for programs that have none, or
that must not load the library.

A module is tensorflow_ext/ops/*/*.py, or beside this file in ops/. The entries of its table OPS
that have a reference are read, and the functions and constants that they use: a function is read
if its first parameter is np. Of an elementwise op, an entry has

  reference: The result as a function of np, the inputs and the attributes, which have the names of
    the op's; several outputs are a tuple. np is NumPy or tf.experimental.numpy.
  attributes: The values of its attributes in tests.
  more_attributes: A list of further values.
  wrong_attributes: Values that the op refuses.
  range: The values of inputs in cases: from -2 to 2 if not given.
  kinks: Values that inputs in cases must not be near.
  roundoffs: The allowed error, in unit roundoffs of the type.
  slack: An additional allowed error of CUDA kernels, in unit roundoffs times this function of np
    and the inputs, for sums that cancel.
  extremes: False if intermediate results of the largest numbers overflow in float, but not in
    float64.
  integers: True if the op admits int32 and int64, too.
  registers: The registers of the CUDA kernel, if they are more than 32.
  stock: The result by TensorFlow's own ops, if they compute it faster than the reference.
"""

import ast
import functools
import inspect
import pathlib
import struct
from collections.abc import Iterator
from typing import Any

_HERE = pathlib.Path(__file__).absolute().parent
_PLACES = (_HERE / "../../../tensorflow_ext/ops", _HERE / "ops")


def _as_float(value: float) -> float:
    """The nearest float of 32 bits, which an attribute has."""
    return struct.unpack("f", struct.pack("f", value))[0]


class Definition:
    """An elementwise op: an entry of OPS.

    Attributes:
      op: The op's name, without its namespace.
      path: The module.
      inputs: The names of its inputs.
      reference: The result as a function of np and the inputs.
      attributes: The values of its attributes in tests.
      rule: "elementwise" or "broadcasting".
      facts: The whole entry.
    """

    def __init__(self, op: str, path: pathlib.Path, facts: dict[str, Any]) -> None:
        self.op, self.path, self.facts = op, path, facts
        self.attributes: dict[str, Any] = {
            name: _as_float(value) if isinstance(value, float) else value
            for name, value in facts.get("attributes", {}).items()
        }
        self.reference = functools.partial(facts["reference"], **self.attributes)
        names = list(inspect.signature(facts["reference"]).parameters)
        self.inputs = [name for name in names[1:] if name not in self.attributes]
        self.rule: str = facts.get("rule", "")

    def variants(self) -> "Iterator[Definition]":
        """The op with the further attributes."""
        for attributes in self.facts.get("more_attributes", []):
            one = Definition(self.op, self.path, {**self.facts, "attributes": attributes})
            one.rule = self.rule
            yield one

    @property
    def broadcasts(self) -> bool:
        return self.rule == "broadcasting"

    @property
    def is_gradient(self) -> bool:
        return self.op.endswith("Grad")


def _is_read(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=[ast.alias(name=name)]) | ast.ImportFrom(module=name):
            return name is not None and not name.startswith("tensorflow")
        case ast.FunctionDef(args=ast.arguments(args=[ast.arg(arg="np"), *_])):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.Dict()):
            return name != "OPS"
    return False


def _read(path: pathlib.Path) -> Iterator[Definition]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    entries: list[tuple[ast.expr | None, ast.expr]] = []
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="OPS")], value=ast.Dict(keys, values)):
                entries = list(zip(keys, values, strict=True))
        if _is_read(statement):
            exec(compile(ast.Module([statement], []), str(path), "exec"), names)
    for key, entry in entries:
        facts = [] if not isinstance(entry, ast.Dict) else entry.keys
        if any(isinstance(fact, ast.Constant) and fact.value == "reference" for fact in facts):
            value = eval(compile(ast.Expression(entry), str(path), "eval"), names)
            yield Definition(ast.literal_eval(key), path, value)


@functools.cache
def definitions() -> dict[str, Definition]:
    """The definitions by op. A gradient op has the rule of its op."""
    place = next(place for place in _PLACES if place.is_dir())
    paths = sorted(place.glob("**/*.py"))
    found = {one.op: one for path in paths for one in _read(path)}
    for op, one in found.items():
        forward = found.get(op.removesuffix("Grad"))
        if not one.rule and forward:
            one.rule = forward.rule
    return found
