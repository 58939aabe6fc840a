"""Python's ways to an op's gradient, each as one function.

All take the same problem and return the same results, as NumPy arrays:

- `eager`: GradientTape, op by op; twice, because a gradient is interpreted once and
  compiled when it is used again;
- `function`: GradientTape inside tf.function;
- `jit`: the same compiled by XLA;
- `tf_gradients`: tf.gradients in a graph of TensorFlow 1;
- `symbolic_gradient`: the function runtime's SymbolicGradient op, in a session
  of TensorFlow 1. First order only: that op itself has no gradient.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import cases
import numpy as np
import tensorflow as tf
from cases import Case
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import gen_functional_ops

import tensorflow_ext
from tensorflow_ext.testing._gradient._comparison import deviation

_OWN_OPS = {op: name for name, op in tensorflow_ext.raw_ops.OPS.items()}


@dataclasses.dataclass
class Problem:
    """A case in one type, with all numbers.

    Attributes:
      case: The case.
      inputs: An array per input.
      upstreams: An array per output; None if nothing is fed, so the output is not differentiated.
        Empty: no gradients are requested.
      weights: The upstream gradient of each gradient, for the second order; None if there is no
        gradient. Empty: no second order.
      known_shapes: True if the client may know the inputs' shapes in advance.
    """

    case: Case
    inputs: list[np.ndarray]
    upstreams: list[np.ndarray | None] = dataclasses.field(default_factory=list)
    weights: list[np.ndarray | None] = dataclasses.field(default_factory=list)
    known_shapes: bool = True


@dataclasses.dataclass
class Results:
    """A client's results; None stands for a missing gradient.

    Attributes:
      outputs: An array per output.
      gradients: An array per input.
      second: An array per input and then per upstream gradient: the gradient of the weighted
        gradients.
    """

    outputs: list[np.ndarray]
    gradients: list[np.ndarray | None]
    second: list[np.ndarray | None]


Client = Callable[[Problem], Results]


def call(op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[tf.Tensor]:
    """Calls an op by its type; `inputs` holds a list for a list argument."""
    function = (
        getattr(tensorflow_ext.raw_ops, _OWN_OPS[op]) if op in _OWN_OPS else getattr(tf.raw_ops, op)
    )
    names = [argument.name for argument in op_def_registry.get(op).input_arg]
    result = function(**dict(zip(names, inputs, strict=True)), **attrs)
    return list(tf.nest.flatten(result))


def call_case(case: Case, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Calls the op of a case with its attributes."""
    arguments: dict[str, Any] = {}
    for declared, tensor in zip(case.inputs, inputs, strict=True):
        if declared.in_list:
            arguments.setdefault(declared.argument, []).append(tensor)
        else:
            arguments[declared.argument] = tensor
    attrs = case.make_attrs(case.type_of_t(inputs))
    return call(case.op, list(arguments.values()), attrs)


def call_chain(
    case: Case,
    chain: Sequence[cases.Node],
    inputs: Sequence[tf.Tensor],
    upstream: tf.Tensor | None = None,
) -> tf.Tensor:
    """The value of the last node of a chain of stock ops."""
    known = {i.argument: x for i, x in zip(case.inputs, inputs, strict=True)}
    known["upstream"] = upstream
    dtype = next(known[i.argument].dtype for i in case.inputs if i.dtype == "T")
    for node in chain:
        arguments = [
            known[a] if a in known else tf.constant(float(a), dtype) for a in node.arguments
        ]
        (known[node.name],) = call(node.op, arguments, {})
    return known[chain[-1].name]


