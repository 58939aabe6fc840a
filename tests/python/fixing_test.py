"""tensorflow_ext.gradients.fix() and restore().

tests/stock_gradients compares the fixed gradients, case by case.
"""

import concurrent.futures
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import processes
import pytest
import tensorflow as tf
from gradient_modes import eager, graph, inside, outside
from tensorflow.python.framework import ops

from tensorflow_ext import gradients
from tensorflow_ext._runtime import _fixing, _library


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    gradients.restore()
    yield
    gradients.restore()


X = tf.constant([2.0, 0.0, 3.0])


def of_product(mode: Callable = eager) -> np.ndarray:
    """The derivative of the last product: [0, 6, 0]. TensorFlow's gradient gives zeros."""
    return mode(lambda x: tf.math.cumprod(x)[2], X)[0]


def test_import_changes_nothing() -> None:
    program = """
        from tensorflow.python.framework import ops
        import tensorflow as tf
        registry = ops.gradient_registry
        before = {op: registry.lookup(op) for op in registry.list()}
        import tensorflow_ext
        assert all(registry.lookup(op) is before[op] for op in before)
        """
    processes.run(program)


def test_fix_and_restore() -> None:
    wrong = of_product()
    assert not np.allclose(wrong, [0, 6, 0])
    changed = gradients.fix()
    assert "Cumprod" in changed
    assert changed == sorted(_fixing.FIXED)
    np.testing.assert_allclose(of_product(), [0, 6, 0])
    np.testing.assert_allclose(of_product(graph), [0, 6, 0])
    assert gradients.fix() == []
    assert gradients.restore() == changed
    np.testing.assert_array_equal(of_product(), wrong)
    assert gradients.restore() == []


def test_named_ops() -> None:
    assert gradients.fix(["Cumprod"]) == ["Cumprod"]
    np.testing.assert_allclose(of_product(), [0, 6, 0])
    assert gradients.restore(["EuclideanNorm"]) == []
    assert gradients.fix(["EuclideanNorm", "Cumprod"]) == ["EuclideanNorm"]
    assert gradients.restore(["Cumprod"]) == ["Cumprod"]
    assert gradients.restore() == ["EuclideanNorm"]


def test_an_op_whose_gradient_is_right_may_be_named() -> None:
    assert "Softplus" not in _fixing.FIXED
    before = ops.gradient_registry.lookup("Softplus")
    assert gradients.fix(["Softplus"]) == ["Softplus"]
    assert ops.gradient_registry.lookup("Softplus") is not before
    np.testing.assert_allclose(eager(tf.math.softplus, X)[0], tf.sigmoid(X), rtol=1e-6)
    gradients.restore()
    assert ops.gradient_registry.lookup("Softplus") is before


def test_an_op_with_a_gradient_of_this_library_stays() -> None:
    assert gradients.fix(["TfExt>Relu", "MatrixExponential"]) == []


@pytest.mark.parametrize("function", [gradients.fix, gradients.restore])
def test_errors(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match=r"no op 'Cumprods'; expected op types"):
        function(["EuclideanNorm", "Cumprods"])
    with pytest.raises(ValueError, match=r"no gradient of 'Placeholder'"):
        function(["Placeholder"])
    with pytest.raises(ValueError, match=r"no gradient of 'PartitionedCall'"):
        function(["PartitionedCall"])
    with pytest.raises(TypeError, match=r"write \['Cumprod'\]"):
        function("Cumprod")
    assert gradients.restore() == []


def test_from_many_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            for change in (gradients.fix, gradients.restore):
                changed = pool.map(lambda _, change=change: change(), range(8))
                all_of_them = itertools.chain.from_iterable(changed)
                assert sorted(all_of_them) == sorted(_fixing.FIXED)


def test_the_list_names_ops_that_can_be_fixed() -> None:
    assert len(set(_fixing.FIXED)) == len(_fixing.FIXED) > 0
    assert all(_library.Registries.FUNCTION_OWN in _library.registries(op) for op in _fixing.FIXED)


def test_a_tape_that_kept_too_little() -> None:
    """Gives TensorFlow's gradient where there is one, else an error, except in a graph."""
    gradients.fix()
    square = tf.constant([[2.0, 1.0], [1.0, 3.0]])
    assert np.all(np.isfinite(eager(tf.linalg.sqrtm, square)))
    image = tf.constant([[0.3, 0.5, 0.7]])
    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"HSVToRGB.*not kept input 0.*tf\.function.*restore\(\['HSVToRGB'\]\)",
    ):
        eager(tf.image.hsv_to_rgb, image)
    assert np.any(outside(tf.image.hsv_to_rgb, image))


def test_a_tape_in_a_function() -> None:
    """The outputs of its ops know all their inputs."""
    gradients.fix()
    logits = tf.constant([[0.0, 1.0], [2.0, 0.0]], tf.float64)
    label = tf.constant([[0.25, 0.75]], tf.float64)  # broadcasts

    def loss(label: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=label).loss

    expected = -tf.reduce_sum(tf.nn.log_softmax(logits), 0, keepdims=True)
    np.testing.assert_allclose(inside(loss, label)[0], expected)


def test_old_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"mend\(\) is now called fix\(\)"):
        assert gradients.mend(["Cumprod"]) == ["Cumprod"]
