"""TensorFlow Addons' ops in graphs as it wrote them: values, shapes, types, errors."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
import wrappers
from addons_cases import CASES, TYPES, Case
from commit_sampling import turn_of_commit
from tensorflow.core.framework import types_pb2

from tensorflow_ext import addons

# The largest error, relative to the output's largest value, because sums of products with both
# signs cancel.
_ROUNDING = {"half": 2e-3, "bfloat16": 1.6e-2, "float": 1e-6, "double": 1e-14}
_NUMPY = {
    "half": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float": np.float32,
    "double": np.float64,
}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_every_op_has_cases() -> None:
    assert {case.op for case in CASES} == {*addons.OPS}


def _rounded(case: Case, dtype: str) -> list[np.ndarray]:
    """The inputs in a type."""
    return [x.astype(_NUMPY[dtype]) if x.dtype.kind == "f" else x for x in case.inputs]


def _check(case: Case, dtype: str, found: Any) -> None:
    exact = [x if x.dtype.kind == "i" else x.astype(np.float64) for x in _rounded(case, dtype)]
    expected = case.outputs(*exact)
    assert len(found) == len(expected)
    for value, reference in zip(found, expected, strict=True):
        assert value.dtype == _NUMPY[dtype]
        assert value.shape == reference.shape
        error = np.abs(np.asarray(value, np.float64) - reference).max()
        assert error <= _ROUNDING[dtype] * max(np.abs(reference).max(), 1)


_COMPILED = [(case, t, True) for case in CASES for t in turn_of_commit(case.name, [*TYPES])]


@pytest.mark.parametrize(
    ("case", "dtype", "compiled"),
    [*((case, dtype, False) for case in CASES for dtype in TYPES), *_COMPILED],
    ids=lambda value: getattr(value, "name", value),
)
def test_imported(dtype: str, compiled: bool, case: Case) -> None:
    """A function that wraps a graph; the graph of float has no attributes with default values."""
    graph_def = case.graph(TYPES[dtype], strip_defaults=dtype == "float")
    del graph_def.node[:-1]  # XLA compiles no placeholders
    count = len(wrappers.op_def(case.op).output_arg)

    @tf.function(jit_compile=compiled)
    def run(*values: tf.Tensor) -> list[tf.Tensor]:
        names = {f"x{i}": value for i, value in enumerate(values)}
        outputs = [f"y:{i}" for i in range(count)]
        return tf.graph_util.import_graph_def(graph_def, names, outputs)

    _check(case, dtype, [y.numpy() for y in run(*map(tf.constant, _rounded(case, dtype)))])


@every_case
def test_eager(case: Case) -> None:
    values = wrappers.call(case, [tf.constant(x) for x in case.inputs])
    _check(case, "double", [value.numpy() for value in values])


# ----- Shapes. -----


_SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "known": lambda x: x.shape,
    "of known rank": lambda x: [None] * x.ndim,
    "unknown": lambda x: None,
}


@every_case
@pytest.mark.parametrize("kind", _SHAPES)
def test_shapes(kind: str, case: Case) -> None:
    with tf.Graph().as_default():
        inputs = [tf.compat.v1.placeholder(x.dtype, _SHAPES[kind](x)) for x in case.inputs]
        values = wrappers.call(case, inputs)
    for value, output in zip(values, case.outputs(*case.inputs), strict=True):
        assert value.shape.is_compatible_with(output.shape)
        assert value.shape == output.shape or kind != "known"


@every_case
def test_an_empty_batch(case: Case) -> None:
    """The inputs' first dimension is 0; the parameters of an EmbeddingBag are not empty."""
    bags = case.op.startswith("Addons>EmbeddingBag")
    inputs = [x if bags and i == 1 else x[:0] for i, x in enumerate(case.inputs)]
    for compiled in (False, True):
        call = tf.function(partial(wrappers.call, case), jit_compile=compiled)
        values = call([*map(tf.constant, inputs)])
        for i, (value, output) in enumerate(zip(values, case.outputs(*case.inputs), strict=True)):
            whole = bags and case.op.endswith("Grad") and i == 0
            assert value.shape == (output.shape if whole else (0, *output.shape[1:]))
            np.testing.assert_array_equal(value, np.zeros(value.shape))


# ----- Errors. -----

_A = np.zeros((2, 5, 6, 3), np.float32)
_SIZES = {"kernel_size": 1, "max_displacement": 1, "stride_1": 1, "stride_2": 1, "pad": 1}


def _cost(**attributes: Any) -> Callable[[], Any]:
    return lambda: wrappers.function_of("Addons>CorrelationCost")(
        _A, _A, **{**_SIZES, **attributes}
    )


_ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "even kernel": (
        _cost(kernel_size=2),
        "Addons>CorrelationCost: .*attribute 'kernel_size' is 2, expected an odd",
    ),
    "negative pad": (_cost(pad=-1), "Addons>CorrelationCost: .*'pad' of -1"),
    "stride of 0": (_cost(stride_1=0), "Addons>CorrelationCost: .*'stride_1' of 0"),
    "unknown layout": (_cost(data_format="NCDHW"), "NCDHW"),
    "too small": (
        _cost(max_displacement=9, pad=0),
        r"Addons>CorrelationCost: .*'a' has shape \[2,5,6,3\], expected a height",
    ),
    "other shapes": (
        lambda: wrappers.function_of("Addons>CorrelationCost")(_A, _A[:1], **_SIZES),
        r"Addons>CorrelationCost: .*'b' has shape \[1,5,6,3\]",
    ),
    "other shape of top_diff": (
        lambda: wrappers.function_of("Addons>CorrelationCostGrad")(_A, _A, _A, **_SIZES),
        r"Addons>CorrelationCostGrad: .*'gradients' has shape",
    ),
    "bounds": (
        lambda: wrappers.function_of("Addons>Softshrink")(_A, lower=2.0),
        "Addons>Softshrink: .*'lower' is 2 and 'upper' is 0.5",
    ),
    "combiner": (
        lambda: wrappers.function_of("Addons>EmbeddingBag")(
            [[0]], [[1.0]], [[1.0]], combiner="sum"
        ),
        "sum",
    ),
    "warp": (
        lambda: wrappers.function_of("Addons>Resampler")(_A, np.zeros((2, 3), "f")),
        "Addons>Resampler: .*'warp' has shape",
    ),
}


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize("name", _ERRORS)
def test_error(name: str, in_graph: bool) -> None:
    call, message = _ERRORS[name]
    run = tf.function(call, autograph=False) if in_graph else call
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        run()


def test_an_index_out_of_range() -> None:
    bag = wrappers.function_of("Addons>EmbeddingBag")
    for index in (-1, 3):
        message = f"Addons>EmbeddingBag: .*is {index} at"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            bag([[0, index]], np.zeros((3, 2)), np.ones((1, 2)))


def test_integers_are_refused() -> None:
    """TensorFlow Addons' CorrelationCost admits these types but has no kernel for them."""
    (case,) = (case for case in CASES if case.name.endswith("1_1_1_1_1_NHWC"))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="int32"):
        tf.graph_util.import_graph_def(case.graph(types_pb2.DT_INT32))
