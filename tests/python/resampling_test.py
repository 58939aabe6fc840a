"""Points beyond the border of an image, for the functions that move them."""

import numpy as np
import pytest
import reference_ops
import tensorflow as tf
from gradient_modes import compiled, gradients, with_gradients

import tensorflow_ext as tfe

_RNG = np.random.default_rng(0)
_IMAGE = _RNG.normal(size=(1, 3, 4, 2))


_POINTS = [
    (0.0, 0.0), (2.0, 3.0), (-0.5, 1.25), (2.5, 2.75), (1.5, -7.0), (0.25, 99.0),
    (np.inf, 1.0), (0.5, -np.inf), (1e30, -1e30), (1.0, 2.5),
]  # fmt: skip


@pytest.mark.parametrize("point", _POINTS)
@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_value(point: tuple[float, float], indexing: str) -> None:
    given = point if indexing == "ij" else point[::-1]
    actual = tfe.interpolate_bilinear(_IMAGE, np.array([[given]]), indexing)
    expected = reference_ops.interpolate_bilinear(_IMAGE, tf.constant([[point]], tf.float64))
    np.testing.assert_allclose(actual, expected, rtol=1e-14, atol=1e-14)


def test_no_flow_gives_the_image_and_its_slopes_from_the_right() -> None:
    """The value is constant beyond the last row and column."""
    flow = tf.zeros([1, 3, 4, 2], tf.float64)
    warped, gradient = with_gradients(lambda flow: tfe.dense_image_warp(_IMAGE, flow), [flow])
    np.testing.assert_array_equal(warped, _IMAGE)
    slopes = np.zeros((3, 4, 2))
    slopes[:-1, :, 0] = -np.diff(_IMAGE[0], axis=0).sum(-1)
    slopes[:, :-1, 1] = -np.diff(_IMAGE[0], axis=1).sum(-1)
    np.testing.assert_allclose(gradient[0], slopes, rtol=1e-13, atol=1e-13)


def test_beyond_the_border_nothing_changes() -> None:
    points = tf.constant([[[-0.5, 1.2], [2.5, 1.2], [1.2, -3.0], [1.2, 3.5]]], tf.float64)
    (found,) = gradients(lambda points: tfe.interpolate_bilinear(_IMAGE, points), [points])
    inside = [[False, True], [False, True], [True, False], [True, False]]
    np.testing.assert_array_equal(found[0] != 0, inside)


def test_nan_gives_zero() -> None:
    values = tfe.interpolate_bilinear(_IMAGE, [[[np.nan, 1.0], [1.0, np.nan]]])
    np.testing.assert_array_equal(values, np.zeros((1, 2, 2)))


@pytest.mark.parametrize("size", [(1, 5), (5, 1), (1, 1)])
def test_a_single_row_or_column(size: tuple[int, int]) -> None:
    image = _RNG.normal(size=(2, *size, 3))
    flow = tf.zeros([2, *size, 2], tf.float64)
    np.testing.assert_array_equal(tfe.dense_image_warp(image, flow), image)


