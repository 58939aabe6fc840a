"""Tables keyed by op attributes are bounded, and can be emptied while others read them."""

import functools
import types

import pytest
import tensorflow as tf
from gradient_modes import eager
from tensorflow.python.framework import op_def_registry

import tensorflow_ext as tfe
from tensorflow_ext._override import _function_gradient
from tensorflow_ext._runtime import _fixing, _registration

X = tf.constant([-2.0, 3.0])


def test_functions_of_an_overridden_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registration, "_MAX_PLANS", 4)
    gradient = _function_gradient.FunctionGradient(
        op_def_registry.get("LeakyRelu"),
        tfe.gradients.function_def("LeakyRelu", T=tf.float32, alpha=0.5),
    )
    sizes = []
    with tfe.override_gradient({"LeakyRelu": gradient}):
        for step in range(9):
            (found,) = eager(functools.partial(tf.nn.leaky_relu, alpha=0.1 * step), X)
            assert found.tolist() == [0.5, 1]
            sizes.append(len(gradient._functions))
    assert sizes == [1, 2, 3, 4, 1, 2, 3, 4, 1]


def test_another_thread_empties_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registration, "insert", lambda table, *_: table.clear())
    op = types.SimpleNamespace(
        attrs=("alpha", 0.25, "T", tf.float32.as_datatype_enum),
        skip_input_indices=(),
        inputs=[X],
        outputs=[None],  # the tape's entry for an output that nobody needs
    )
    for gradient in (
        _registration.make_gradient("LeakyRelu"),
        _fixing._make_gradient("LeakyRelu", None),
    ):
        assert gradient(op, tf.ones_like(X))[0].numpy().tolist() == [0.25, 1]
