"""Ops that take a list of tensors."""

import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import compiled, gradients

import tensorflow_ext as tfe


def test_reverse_gradient_n_of_any_types() -> None:
    """Floating-point and complex tensors have a gradient; others pass through."""
    x, z = tf.constant([1.0, 2.0]), tf.constant([1 + 2j], tf.complex128)
    others = [tf.constant(["a", "b"]), tf.constant([True]), tf.constant(7, tf.int8)]
    variable = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        outputs = tfe.reverse_gradient_n([x, *others, z, variable.handle], scale=2.0)
    gradients = tape.gradient([outputs[0], outputs[4]], [x, z])
    np.testing.assert_array_equal(gradients[0], [-2, -2])
    np.testing.assert_array_equal(gradients[1], [-2])
    for output, given in zip(outputs[1:4], others, strict=True):
        np.testing.assert_array_equal(output, given)
    assert outputs[5].dtype == tf.resource


@pytest.mark.parametrize("jit_compile", [False, True])
def test_reverse_gradient_n_in_a_function(jit_compile: bool) -> None:
    @tf.function(jit_compile=jit_compile)
    def differentiate(x: tf.Tensor, z: tf.Tensor, n: tf.Tensor) -> list[tf.Tensor | None]:
        def loss(x: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
            y, w, _ = tfe.reverse_gradient_n([x, z, n], scale=0.5)
            return tf.reduce_sum(y * y) + tf.reduce_sum(tf.math.real(w))

        return gradients(loss, [x, z])

    given = tf.constant([1.0, 2.0]), tf.constant([1 + 2j], tf.complex64)
    of_x, of_z = differentiate(*given, tf.constant(3))
    np.testing.assert_array_equal(of_x, [-1, -2])
    np.testing.assert_array_equal(of_z, [-0.5])


def test_reverse_gradient_n_of_no_tensors() -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tfe.reverse_gradient_n([])


def test_clip_by_global_norm_matches_tensorflow() -> None:
    """Accepts None and IndexedSlices."""
    slices = tf.IndexedSlices(tf.constant([[2.0, 4.0]]), tf.constant([3]))
    values = [tf.constant([3.0, 4.0]), None, slices]
    actual = tfe.clip_by_global_norm(values, 1.0)
    expected, norm = tf.clip_by_global_norm(values, 1.0)
    np.testing.assert_allclose(actual.norm, norm, rtol=1e-6)
    np.testing.assert_allclose(actual.clipped[0], expected[0], rtol=1e-6)
    assert actual.clipped[1] is None
    np.testing.assert_allclose(actual.clipped[2].values, expected[2].values, rtol=1e-6)
    np.testing.assert_array_equal(actual.clipped[2].indices, [3])


@pytest.mark.parametrize("values", [[], [None]])
def test_clip_by_global_norm_of_no_tensors(values: list[None]) -> None:
    with pytest.raises(ValueError, match="argument 'values' has no tensor in it"):
        tfe.clip_by_global_norm(values, 1.0)


def test_clip_by_global_norm_refuses_other_types() -> None:
    """Behaves as TensorFlow's function does."""
    for values in (iter([1.0]), tf.constant([1.0]), tf.Variable([1.0]), "ab", 1.0):
        for function in (tfe.clip_by_global_norm, tf.clip_by_global_norm):
            with pytest.raises(TypeError):
                function(values, 1.0)
    with pytest.raises(TypeError, match=r"argument 'values' is .*, expected a"):
        tfe.clip_by_global_norm((x for x in [1.0]), 1.0)
    clipped = tf.function(lambda x: tfe.clip_by_global_norm((x, [x]), 1.0).clipped)
    assert len(clipped(tf.constant(2.0))) == 2


@pytest.mark.parametrize("clip_norm", [-1.0, np.nan])
def test_clip_norm_that_xla_cannot_refuse(clip_norm: float) -> None:
    clip = compiled(tfe.clip_by_global_norm)
    (clipped,), norm = clip([tf.constant([3.0, 4.0])], tf.constant(clip_norm))
    np.testing.assert_array_equal(clipped, [np.nan, np.nan])
    assert norm == 5


def test_threshold_that_xla_cannot_refuse() -> None:
    pruned = compiled(tfe.prune_by_magnitude)(tf.constant([3.0, 4.0]), tf.constant(np.nan))
    np.testing.assert_array_equal(pruned, [np.nan, np.nan])


def test_clip_by_global_norm_of_many_tensors() -> None:
    """Many tensors give the result of one tensor with the same values, up to rounding."""
    values = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    one, norm_of_one = tfe.clip_by_global_norm([values], 2.0)
    parts = np.split(values, np.arange(500, 100_000, 500))
    many, norm_of_many = tfe.clip_by_global_norm(parts, 2.0)
    np.testing.assert_allclose(norm_of_many, norm_of_one, rtol=1e-7)
    np.testing.assert_allclose(tf.concat(many, 0), one[0], rtol=3e-7)