@pytest.mark.parametrize("image_type", [tf.half, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("flow_type", [tf.half, tf.bfloat16, tf.float32, tf.float64])
def test_types(image_type: tf.DType, flow_type: tf.DType) -> None:
    """Columns that the flow's type cannot distinguish stay distinct."""
    image = tf.cast(_RNG.integers(0, 200, (1, 2, 3001, 1)), image_type)
    flow = tf.ones([1, 2, 3001, 2], flow_type)
    warped = tfe.dense_image_warp(image, flow)
    assert warped.dtype == image_type
    np.testing.assert_array_equal(warped[0, 1, 1:], image[0, 0, :-1])


@pytest.mark.parametrize("shape", [(None, None, None, 3), (2, 4, None, 3), None])
def test_unknown_shapes(shape: tuple[int | None, ...] | None) -> None:
    image = _RNG.normal(size=(2, 4, 5, 3)).astype(np.float32)
    flow = _RNG.normal(size=(2, 4, 5, 2)).astype(np.float32)
    of_flow = None if shape is None else (*shape[:3], 2)
    function = tf.function(
        tfe.dense_image_warp,
        input_signature=[tf.TensorSpec(shape, tf.float32), tf.TensorSpec(of_flow, tf.float32)],
    )
    expected = tfe.dense_image_warp(image, flow)
    np.testing.assert_array_equal(function(image, flow), expected)
    if shape is not None:
        assert function.get_concrete_function().output_shapes.rank == 4
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            function(image, flow[..., 0])


@pytest.mark.parametrize("sets", [1, None])
def test_points_for_all_images(sets: int | None) -> None:
    images, points = _RNG.normal(size=(3, 4, 5, 2)), _RNG.normal(size=(1, 6, 2))
    function = tf.function(
        tfe.interpolate_bilinear,
        input_signature=[
            tf.TensorSpec([None, 4, 5, 2], tf.float64),
            tf.TensorSpec([sets, None, 2], tf.float64),
        ],
    )
    expected = tfe.interpolate_bilinear(images, np.repeat(points, 3, axis=0))
    np.testing.assert_array_equal(tfe.interpolate_bilinear(images, points), expected)
    np.testing.assert_array_equal(function(images, points), expected)
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'warp'"):
        tfe.interpolate_bilinear(images, np.repeat(points, 2, axis=0))


def test_xla() -> None:
    image = _RNG.normal(size=(2, 4, 5, 3)).astype(np.float32)
    flow = _RNG.normal(size=(2, 4, 5, 2)).astype(np.float32)
    actual = compiled(tfe.dense_image_warp)(image, flow)
    np.testing.assert_allclose(actual, tfe.dense_image_warp(image, flow), atol=1e-6)


def test_refused_arguments() -> None:
    with pytest.raises(ValueError, match="argument 'indexing' is 'yx'"):
        tfe.interpolate_bilinear(_IMAGE, [[[0.0, 0.0]]], "yx")
    with pytest.raises(TypeError, match="argument 'image' is of type int32"):
        tfe.dense_image_warp(np.ones((1, 2, 2, 1), np.int32), np.ones((1, 2, 2, 2)))
    for shape in ((1, 3, 2), (1, 3, 4, 1), (1, 3, 4, 3)):
        with pytest.raises(ValueError, match=r"argument 'flow' has .*\[N, H, W, 2\]"):
            tfe.dense_image_warp(_IMAGE, np.ones(shape))
    with pytest.raises(ValueError, match="argument 'image' has shape"):
        tfe.dense_image_warp(_IMAGE[0], np.ones((1, 3, 4, 2)))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tfe.dense_image_warp(_IMAGE, np.ones((2, 3, 4, 2)))
    for shape in ((1, 3), (1, 5, 1), (1, 0), (2,), ()):
        with pytest.raises(ValueError, match=r"'query_points' has .*\[N, \.\.\., 2\]"):
            tfe.interpolate_bilinear(_IMAGE, np.ones(shape))
    with pytest.raises(ValueError, match="argument 'grid' has shape"):
        tfe.interpolate_bilinear(_IMAGE[0], np.ones((1, 3, 2)))


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("shape", [(1, None, None), None])
def test_points_of_unknown_shape(shape: tuple[int | None, ...] | None, jit_compile: bool) -> None:
    points = _RNG.normal(size=(1, 5, 2))
    function = tf.function(
        lambda points: tfe.interpolate_bilinear(_IMAGE, points),
        input_signature=[tf.TensorSpec(shape, tf.float64)],
        jit_compile=jit_compile,
    )
    expected = tfe.interpolate_bilinear(_IMAGE, points)
    np.testing.assert_allclose(function(points), expected, rtol=1e-14)
    for wrong in (1, 3):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="compatible"):
            function(np.ones((1, 5, wrong)))


def test_channels_first() -> None:
    a, b = _RNG.normal(size=(2, 2, 5, 6, 3))
    attributes = (3, 2, 1, 1, 3)
    expected = tfe.correlation_cost(a, b, *attributes)
    a, b = (np.moveaxis(images, -1, 1) for images in (a, b))
    actual = tfe.correlation_cost(a, b, *attributes, "channels_first")
    np.testing.assert_array_equal(actual, np.moveaxis(expected, -1, 1))
    with pytest.raises(ValueError, match="argument 'data_format' is 'NCHW'"):
        tfe.correlation_cost(a, b, *attributes, "NCHW")
