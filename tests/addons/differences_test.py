"""Results that differ from TensorFlow Addons' on purpose: the values of both libraries, as
docs/tensorflow_addons.md lists them.
"""

import math
from collections.abc import Callable
from typing import Any

import formulas
import formulas_gpu
import numpy as np
import pytest
import tensorflow as tf
import wrappers

Array = np.ndarray

INF, NAN = math.inf, math.nan


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with np.errstate(all="ignore"):
        yield


def op(name: str, *inputs: Any, **attributes: Any) -> Any:
    found = wrappers.function_of(f"Addons>{name}")(*inputs, **attributes)
    return [y.numpy() for y in found] if isinstance(found, tuple) else found.numpy()


# ----- CorrelationCost. -----

_SIZES = {"kernel_size": 1, "max_displacement": 1, "stride_2": 1}


def _images(height: int = 4, width: int = 5) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, height, width, 2)), rng.normal(size=(2, height, width, 2))


@pytest.mark.parametrize("stride_1", [1, 2, 3])
@pytest.mark.parametrize("pad", [0, 1, 2])
def test_correlation_cost_as_on_the_gpu(pad: int, stride_1: int) -> None:
    a, b = _images()
    sizes = {**_SIZES, "stride_1": stride_1, "pad": pad}
    found = op("CorrelationCost", a, b, **sizes)
    on_gpu = formulas.correlation_cost(a, b, **sizes)
    on_cpu = formulas.correlation_cost(a, b, on_gpu=False, **sizes)
    np.testing.assert_allclose(found, on_gpu, rtol=1e-12, atol=1e-12)
    assert np.allclose(on_gpu, on_cpu) == (stride_1 == 1 or pad == 0)


@pytest.mark.parametrize("kernel_size", [1, 3])
@pytest.mark.parametrize("stride_1", [1, 2])
def test_gradient_of_correlation_cost(stride_1: int, kernel_size: int) -> None:
    a, b = _images(5, 6)
    sizes = {**_SIZES, "kernel_size": kernel_size, "stride_1": stride_1, "pad": 2}
    shape = formulas.correlation_cost(a, b, **sizes).shape
    top_diff = np.random.default_rng(1).normal(size=shape)
    exact, _ = formulas.correlation_cost_grad(a, b, top_diff, **sizes)
    found, _ = op("CorrelationCostGrad", a, b, top_diff, **sizes)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)
    theirs = formulas_gpu.correlation_cost_a_grad(a, b, top_diff, **sizes)
    assert np.allclose(theirs, exact) == (stride_1 == 1 and kernel_size == 1)


# ----- EmbeddingBag. -----


def test_gradient_of_embedding_bag_by_the_rows() -> None:
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 4, size=(3, 5))
    params, weights, grads = (rng.normal(size=s) for s in ((4, 3), (3, 5), (3, 3)))
    exact, _ = formulas.embedding_bag_grad(indices, params, weights, grads)
    found, _ = op("EmbeddingBagGrad", indices, params, weights, grads)
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    theirs = formulas_gpu.embedding_bag_params_grad(indices, params, weights, grads)
    assert not np.allclose(theirs, exact)
    ones = np.ones_like(grads)  # TensorFlow Addons tests it with these
    np.testing.assert_allclose(
        formulas_gpu.embedding_bag_params_grad(indices, params, weights, ones),
        formulas.embedding_bag_grad(indices, params, weights, ones)[0],
    )


def test_empty_bags() -> None:
    empty = np.zeros((2, 0))
    arguments = (empty.astype(np.int32), np.ones((4, 3)), empty)
    theirs = formulas.embedding_bag(*arguments, combiner="MEAN")
    np.testing.assert_array_equal(theirs, np.full((2, 3), NAN))
    found = op("EmbeddingBag", *arguments, combiner="MEAN")
    np.testing.assert_array_equal(found, np.zeros((2, 3)))


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_out_of_range_in_xla(index: int) -> None:
    run = tf.function(wrappers.function_of("Addons>EmbeddingBag"), jit_compile=True)
    params = tf.constant(np.arange(12.0).reshape(4, 3))
    found = run([[1, index]], params, tf.constant([[2.0, 5.0]], tf.float64))
    np.testing.assert_array_equal(found, [[6, 8, 10]])


# ----- Resampler. -----


