# SPDX-License-Identifier: Apache-2.0
"""Every registered op has what an op needs; an error says what is missing and where it goes."""

import functools
import inspect
import pkgutil
from collections.abc import Callable

import pytest
import tensorflow as tf
from comparisons import COMPARISONS, Comparison
from tensorflow.python.framework import ops
from tensorflow.python.ops.parallel_for import pfor

import tensorflow_ext as tfe
from tensorflow_ext import _vectorize, layers, raw_ops
from tensorflow_ext._runtime import _attributes

FUNCTIONS = tfe.ops.FUNCTIONS
# Definitions mark inputs with the first; the debug switch adds the second to graphs.
_OF_THE_GRADIENTS = {"TfExt>NoGradient", "TfExt>CheckGradientShape"}
_OPS = set(raw_ops.OPS.values()) - _OF_THE_GRADIENTS - raw_ops.TEXT_OPS

every_registered_op = pytest.mark.parametrize("op", sorted(_OPS))


def _ops_in(function: Callable, *inputs: tf.Tensor) -> set[str]:
    traced = tf.function(function, autograph=False).get_concrete_function(*inputs)
    return {node.op for node in traced.graph.as_graph_def().node}


def _second_gradients(op: Comparison) -> Callable[..., list[tf.Tensor]]:
    def differentiate(*inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as outer:
            outer.watch(inputs)
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                output = op.function(*inputs)
            upstream = tf.ones_like(output)
            outer.watch(upstream)
            first = inner.gradient(output, inputs, upstream)
        return outer.gradient([g for g in first if g is not None], [*inputs, upstream])

    return differentiate


@functools.cache
def _compared() -> set[str]:
    """The ops that the comparisons' functions add to a graph, and the ops of their first and second
    gradients.
    """
    found: set[str] = set()
    for op in COMPARISONS:
        found |= _ops_in(op.function, *op.tensors())
        found |= _ops_in(_second_gradients(op), *op.tensors())
    return found


@every_registered_op
def test_comparison(op: str) -> None:
    assert op in _compared(), (
        f"no comparison runs {op}, nor does a gradient of one: add a row to "
        "COMPARISONS in tests/python/comparisons.py"
    )


@every_registered_op
def test_python_has_its_gradient_and_vectorization(op: str) -> None:
    assert ops._gradient_registry.lookup(op) is not None
    assert op in pfor._pfor_converter_registry


@every_registered_op
def test_documentation(op: str) -> None:
    # Python's own registry of OpDefs leaves the documentation out.
    (op_def,) = (d for d in raw_ops._OP_DEFS if d.name == op)
    inferred = _attributes.inferred(op_def.input_arg, [None] * len(op_def.input_arg))
    missing_parts = [
        part.name
        for part in [*op_def.input_arg, *op_def.output_arg, *op_def.attr]
        if not part.description and part.name not in inferred
    ]
    assert op_def.summary, f"{op}: give its REGISTER_OP a .Doc"
    assert not missing_parts, f"{op}: .Doc in its REGISTER_OP leaves out {missing_parts}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documentation_of_its_function(name: str) -> None:
    documentation = inspect.getdoc(FUNCTIONS[name])
    for part in [*inspect.signature(FUNCTIONS[name]).parameters, "Returns"]:
        assert f"\n  {part}: " in documentation or f"\n{part}:\n" in documentation, (
            f"the documentation of {name} says nothing of '{part}'"
        )


@pytest.mark.parametrize("package", [layers, _vectorize], ids=["layers", "_vectorize"])
def test_modules_have_the_names_of_families(package: object) -> None:
    def modules(package: object) -> set[str]:
        names = (module.name for module in pkgutil.iter_modules(package.__path__))
        return {name for name in names if not name.startswith("_")}

    assert modules(package) <= modules(tfe.ops)
