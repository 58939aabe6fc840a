"""Rows of the tables of cases: one call makes one `parity.Case`.

    case("Mul", "double", normal(3), normal(3, seed=1))  # of TensorFlow
    numeric("Mod", "outer", x, y[:, None], static="none")  # of differences
    case("ConcatV2", "rows", [x, y], axis=0)  # a list is a list argument
    case("Qr", "r", x, full_matrices=True, then=lambda q, r: r)  # of outputs
    case("Tan", "twice", x, build=lambda x: call("Tan", call("Tan", x)))
    case("Cast", "types", x, build=cast, DstT=tf.float64)  # cast(x, DstT=tf.float64)

The arrays are fed in the order of the op's arguments. Keywords that are fields of `Case` are
settings; all others are arguments and attributes of the op, which are constants of the graph. Many
rows of one op:

    bitcast = functools.partial(numeric, "Bitcast")
    CASES = [bitcast("parts", z, type=tf.float64), bitcast("same", x, type=tf.float64)]
    CASES += each("Ceil Floor", lambda op: [case(op, "double", x), case(op, "empty", x[:0])])
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf
from covered_ops import STAND_INS
from parity import Case
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.dtensor.python import gen_dtensor_ops

_MODULES = (tf.raw_ops, gen_xla_ops, gen_dtensor_ops)
_SETTINGS = {field.name for field in dataclasses.fields(Case)} - {"op", "name", "build", "inputs"}


def call(op: str, /, *inputs: Any, **attributes: Any) -> Any:
    """The output of a new node, or the list of its outputs.

    The inputs are the arguments that `attributes` does not name, in the order of the op.
    """
    function = next(getattr(ops, op) for ops in _MODULES if hasattr(ops, op))
    names = [name for name in inspect.signature(function).parameters if name not in attributes]
    outputs = function(**dict(zip(names, inputs, strict=False)), **attributes)
    return list(outputs) if isinstance(outputs, list | tuple) else outputs


def case(
    op: str, name: str, /, *inputs: Any, build: Any = None, then: Any = None, **options: Any
) -> Case:
    """A case that feeds `inputs`.

    Args:
      build: The graph, if it is more than the op. Takes the inputs and the attributes.
      then: A function of the outputs.
      options: Settings of `Case` and attributes of the op.
    """
    settings = {key: options.pop(key) for key in _SETTINGS & options.keys()}
    make = functools.partial(build or functools.partial(call, op), **options)

    def graph(*xs: Any) -> Any:
        made = make(*tf.nest.pack_sequence_as(inputs, xs))
        if then is None:
            return made
        return then(*made) if isinstance(made, list) else then(made)

    return Case(op, name, graph, tf.nest.flatten(inputs), **settings)


def numeric(op: str, name: str, /, *inputs: Any, **options: Any) -> Case:
    """A case that compares both orders with central differences.

    In single precision the steps are wide: differences are exact for quadratic functions.
    """
    types = {np.asarray(value).dtype.name for value in tf.nest.flatten(inputs)}
    width = {"step": 0.25, "tolerance": 1e-4} if types & {"float32", "complex64"} else {}
    numeric = {"reference": "numeric", "second_order": "numeric"}
    return case(op, name, *inputs, **{**numeric, **width, **options})


# Python's gradient, and differences for the second order.
numeric_second = functools.partial(case, second_order="numeric")
# The second order is not checked, for example because differences are too coarse.
first_order = functools.partial(case, second_order=None)


def each(ops: str, rows: Callable[[str], Iterable[Case]]) -> list[Case]:
    """The rows of every op of a list with blanks."""
    return [one for op in ops.split() for one in rows(op)]


def with_static_shapes(cases: list[Case]) -> list[Case]:
    """These cases, and again with known shapes, or all sizes but the first known.

    A gradient that replaces TensorFlow's has other nodes then.
    """
    more = [
        dataclasses.replace(one, name=f"{one.name}_{name}", static=static)
        for one in cases
        if one.op in STAND_INS and one.static == "rank"
        for name, static in (("static", "all"), ("batch", "inner"))
    ]
    return cases + more


def with_every_shape(one: Case) -> list[Case]:
    """The case with ranks known, with shapes known, and with neither."""
    return [
        one,
        dataclasses.replace(one, name=f"{one.name}_static", static="all"),
        dataclasses.replace(one, name=f"{one.name}_rank", static="none"),
    ]


def output(*numbers: int) -> Callable[..., Any]:
    """A function for `then`: the outputs with these indices."""
    return lambda *outputs: [outputs[number] for number in numbers]


def ints(*numbers: Any, dtype: Any = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


def longs(*numbers: Any) -> np.ndarray:
    return ints(*numbers, dtype=np.int64)


def floats(*values: np.ndarray) -> list[np.ndarray]:
    """The values in single precision."""
    return [value.astype(np.float32) for value in values]
