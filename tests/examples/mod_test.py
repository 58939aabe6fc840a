"""examples/mod: the NumPy prototype and the C++ op compute the same function."""

import sys

import mod
import numpy as np
import pytest
import tensorflow as tf

import tensorflow_ext as tfe

VERSIONS = {"numpy": mod.mod, "cpp": tfe.floor_mod}


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "graph"])
@pytest.mark.parametrize("version", VERSIONS)
def test_values_and_gradients(version: str, wrap: mod.Binary) -> None:
    function = wrap(VERSIONS[version])
    result = mod.differentiate(function, tf.constant(mod.X), tf.constant(mod.Y))
    np.testing.assert_allclose(result.z, [0.1, 0.2, 0.2, 1.7], rtol=1e-6)
    np.testing.assert_array_equal(result.dx, [1, 1, 1, 1])
    np.testing.assert_array_equal(result.dy, [-1, -1, -1, 0])


def test_broadcasting_and_second_order() -> None:
    x = tf.random.uniform([3, 1, 4], -9, 9, seed=1)
    y = tf.random.uniform([5, 1], 1, 3, seed=2)
    upstream = tf.random.normal([3, 5, 4], seed=3)
    results = []
    for function in VERSIONS.values():
        with tf.GradientTape() as second:
            second.watch([x, y, upstream])
            with tf.GradientTape() as first:
                first.watch([x, y])
                z = function(x, y)
            gradients = first.gradient(z, [x, y], upstream)
            total = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in gradients])
        results.append([z, *gradients, second.gradient(total, upstream)])
    for prototype, expected in zip(*results, strict=True):
        assert prototype.shape == expected.shape
        np.testing.assert_allclose(prototype, expected, rtol=1e-4, atol=1e-5)


def test_shapes_are_known() -> None:
    specs = tf.TensorSpec([None, 4]), tf.TensorSpec([4])
    concrete = tf.function(mod.mod).get_concrete_function(*specs)
    assert concrete.output_shapes.as_list() == [None, 4]


def test_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["mod.py", "--size", "1000"])
    mod.main()
    assert "they agree" in capsys.readouterr().out
