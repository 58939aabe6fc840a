"""Checks that each gradient of a plan has the shape of its input."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library, _plan

# Eagerly a check costs a twentieth of a small gradient. The first runs of a plan are
# checked, which finds definitions that are wrong for all shapes; later runs are checked
# only with the debug switch.
FIRST = 16


class Due:
    """The checks of a plan's gradients that are still due."""

    # The debug switch of this process.
    always = _library.check_gradient_shapes()

    def __init__(self) -> None:
        # Threads that count at the same time may check once more or once less.
        self.runs = FIRST


def switch(check: bool) -> bool:
    """Sets the debug switch for all clients of this process; returns its old state."""
    Due.always = check
    return _library.check_gradient_shapes(check)


def check(
    plan: _plan.Plan,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    upstream: Sequence[Any],
    results: Sequence[tf.Tensor | None],
) -> None:
    """Checks the known shapes of a plan's results, eager or in a graph.

    Raises:
      tf.errors.FailedPreconditionError: A gradient has another shape than its input.
      tf.errors.InvalidArgumentError: The same, and an upstream gradient has another
        shape than its output.
    """
    for index, result in enumerate(results):
        if result is None:
            continue
        # A tape keeps no inputs if the op's gradient in TensorFlow does not need them.
        expected = _expected(inputs[index] if inputs else None)
        if not expected.is_compatible_with(result.shape):
            _raise_unless_inferred(plan, index, result.shape, expected, outputs, upstream)


def checked_in_graph(
    plan: _plan.Plan, inputs: Sequence[Any], results: Sequence[tf.Tensor | None]
) -> tuple[tf.Tensor | None, ...]:
    """The results, with nodes that check those whose shapes are not known yet."""
    return tuple(
        result if result is None or not inputs else _checked(plan, index, inputs[index], result)
        for index, result in enumerate(results)
    )


def _checked(plan: _plan.Plan, index: int, x: Any, result: tf.Tensor) -> tf.Tensor:
    expected = _expected(x)
    is_known = expected.is_fully_defined() and result.shape.is_fully_defined()
    is_handle = x is not None and x.dtype == tf.resource
    is_no_variable = is_handle and expected.rank is None
    if x is None or is_known or is_no_variable or not _is_numeric(result.dtype):
        return result
    if is_handle:
        shape = gen_resource_variable_ops.variable_shape(x, out_type=tf.int64)
    else:
        shape = tf.shape(x, out_type=tf.int64)
    return raw_ops.check_gradient_shape(
        result,
        shape,
        where=f"In the gradient of {plan.op}: the gradient of {_input(plan, index)}",
        made_by=_explain(plan, plan.results[index] or ""),
    )


def _is_numeric(dtype: tf.DType) -> bool:
    return dtype.is_floating or dtype.is_complex or dtype.is_integer


def _expected(x: Any) -> tf.TensorShape:
    """The shape of an input; for a variable's handle, that of the variable."""
    if x is None:  # The tape has not kept it.
        return tf.TensorShape(None)
    if x.dtype != tf.resource:
        return x.shape
    data = resource_variable_ops.get_eager_safe_handle_data(x)
    held = list(data.shape_and_type) if data is not None and data.is_set else []
    return tf.TensorShape(held[0].shape if len(held) == 1 else None)


def _raise_unless_inferred(
    plan: _plan.Plan,
    index: int,
    found: tf.TensorShape,
    expected: tf.TensorShape,
    outputs: Sequence[Any],
    upstream: Sequence[Any],
) -> None:
    where = f"In the gradient of {plan.op}: "
    for k, (output, given) in enumerate(zip(outputs or (), upstream, strict=False)):
        if output is None or not isinstance(given, tf.Tensor):
            continue
        if not output.shape.is_compatible_with(given.shape):
            # TensorFlow's inference can be wrong where it knows little: it gives 4 axes
            # instead of 5 for ExtractVolumePatches.
            if not output.shape.is_fully_defined():
                return
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                f"{where}the upstream gradient of output {k} has shape "
                f"{_text(given.shape)} where the output has shape "
                f"{_text(output.shape)}; pass one of the output's shape",
            )
    raise tf.errors.FailedPreconditionError(
        None,
        None,
        f"{where}the gradient of {_input(plan, index)} has shape {_text(found)} where "
        f"the input has shape {_text(expected)}; "
        f"{_explain(plan, plan.results[index] or '')}",
    )


def _text(shape: tf.TensorShape) -> str:
    """The shape as TensorFlow's C++ writes it: [2,?]."""
    if shape.rank is None:
        return "<unknown>"
    return f"[{','.join('?' if n is None else str(n) for n in shape.as_list())}]"


def _input(plan: _plan.Plan, index: int) -> str:
    return f"input {index} ('{plan.input_names[index]}')"


def _explain(plan: _plan.Plan, name: str) -> str:
    """The part of the definition that makes a result."""
    index = int(name[1:].partition("_")[0])
    if name[0] == "s":
        step = plan.steps[index]
        return f"node '{step.name}' of op {step.op} in the definition makes it"
    what = {
        "i": lambda: _input(plan, index),
        "g": lambda: f"the upstream gradient of output {index}",
        "o": lambda: f"output {index} of the op",
    }
    return f"the definition returns {what[name[0]]()} as it is"