@pytest.mark.parametrize("value", [INF, NAN])
def test_a_pixel_of_weight_0(value: float) -> None:
    data = np.array([[1.0, 2.0], [3.0, value]]).reshape(1, 2, 2, 1)
    warp = np.array([[[1.0, 0.0]]])  # on the pixel above it
    np.testing.assert_array_equal(formulas.resampler(data, warp), [[[NAN]]])
    np.testing.assert_array_equal(op("Resampler", data, warp), [[[2.0]]])


# ----- Activations. -----

_X = [-INF, INF, NAN]
_EXACT = {"approximate": False}
# A formula and the values of TensorFlow Addons and of this library at -infinity, infinity and NaN.
# Gradients are for an upstream gradient of 1.
_LIMITS: dict[str, tuple[Callable[..., Array], dict[str, Any], list, list]] = {
    "Gelu": (formulas.gelu, {}, [NAN, INF, NAN], [0, INF, NAN]),
    "Gelu exact": (formulas.gelu, _EXACT, [NAN, INF, NAN], [0, INF, NAN]),
    "GeluGrad": (formulas.gelu_grad, {}, [NAN, NAN, NAN], [0, 1, NAN]),
    "GeluGrad exact": (formulas.gelu_grad, _EXACT, [NAN, NAN, NAN], [0, 1, NAN]),
    "Hardshrink": (formulas.hardshrink, {}, [-INF, INF, 0], _X),
    "HardshrinkGrad": (formulas.shrink_grad, {}, [1, 1, 0], [1, 1, 1]),
    "Lisht": (formulas.lisht, {}, [INF, INF, NAN], [INF, INF, NAN]),
    "LishtGrad": (formulas.lisht_grad, {}, [NAN, NAN, NAN], [-1, 1, NAN]),
    "Mish": (formulas.mish, {}, [NAN, INF, NAN], [0, INF, NAN]),
    "MishGrad": (formulas.mish_grad, {}, [NAN, NAN, NAN], [0, 1, NAN]),
    "Softshrink": (formulas.softshrink, {}, [-INF, INF, 0], _X),
    "SoftshrinkGrad": (formulas.shrink_grad, {}, [1, 1, 0], [1, 1, 1]),
    "Tanhshrink": (formulas.tanhshrink, {}, _X, _X),
    "TanhshrinkGrad": (formulas.tanhshrink_grad, {}, [1, 1, NAN], [1, 1, NAN]),
}


@pytest.mark.parametrize("name", _LIMITS)
def test_infinity_and_nan(name: str) -> None:
    formula, attributes, theirs, ours = _LIMITS[name]
    inputs = [np.ones(3)] * ("Grad" in name) + [np.array(_X)]
    np.testing.assert_array_equal(formula(*inputs, **attributes), theirs)
    np.testing.assert_array_equal(op(name.split()[0], *inputs, **attributes), ours)


def _errors(name: str, formula: Callable, x: Array, **attributes: Any) -> list[float]:
    """The largest relative errors of the formula of TensorFlow Addons and of the op, for `x`."""
    exact = formula(x.astype(np.longdouble), **attributes)
    values = formula(x, **attributes), op(name, x, **attributes)
    assert all(value.dtype == x.dtype for value in values)
    return [float(np.abs((value - exact) / exact).max()) for value in values]


def test_tanhshrink_near_0() -> None:
    x = np.geomspace(1e-4, 1e-2, 50, dtype=np.float32)
    theirs, ours = _errors("Tanhshrink", formulas.tanhshrink, x)
    assert theirs > 0.1
    assert ours < 1e-6


def test_exact_gelu_of_negative_values() -> None:
    x = np.array([-3.0, -4.0, -5.0, -6.0], np.float32)
    exact = np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x.tolist()])
    one_plus_erf = (
        np.float32(0.5) * x * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5)).astype(np.float32))
    )
    assert one_plus_erf[-1] == 0
    assert np.abs(one_plus_erf / exact - 1).max() > 0.01
    found = op("Gelu", x, approximate=False)
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_half_is_computed_in_float() -> None:
    x = np.linspace(-3, 3, 1001, dtype=np.float16)
    for name, formula in {"Mish": formulas.mish, "Lisht": formulas.lisht}.items():
        exact = formula(x.astype(np.float64))
        rounded = exact.astype(np.float16)
        wrong = [int((value != rounded).sum()) for value in (op(name, x), formula(x))]
        assert wrong[0] < 5 < 50 < wrong[1]