def _present(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _restore(values: Sequence[Any], pattern: Sequence[Any]) -> list[Any]:
    """`values` where `pattern` is not None, None elsewhere."""
    rest = iter(values)
    return [None if p is None else next(rest) for p in pattern]


def _numpy(tensors: Sequence[tf.Tensor | None]) -> list[np.ndarray | None]:
    return [None if tensor is None else tensor.numpy() for tensor in tensors]


def _watch(tape: tf.GradientTape, tensors: Sequence[tf.Tensor | None]) -> None:
    tape.watch([x for x in tensors if x is not None and x.dtype.is_floating])


def _differentiate(
    problem: Problem,
    inputs: list[tf.Tensor],
    upstreams: list[tf.Tensor | None],
    weights: list[tf.Tensor | None],
) -> tuple[list[Any], list[Any], list[Any]]:
    """Outputs, gradients and second order by nested tapes."""
    case = problem.case
    with tf.GradientTape() as outer:
        if weights:
            _watch(outer, [*inputs, *upstreams])
        with tf.GradientTape() as inner:
            _watch(inner, inputs)
            outputs = call_case(case, inputs)
        fed = [i for i, u in enumerate(upstreams) if u is not None and outputs[i].dtype.is_floating]
        gradients: list[Any] = []
        if upstreams:
            gradients = inner.gradient(
                [outputs[i] for i in fed], inputs, output_gradients=[upstreams[i] for i in fed]
            )
    second: list[Any] = []
    if weights:
        sources = [*inputs, *upstreams]
        second = outer.gradient(
            _present(gradients), _present(sources), output_gradients=_present(weights)
        )
        second = _restore(second, sources)
    return outputs, gradients, second


def _tensors(arrays: Sequence[np.ndarray | None]) -> list[tf.Tensor | None]:
    return [None if array is None else tf.constant(array) for array in arrays]


def eager(problem: Problem) -> Results:
    """GradientTape, op by op."""
    results = _differentiate(
        problem, _tensors(problem.inputs), _tensors(problem.upstreams), _tensors(problem.weights)
    )
    return Results(*map(_numpy, results))


def _eager_twice(problem: Problem) -> Results:
    """Runs interpreted, then compiled."""
    first, again = eager(problem), eager(problem)
    for name, values in vars(first).items():
        for own, other in zip(values, getattr(again, name), strict=True):
            assert (own is None) == (other is None), name
            assert own is None or deviation(other, own) == 0, name
    return again


def _traced(problem: Problem, jit_compile: bool) -> Results:
    fed = [problem.inputs, problem.upstreams, problem.weights]

    def body(*flat: tf.Tensor) -> tuple[list[Any], list[Any], list[Any]]:
        rest = iter(flat)
        groups = [[None if a is None else next(rest) for a in group] for group in fed]
        return _differentiate(problem, *groups)

    arrays = [array for group in fed for array in _present(group)]
    signature = [tf.TensorSpec(a.shape if problem.known_shapes else None, a.dtype) for a in arrays]
    compiled = tf.function(body, input_signature=signature, jit_compile=jit_compile)
    return Results(*map(_numpy, compiled(*_tensors(arrays))))


def function(problem: Problem) -> Results:
    """GradientTape inside tf.function."""
    return _traced(problem, jit_compile=False)


def jit(problem: Problem) -> Results:
    """GradientTape inside a tf.function that XLA compiles."""
    return _traced(problem, jit_compile=True)


def _run(
    feeds: Sequence[tuple[tf.Tensor, np.ndarray]], groups: Sequence[Sequence[tf.Tensor | None]]
) -> Results:
    """Runs a session in the current graph; one group for each part of Results."""
    with tf.compat.v1.Session() as session:
        fetched = session.run([_present(group) for group in groups], dict(feeds))
    return Results(*map(_restore, fetched, groups))


def _placeholders(
    problem: Problem, arrays: Sequence[np.ndarray | None], feeds: list[tuple[tf.Tensor, np.ndarray]]
) -> list[tf.Tensor | None]:
    """A placeholder for each array, recorded with it in `feeds`."""
    known = problem.known_shapes
    result = [
        None if x is None else tf.compat.v1.placeholder(x.dtype, x.shape if known else None)
        for x in arrays
    ]
    feeds += zip(_present(result), _present(arrays), strict=True)
    return result


def tf_gradients(problem: Problem) -> Results:
    """tf.gradients in a graph of TensorFlow 1."""
    feeds: list[tuple[tf.Tensor, np.ndarray]] = []
    with tf.Graph().as_default():
        inputs = _placeholders(problem, problem.inputs, feeds)
        upstreams = _placeholders(problem, problem.upstreams, feeds)
        weights = _placeholders(problem, problem.weights, feeds)
        outputs = call_case(problem.case, inputs)
        fed = [i for i, u in enumerate(upstreams) if u is not None]
        gradients: list[Any] = []
        if fed:
            gradients = tf.gradients([outputs[i] for i in fed], inputs, [upstreams[i] for i in fed])
        second: list[Any] = []
        if weights:
            sources = [*inputs, *upstreams]
            second = tf.gradients(_present(gradients), _present(sources), _present(weights))
            second = _restore(second, sources)
        return _run(feeds, [outputs, gradients, second])


def symbolic_gradient(problem: Problem) -> Results:
    """The SymbolicGradient op in a session of TensorFlow 1.

    The op takes an upstream gradient for every output, and returns zeros if there is no gradient.
    """
    feeds: list[tuple[tf.Tensor, np.ndarray]] = []
    with tf.Graph().as_default():
        inputs = _placeholders(problem, problem.inputs, feeds)
        outputs = call_case(problem.case, inputs)
        gradients: list[Any] = []
        if problem.upstreams:
            upstreams = [
                tf.zeros_like(output) if upstream is None else tf.constant(upstream)
                for output, upstream in zip(outputs, problem.upstreams, strict=True)
            ]
            definition = outputs[0].op.node_def
            target = attr_value_pb2.NameAttrList(name=definition.op)
            for name, value in definition.attr.items():
                if not name.startswith("_"):
                    target.attr[name].CopyFrom(value)
            gradients = gen_functional_ops.symbolic_gradient(
                [*inputs, *upstreams], [x.dtype for x in inputs], target
            )
        return _run(feeds, [outputs, gradients, []])


CLIENTS: dict[str, Client] = {
    "eager": _eager_twice,
    "tf.function": function,
    "tf.gradients": tf_gradients,
    "SymbolicGradient": symbolic_gradient,
    "jit_compile": jit,
}
