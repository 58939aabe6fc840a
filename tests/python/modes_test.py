# SPDX-License-Identifier: Apache-2.0
"""Every op differentiated in every way that Python has."""

import numpy as np
import op_case
import op_cases
import pytest
import tensorflow as tf
from op_case import Case

import tensorflow_ext as tfx

every_op = pytest.mark.parametrize(
    "case", op_cases.CASES, ids=[case.name for case in op_cases.CASES]
)
Gradients = list[tf.Tensor | None]


def _gradients(function: op_case.Function, inputs: list[tf.Tensor]) -> Gradients:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = function(*inputs)
    return tape.gradient(output, inputs, op_case.upstream(output))


def _second(function: op_case.Function, inputs: list[tf.Tensor]) -> Gradients:
    """The gradient of a function of all first gradients, upstream included."""
    upstream = op_case.upstream(function(*inputs))
    sources = [*inputs, upstream]
    with tf.GradientTape() as outer:
        outer.watch(sources)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            output = function(*inputs)
        first = inner.gradient(output, inputs, upstream)
        score = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in first if g is not None])
    return outer.gradient(score, sources)


def _assert_same(actual: Gradients, expected: Gradients) -> None:
    """None and zeros are the same: a stock composition may give either."""
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        if one is None or other is None:
            for value in (one, other):
                assert value is None or not np.any(value)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_all_ops_have_a_case() -> None:
    outputs = {
        "ClipByGlobalNorm",
        "LayerNorm",
        "RmsNorm",
        "RoiPool",
        "ZeroOutWithIndex",
    }
    public = set(tfx.ops.__all__) - outputs
    assert {case.name.partition(",")[0] for case in op_cases.CASES} == public


@every_op
def test_value(case: Case) -> None:
    inputs = case.tensors()
    np.testing.assert_allclose(
        case.function(*inputs), case.reference(*inputs), rtol=1e-12, atol=1e-12
    )


@every_op
def test_eager_tape(case: Case) -> None:
    actual = _gradients(case.function, case.tensors())
    _assert_same(actual, _gradients(case.reference, case.tensors()))
    for index, gradient in enumerate(actual):
        assert (gradient is None) == (index in case.none)


@every_op
def test_second_gradient_is_the_same(case: Case) -> None:
    first = _gradients(case.function, case.tensors())
    _assert_same(_gradients(case.function, case.tensors()), first)


@every_op
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
def test_types(case: Case, dtype: tf.DType) -> None:
    inputs = case.tensors(dtype)
    exact = [tf.cast(tensor, tf.float64) for tensor in inputs]
    tolerance = {tf.float16: 4e-3, tf.bfloat16: 4e-2, tf.float32: 1e-5}[dtype]
    for actual, expected in zip(
        _gradients(case.function, inputs),
        _gradients(case.function, exact),
        strict=True,
    ):
        assert (actual is None) == (expected is None)
        if actual is not None:
            assert actual.dtype == dtype
            scale = np.max(np.abs(expected)) + 1
            error = np.max(np.abs(tf.cast(actual, tf.float64) - expected))
            assert error <= tolerance * scale


@every_op
def test_persistent_tape(case: Case) -> None:
    inputs = case.tensors()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        output = case.function(*inputs)
    upstream = op_case.upstream(output)
    first = tape.gradient(output, inputs, upstream)
    _assert_same(tape.gradient(output, inputs, upstream), first)
    for index, source in enumerate(inputs):  # one input wanted at a time
        _assert_same([tape.gradient(output, source, upstream)], [first[index]])


@every_op
def test_nested_tapes(case: Case) -> None:
    _assert_same(
        _second(case.function, case.tensors()), _second(case.reference, case.tensors())
    )


@every_op
def test_tf_function(case: Case) -> None:
    inputs = case.tensors()
    expected = _gradients(case.function, inputs)
    inside = tf.function(lambda *xs: _gradients(case.function, list(xs)))
    _assert_same(inside(*inputs), expected)
    _assert_same(_gradients(tf.function(case.function), inputs), expected)
    second = tf.function(lambda *xs: _second(case.function, list(xs)))
    _assert_same(second(*inputs), _second(case.reference, inputs))


@every_op
def test_tf_function_of_unknown_shapes(case: Case) -> None:
    inputs = case.tensors()
    upstream = op_case.upstream(case.function(*inputs))

    @tf.function(input_signature=[tf.TensorSpec(None, x.dtype) for x in inputs])
    def gradients(*xs: tf.Tensor) -> Gradients:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            output = case.function(*xs)
        return tape.gradient(output, list(xs), upstream)

    _assert_same(gradients(*inputs), _gradients(case.function, inputs))


@every_op
def test_jit_compile(case: Case) -> None:
    inputs = case.tensors()
    expected = _gradients(case.function, inputs)
    compiled = tf.function(
        lambda *xs: _gradients(case.function, list(xs)), jit_compile=True
    )
    _assert_same(compiled(*inputs), expected)
    second = tf.function(lambda *xs: _second(case.function, list(xs)), jit_compile=True)
    _assert_same(second(*inputs), _second(case.function, inputs))


@every_op
def test_tf_gradients_in_a_v1_graph(case: Case) -> None:
    expected = _gradients(case.function, case.tensors())
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = case.tensors()
        output = case.function(*inputs)
        gradients = tf.compat.v1.gradients(
            output, inputs, grad_ys=op_case.upstream(output)
        )
        for index, gradient in enumerate(gradients):
            assert (gradient is None) == (index in case.none)
        values = [None if g is None else session.run(g) for g in gradients]
    _assert_same(values, expected)


@every_op
def test_forward_mode(case: Case) -> None:
    """The forward derivative u'(Jt) is the transpose of the backward one."""
    inputs = case.tensors()
    tangents = [op_case.upstream(tensor, seed=7 + i) for i, tensor in enumerate(inputs)]
    with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
        output = case.function(*inputs)
    forward = accumulator.jvp(output, tf.UnconnectedGradients.ZERO)
    backward = _gradients(case.function, inputs)
    upstream = op_case.upstream(output)
    if case.name == "clip_gradient":
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
def test_empty_and_scalar_inputs(case: Case) -> None:
    if not case.any_shape:
        return
    for shape in ((), (0,), (2, 0)):
        # What has to be a scalar stays one.
        inputs = [tf.ones(shape if np.ndim(x) else (), tf.float64) for x in case.inputs]
        gradients = _gradients(case.function, inputs)
        for index, gradient in enumerate(gradients):
            assert (gradient is None) == (index in case.none)
            assert gradient is None or gradient.shape == inputs[index].shape


def test_integers_have_no_gradient() -> None:
    x = tf.constant([5, -5, 7])
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = tf.cast(tfx.floor_mod(x, 3), tf.float32)
    assert tape.gradient(output, x) is None


def test_a_new_attribute_at_every_step() -> None:
    x = tf.constant(1.0)
    for step in range(1100):
        scale = step / 7
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tfx.reverse_gradient(x, scale=scale)
        np.testing.assert_allclose(tape.gradient(y, x), -scale, rtol=1e-6)


def test_keras_fit() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 8)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
    tf.keras.utils.set_random_seed(0)
    layer = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layer.Dense(32),
            layer.Lambda(tfx.relu),
            layer.Dense(16),
            layer.Lambda(lambda h: tfx.sign_straight_through(h, clip=2.0)),
            layer.Lambda(lambda h: tfx.scale_gradient(h, scale=0.5)),
            layer.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(0.02), "binary_crossentropy")
    losses = model.fit(x, y, epochs=30, batch_size=64, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]
