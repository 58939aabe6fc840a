# SPDX-License-Identifier: Apache-2.0
"""Every op that the library registers has what an op needs; an error says what is
missing and where it goes."""

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
from tensorflow_ext import _attributes, _vectorize, layers, raw_ops

every_registered_op = pytest.mark.parametrize("name", sorted(raw_ops.OPS))
FUNCTIONS = tfe.ops.FUNCTIONS
_WITHOUT_DEFINITION = "TfExt>NoGradient"  # what definitions mark an input with


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
    """The ops that the functions of the comparisons add to a graph."""
    return set().union(*(_ops_in(op.function, *op.tensors()) for op in COMPARISONS))


@functools.cache
def _in_gradients() -> set[str]:
    """The same with their first and second gradients."""
    return set().union(
        *(_ops_in(_second_gradients(op), *op.tensors()) for op in COMPARISONS)
    )


@every_registered_op
def test_comparison(name: str) -> None:
    op = raw_ops.OPS[name]
    assert op in _compared() | _in_gradients() | {_WITHOUT_DEFINITION}, (
        f"no comparison runs {op}, nor does a gradient of one: add a row to "
        "COMPARISONS in tests/python/comparisons.py, and the function that it calls "
        "to the op's family in python/tensorflow_ext/ops"
    )


@every_registered_op
def test_gradient(name: str) -> None:
    op = raw_ops.OPS[name]
    has_one = op in tfe.gradients.list_ops()
    assert has_one != (op == _WITHOUT_DEFINITION), (
        f"{op} has no gradient: define it in the _grad.cc beside its REGISTER_OP"
    )
    assert (ops._gradient_registry.lookup(op) is not None) == has_one


@every_registered_op
def test_vectorization(name: str) -> None:
    op = raw_ops.OPS[name]
    assert name in _vectorize.RULES, (
        f"tf.vectorized_map does not know {op}: say by which rule it is vectorized, in "
        "RULES of python/tensorflow_ext/_vectorize/__init__.py"
    )
    assert op in pfor._pfor_converter_registry


@every_registered_op
def test_documentation(name: str) -> None:
    # Python's own registry of OpDefs leaves the documentation out.
    (op_def,) = (d for d in raw_ops._OP_DEFS if d.name == raw_ops.OPS[name])
    inferred = _attributes.inferred(op_def, [None] * len(op_def.input_arg))
    missing = [
        part.name
        for part in [*op_def.input_arg, *op_def.output_arg, *op_def.attr]
        if not part.description and part.name not in inferred
    ]
    assert op_def.summary, f"{op_def.name}: give its REGISTER_OP a .Doc"
    assert not missing, f"{op_def.name}: .Doc in its REGISTER_OP leaves out {missing}"


def test_nothing_is_of_an_op_that_there_is_not() -> None:
    ours = set(raw_ops.OPS.values())
    assert {op for op in tfe.gradients.list_ops() if op.startswith("TfExt>")} <= ours
    assert set(_vectorize.RULES) <= set(raw_ops.OPS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    assert name in {op.name.partition(",")[0] for op in COMPARISONS}, (
        f"{name} is compared with nothing: add a row to COMPARISONS in "
        "tests/python/comparisons.py"
    )
    documentation = inspect.getdoc(FUNCTIONS[name])
    for part in [*inspect.signature(FUNCTIONS[name]).parameters, "Returns"]:
        assert f"\n  {part}: " in documentation or f"\n{part}:\n" in documentation, (
            f"the documentation of {name} says nothing of '{part}'"
        )


@pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.name)
def test_comparison_names_its_function(op: Comparison) -> None:
    assert op.name.partition(",")[0] in FUNCTIONS


@pytest.mark.parametrize("package", [layers, _vectorize], ids=["layers", "_vectorize"])
def test_modules_have_the_names_of_families(package: object) -> None:
    def modules(package: object) -> set[str]:
        names = (module.name for module in pkgutil.iter_modules(package.__path__))
        return {name for name in names if not name.startswith("_")}

    assert modules(package) <= modules(tfe.ops)
