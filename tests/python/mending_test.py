# SPDX-License-Identifier: Apache-2.0
"""tensorflow_ext.gradients.mend() and restore().

That the gradients are right then is what tests/stock_gradients compares, case by case.
"""

import concurrent.futures
import itertools
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops

from tensorflow_ext import _library, _mending, gradients


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    gradients.restore()
    yield
    gradients.restore()


X = tf.constant([2.0, 0.0, 3.0])


def of_product() -> np.ndarray:
    """The derivative of the last product: [0, 6, 0]. TensorFlow's gives zeros."""
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.math.cumprod(X)[2]
    return tape.gradient(y, X).numpy()


def traced_product() -> np.ndarray:
    return tf.function(of_product_in_graph)(X).numpy()


def of_product_in_graph(x: tf.Tensor) -> tf.Tensor:
    return tf.gradients(tf.math.cumprod(x)[2], x)[0]


def test_import_changes_nothing() -> None:
    program = (
        "from tensorflow.python.framework import ops\n"
        "import tensorflow as tf\n"
        "registry = ops.gradient_registry\n"
        "before = {op: registry.lookup(op) for op in registry.list()}\n"
        "import tensorflow_ext\n"
        "print(all(registry.lookup(op) is before[op] for op in before))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    )
    assert printed.stdout.split() == ["True"]


def test_mend_and_restore() -> None:
    wrong = of_product()
    assert not np.allclose(wrong, [0, 6, 0])
    changed = gradients.mend()
    assert "Cumprod" in changed
    assert changed == sorted(_mending.MENDED)
    np.testing.assert_allclose(of_product(), [0, 6, 0])
    np.testing.assert_allclose(traced_product(), [0, 6, 0])
    assert gradients.mend() == []
    assert gradients.restore() == changed
    np.testing.assert_array_equal(of_product(), wrong)
    assert gradients.restore() == []


def test_named_ops() -> None:
    assert gradients.mend(["Cumprod"]) == ["Cumprod"]
    np.testing.assert_allclose(of_product(), [0, 6, 0])
    assert gradients.restore(["EuclideanNorm"]) == []
    assert gradients.mend(["EuclideanNorm", "Cumprod"]) == ["EuclideanNorm"]
    assert gradients.restore(["Cumprod"]) == ["Cumprod"]
    assert gradients.restore() == ["EuclideanNorm"]


def test_an_op_whose_gradient_is_right_may_be_named() -> None:
    assert "Softplus" not in _mending.MENDED
    before = ops.gradient_registry.lookup("Softplus")
    assert gradients.mend(["Softplus"]) == ["Softplus"]
    assert ops.gradient_registry.lookup("Softplus") is not before
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.math.softplus(X)
    np.testing.assert_allclose(tape.gradient(y, X), tf.sigmoid(X), rtol=1e-6)
    gradients.restore()
    assert ops.gradient_registry.lookup("Softplus") is before


def test_an_op_with_a_gradient_of_this_library_stays() -> None:
    assert gradients.mend(["TfExt>Relu", "MatrixExponential"]) == []


@pytest.mark.parametrize("function", [gradients.mend, gradients.restore])
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
            for change in (gradients.mend, gradients.restore):
                changed = pool.map(lambda _, change=change: change(), range(8))
                all_of_them = itertools.chain.from_iterable(changed)
                assert sorted(all_of_them) == sorted(_mending.MENDED)


def test_the_list_names_ops_that_can_be_mended() -> None:
    assert len(set(_mending.MENDED)) == len(_mending.MENDED) > 0
    assert all(
        _library.Registries.FUNCTION_OWN in _library.registries(op) for op in _mending.MENDED
    )


def test_a_tape_that_kept_too_little() -> None:
    """TensorFlow's gradient where it has one, else an error, unless in a graph."""
    gradients.mend()
    square = tf.constant([[2.0, 1.0], [1.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(square)
        root = tf.linalg.sqrtm(square)
    assert np.all(np.isfinite(tape.gradient(root, square)))
    image = tf.constant([[0.3, 0.5, 0.7]])

    def of_image(image: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(image)
            converted = tf.image.hsv_to_rgb(image)
        return tape.gradient(converted, image)

    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"HSVToRGB.*not kept input 0.*tf\.function.*restore\(\['HSVToRGB'\]\)",
    ):
        of_image(image)
    with tf.GradientTape() as tape:
        tape.watch(image)
        converted = tf.function(tf.image.hsv_to_rgb)(image)
    assert np.any(tape.gradient(converted, image) != 0)


def test_a_tape_in_a_function() -> None:
    """Its ops have outputs, which know all their inputs."""
    gradients.mend()
    logits = tf.constant([[0.0, 1.0], [2.0, 0.0]], tf.float64)
    label = tf.constant([[0.25, 0.75]], tf.float64)  # broadcasts

    @tf.function
    def derivative() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(label)
            loss = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=label).loss
        return tape.gradient(loss, label)

    expected = -tf.reduce_sum(tf.nn.log_softmax(logits), 0, keepdims=True)
    np.testing.assert_allclose(derivative(), expected)
