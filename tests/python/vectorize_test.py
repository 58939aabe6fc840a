"""tf.vectorized_map and Jacobians of every op, without a loop."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from commit_sampling import share_of_commit, turn_of_commit
from comparisons import Comparison, every_op, ops_of_commit, upstream_of
from gradient_modes import gradients, with_gradients

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

_RNG = np.random.default_rng(0)
_ROUNDING = {tf.float16: 2e-3, tf.bfloat16: 2e-2, tf.float32: 4e-6, tf.float64: 1e-14}
every_type = pytest.mark.parametrize("dtype", _ROUNDING, ids=lambda d: d.name)


def _tensor(*shape: int, dtype: tf.DType = tf.float64) -> tf.Tensor:
    return tf.constant(_RNG.normal(size=shape), dtype)


def _vectorized(
    function: Callable, tensors: Sequence[tf.Tensor]
) -> tf.types.experimental.GenericFunction:
    """`function` mapped over the elements of all tensors, as a tf.function."""
    return tf.function(
        lambda: tf.vectorized_map(
            lambda elements: function(*elements), list(tensors), fallback_to_while_loop=False
        ),
        autograph=False,
    )


def _assert_no_loop(function: tf.types.experimental.GenericFunction) -> None:
    graph = function.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node]
    for library_function in graph.library.function:
        nodes += library_function.node_def
    assert not [node.op for node in nodes if "While" in node.op]


def _check(function: Callable, tensors: Sequence[tf.Tensor], tolerance: float = 0) -> None:
    """Compares with a Python loop over the first dimension for every choice of stacked
    inputs; the others are the same in all iterations. Of many choices, a commit has a fifth. The
    rules do not depend on the type, so types other than double have two."""
    elements = list(zip(*map(tf.unstack, tensors), strict=True))
    choices = list(itertools.product([True, False], repeat=len(tensors)))[:-1]
    name = str([(x.shape, x.dtype) for x in tensors])
    if tensors[0].dtype != tf.float64:
        choices = [choices[0], *turn_of_commit(name, choices[1:])]
    elif len(choices) > 16:
        choices = share_of_commit(name, choices, 5)

    def with_each_choice(*element: tf.Tensor) -> list[Any]:
        return [
            function(*[one if stacked else shared for one, shared, stacked in chosen])
            for chosen in (zip(element, elements[0], c, strict=True) for c in choices)
        ]

    mapped = _vectorized(with_each_choice, tensors)
    _assert_no_loop(mapped)
    looped = [with_each_choice(*element) for element in elements]
    for actual, *expected in zip(
        tf.nest.flatten(mapped()), *map(tf.nest.flatten, looped), strict=True
    ):
        np.testing.assert_allclose(actual, tf.stack(expected), rtol=tolerance, atol=tolerance)


def _stack(inputs: Sequence[np.ndarray], count: int) -> list[tf.Tensor]:
    """Inputs that differ from one iteration to the next."""

    def varied(x: np.ndarray, i: int) -> np.ndarray:
        return np.roll(x, i, -1) if x.ndim else x * (1 + i)

    return [tf.constant(np.stack([varied(x, i) for i in range(count)])) for x in inputs]


@every_op
def test_forward(op: Comparison) -> None:
    if not op.name.startswith("roi_"):  # _stack would move a region to no image
        tolerance = 0 if op.vectorizes_exactly else 1e-12
        _check(op.function, _stack(op.inputs, 3), tolerance)


@every_op
def test_no_iteration(op: Comparison) -> None:
    """The result is as empty as for more iterations, and so is the gradient."""

    def with_gradient(*element: tf.Tensor) -> list[tf.Tensor]:
        return [x for x in with_gradients(op.function, element) if x is not None]

    if not op.name.startswith("roi_"):
        one, none = (_stack(op.inputs, 1), [x[:0] for x in _stack(op.inputs, 1)])
        of_one, of_none = (_vectorized(with_gradient, x)() for x in (one, none))
        assert [x.shape for x in of_none] == [(0, *x.shape[1:]) for x in of_one]


@ops_of_commit("jacobian", 2)
def test_jacobian(op: Comparison) -> None:
    inputs = op.tensors()
    wanted = [i for i in range(len(inputs)) if i not in op.without_gradient]

    @tf.function
    def jacobian() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = op.function(*inputs)
        return tape.jacobian(output, [inputs[i] for i in wanted])

    _assert_no_loop(jacobian)
    output = op.function(*inputs)
    basis = np.eye(output.shape.num_elements()).reshape((-1, *output.shape))
    for index, actual in zip(wanted, jacobian(), strict=True):
        rows = [gradients(op.function, inputs, tf.constant(row))[index] for row in basis]
        expected = np.reshape(tf.stack(rows), actual.shape)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@ops_of_commit("jacobian of a gradient", 2)
def test_jacobian_of_a_gradient(op: Comparison) -> None:
    """The ops that differentiate gradients."""
    inputs = op.tensors()
    upstream = upstream_of(op.function(*inputs))

    @tf.function
    def jacobian() -> tf.Tensor:
        with tf.GradientTape() as outer:
            outer.watch(upstream)
            first = gradients(op.function, inputs, upstream)
            first = tf.concat([tf.reshape(g, [-1]) for g in first if g is not None], axis=0)
        return outer.jacobian(first, upstream)

    _assert_no_loop(jacobian)
    assert np.all(np.isfinite(jacobian()))


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        *itertools.product(
            [tfe.floor_mod, tfe.multiply_left, tfe.snake],
            [[(4,), (3, 4)], [(3, 4), (4,)], [(), (2, 3)], [(2, 1), (1, 3)]],
        ),
        *itertools.product(
            [raw_ops.floor_mod_grad, raw_ops.snake_grad],
            [[(3, 4), (4,), (3, 4)], [(2, 3), (), (2, 3)], [(2, 3), (2, 1), (3,)]],
        ),
        *itertools.product(
            [tfe.zero_out, tfe.zero_out_with_index], [[()], [(1,)], [(2, 3)], [(0,)], [(2, 0)]]
        ),
    ],
)
def test_shapes(op: Callable, shapes: Sequence[tuple[int, ...]]) -> None:
    """The cases of broadcasting, of its gradients, and of few or no elements."""
    _check(op, [_tensor(3, *shape) for shape in shapes])


def _images(*shape: int, dtype: tf.DType = tf.float32) -> tf.Tensor:
    values = _RNG.permutation(int(np.prod(shape))).reshape(shape) % 257
    return tf.constant(values, dtype)


def _rois(*shape: int, images: int, dtype: tf.DType = tf.float32) -> tf.Tensor:
    rois = _RNG.uniform(0, 6, (*shape, 5))
    rois[..., 0] = _RNG.integers(0, images, shape)
    rois[..., 3:] += rois[..., 1:3]
    return tf.constant(rois, dtype)


def _roi_pool(data: tf.Tensor, rois: tf.Tensor) -> tfe.RoiPool:
    return tfe.roi_pool(data, rois, pooled_height=2, pooled_width=2, spatial_scale=0.75)


@every_type
def test_roi_pool(dtype: tf.DType) -> None:
    data = _images(3, 2, 5, 6, 4, dtype=dtype)
    rois = _rois(3, 7, images=2, dtype=dtype)
    _check(_roi_pool, [data, rois])
    pooled, argmax = _roi_pool(data[0], rois[0])
    argmax = tf.stack([_roi_pool(data[i], rois[i]).argmax for i in range(3)])
    gradients = tf.cast(_tensor(3, *pooled.shape), dtype)
    shapes = tf.stack([tf.shape(data[0])] * 3)
    _check(raw_ops.roi_pool_grad, [gradients, rois, argmax, shapes])
    _check(raw_ops.roi_pool_grad_grad, [data, rois, argmax])


@every_type
def test_roi_align(dtype: tf.DType) -> None:
    bins = {"pooled_height": 2, "pooled_width": 3}
    roi_align = functools.partial(tfe.roi_align, **bins)
    data = _images(3, 2, 5, 6, 4, dtype=dtype)
    rois = _rois(3, 7, images=2, dtype=dtype)
    _check(roi_align, [data, rois])
    gradients = tf.cast(_tensor(3, 7, 2, 3, 4), dtype)
    shapes = tf.stack([tf.shape(data[0])] * 3)
    grad = functools.partial(raw_ops.roi_align_grad, **bins)
    _check(grad, [gradients, rois, shapes])


def test_resampler() -> None:
    data, warp = _tensor(3, 2, 5, 6, 4), _tensor(3, 2, 7, 3, 2) + 2
    gradients = _tensor(3, 2, 7, 3, 4)
    shapes = tf.stack([tf.shape(data[0])] * 3)
    order = {"x_order": 1, "y_order": 0}
    _check(tfe.resampler, [data, warp])
    _check(raw_ops.resampler_grad, [gradients, data, warp])
    derivative = functools.partial(raw_ops.resampler_derivative, **order)
    _check(derivative, [data, warp])
    adjoint = functools.partial(raw_ops.resampler_adjoint, **order)
    _check(adjoint, [gradients, warp, shapes])


def test_roi_pool_of_more_images_than_a_half_counts() -> None:
    """bfloat16 holds integers only up to 256."""
    data = _images(300, 2, 2, 2, 1, dtype=tf.bfloat16)
    rois = _rois(300, 1, images=2, dtype=tf.bfloat16)
    mapped = _vectorized(_roi_pool, [data, rois])()
    for index in (0, 255, 257, 299):
        expected = _roi_pool(data[index], rois[index])
        np.testing.assert_array_equal(mapped.pooled[index], expected.pooled)


@pytest.mark.parametrize("batch", [-1.0, 2.0, 5.0, float("nan")])
def test_roi_pool_without_images_stays_an_error(batch: float) -> None:
    """An index that names no image must not name one of another iteration."""
    rois = np.zeros((3, 1, 5), np.float32)
    rois[1, 0, 0] = batch
    mapped = _vectorized(_roi_pool, [_images(3, 2, 5, 6, 4), tf.constant(rois)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        mapped()


def test_roi_pool_of_empty_tensors() -> None:
    data, rois = _images(3, 2, 5, 6, 4), _rois(3, 0, images=2)
    mapped = _vectorized(_roi_pool, [data, rois])()
    assert mapped.pooled.shape == (3, 0, 2, 2, 4)


def test_regions_of_no_iteration() -> None:
    data, rois = _images(0, 2, 5, 6, 4), _rois(0, 7, images=2)
    assert _vectorized(_roi_pool, [data, rois])().pooled.shape == (0, 7, 2, 2, 4)
    grad = functools.partial(
        raw_ops.roi_align_grad, data_shape=[2, 5, 6, 4], pooled_height=2, pooled_width=3
    )
    upstream = tf.zeros([0, 7, 2, 3, 4])
    assert _vectorized(grad, [upstream, rois])().shape == (0, 2, 5, 6, 4)


@every_type
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 5), (0, 5), (2, 0)])
def test_normalization(shape: tuple[int, ...], dtype: tf.DType) -> None:
    x = _tensor(3, *shape, dtype=dtype)
    scale, offset = (_tensor(3, shape[-1], dtype=dtype) for _ in range(2))
    _check(tfe.layer_norm, [x, scale, offset])
    _check(tfe.rms_norm, [x, scale])


@every_type
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 5)])
def test_normalization_grad(shape: tuple[int, ...], dtype: tf.DType) -> None:
    """Results differ in bits, because sums over rows have another order."""
    gradients, x = (_tensor(3, *shape, dtype=dtype) for _ in range(2))
    scale = _tensor(3, shape[-1], dtype=dtype)
    computed = tf.float64 if dtype == tf.float64 else tf.float32
    dm, dr, mean, inverse = (_tensor(3, *shape[:-1], dtype=computed) for _ in range(4))
    rms_norm = [gradients, dr, x, scale, inverse]
    _check(raw_ops.rms_norm_grad, rms_norm, _ROUNDING[dtype])
    if shape == (4, 5):  # 2^7 ways to stack
        layer_norm = [gradients, dm, dr, x, scale, mean, inverse]
        _check(raw_ops.layer_norm_grad, layer_norm, _ROUNDING[dtype])
