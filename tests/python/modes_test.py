"""Every op differentiated in every way that Python has."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from comparisons import Comparison, Function, every_op, ops_of_commit, upstream_of
from gradient_modes import compiled, gradients

import tensorflow_ext as tfe

Gradients = list[tf.Tensor | None]


def _gradients(function: Function, inputs: list[tf.Tensor]) -> Gradients:
    return gradients(function, inputs, upstream_of)


def _missing(found: Gradients) -> tuple[int, ...]:
    return tuple(index for index, gradient in enumerate(found) if gradient is None)


def _second(function: Function, inputs: list[tf.Tensor]) -> Gradients:
    """The gradient of a function of all first gradients, including the upstream's."""
    upstream = upstream_of(function(*inputs))
    sources = [*inputs, upstream]
    with tf.GradientTape() as outer:
        outer.watch(sources)
        first = gradients(function, inputs, upstream)
        score = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in first if g is not None])
    return outer.gradient(score, sources)


def _assert_same(actual: Gradients, expected: Gradients) -> None:
    """None counts as zeros, because stock ops may give either if the gradient is 0."""
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        if one is None or other is None:
            for value in (one, other):
                assert value is None or not np.any(value)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@every_op
def test_value(op: Comparison) -> None:
    inputs = op.tensors()
    np.testing.assert_allclose(op.function(*inputs), op.reference(*inputs), rtol=1e-12, atol=1e-12)


@every_op
def test_eager_tape(op: Comparison) -> None:
    actual = _gradients(op.function, op.tensors())
    _assert_same(actual, _gradients(op.reference, op.tensors()))
    assert _missing(actual) == op.without_gradient


@every_op
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
def test_types(op: Comparison, dtype: tf.DType) -> None:
    inputs = op.tensors(dtype)
    exact = [tf.cast(tensor, tf.float64) for tensor in inputs]
    tolerance = {tf.float16: 4e-3, tf.bfloat16: 4e-2, tf.float32: 1e-5}[dtype]
    for actual, expected in zip(
        _gradients(op.function, inputs), _gradients(op.function, exact), strict=True
    ):
        assert (actual is None) == (expected is None)
        if actual is not None:
            assert actual.dtype == dtype
            scale = np.max(np.abs(expected)) + 1
            error = np.max(np.abs(tf.cast(actual, tf.float64) - expected))
            assert error <= tolerance * scale


@every_op
def test_gradient_taken_again_is_the_same(op: Comparison) -> None:
    """By a separate tape, by a persistent one, and by one input at a time."""
    inputs = op.tensors()
    first = _gradients(op.function, inputs)
    _assert_same(_gradients(op.function, inputs), first)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        output = op.function(*inputs)
    upstream = upstream_of(output)
    for _ in range(2):
        _assert_same(tape.gradient(output, inputs, upstream), first)
    for index, source in enumerate(inputs):
        _assert_same([tape.gradient(output, source, upstream)], [first[index]])


@every_op
def test_nested_tapes(op: Comparison) -> None:
    _assert_same(_second(op.function, op.tensors()), _second(op.reference, op.tensors()))


@every_op
def test_tf_function(op: Comparison) -> None:
    inputs = op.tensors()
    expected = _gradients(op.function, inputs)
    inside = tf.function(lambda *xs: _gradients(op.function, list(xs)))
    _assert_same(inside(*inputs), expected)
    _assert_same(_gradients(tf.function(op.function), inputs), expected)
    second = tf.function(lambda *xs: _second(op.function, list(xs)))
    _assert_same(second(*inputs), _second(op.reference, inputs))


@every_op
def test_tf_function_of_unknown_shapes(op: Comparison) -> None:
    inputs = op.tensors()
    upstream = upstream_of(op.function(*inputs))

    @tf.function(input_signature=[tf.TensorSpec(None, x.dtype) for x in inputs])
    def differentiate(*xs: tf.Tensor) -> Gradients:
        return gradients(op.function, xs, upstream)

    _assert_same(differentiate(*inputs), _gradients(op.function, inputs))


@ops_of_commit("compiled", 3)
def test_jit_compile(op: Comparison) -> None:
    """tests/clients/python compiles every op in every commit."""

    def run(*inputs: tf.Tensor) -> Gradients:
        of = op.function, list(inputs)
        return [*_gradients(*of), *_second(*of)]

    inputs = op.tensors()
    _assert_same(compiled(run)(*inputs), run(*inputs))


@every_op
def test_tf_gradients_in_a_v1_graph(op: Comparison) -> None:
    expected = _gradients(op.function, op.tensors())
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = op.tensors()
        output = op.function(*inputs)
        found = tf.compat.v1.gradients(output, inputs, grad_ys=upstream_of(output))
        assert _missing(found) == op.without_gradient
        values = [None if g is None else session.run(g) for g in found]
    _assert_same(values, expected)


@every_op
def test_forward_mode(op: Comparison) -> None:
    """The forward derivative u'(Jt) is the transpose of the backward one."""
    inputs = op.tensors()
    tangents = [upstream_of(tensor, seed=7 + i) for i, tensor in enumerate(inputs)]
    with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
        output = op.function(*inputs)
    forward = accumulator.jvp(output, tf.UnconnectedGradients.ZERO)
    backward = _gradients(op.function, inputs)
    upstream = upstream_of(output)
    if op.name == "clip_gradient":
        # Not linear in its upstream gradient: the transpose is not defined.
        assert np.all(np.isfinite(forward))
        return
    expected = sum(
        np.sum(gradient * tangent)
        for gradient, tangent in zip(backward, tangents, strict=True)
        if gradient is not None
    )
    np.testing.assert_allclose(np.sum(forward * upstream), expected, rtol=1e-10)


@every_op
def test_empty_and_scalar_inputs(op: Comparison) -> None:
    if not op.any_shape:
        return
    for shape in ((), (0,), (2, 0)):
        # Arguments that must be scalars stay scalars.
        inputs = [tf.ones(shape if np.ndim(x) else (), tf.float64) for x in op.inputs]
        found = _gradients(op.function, inputs)
        assert _missing(found) == op.without_gradient
        for gradient, tensor in zip(found, inputs, strict=True):
            assert gradient is None or gradient.shape == tensor.shape


def test_integers_have_no_gradient() -> None:
    x = tf.constant([5, -5, 7])
    assert gradients(lambda x: tf.cast(tfe.floor_mod(x, 3), tf.float32), [x]) == [None]


def test_a_new_attribute_at_every_step() -> None:
    x = tf.constant(1.0)
    for step in range(1100):
        scale = step / 7
        (dx,) = gradients(functools.partial(tfe.reverse_gradient, scale=scale), [x])
        np.testing.assert_allclose(dx, -scale, rtol=1e-6)
