"""Every registered op has what an op needs; an error says what is missing and where it goes."""

import functools
import inspect
import pathlib
import re
from collections.abc import Callable

import case_files
import keras
import pytest
import tensorflow as tf
from comparisons import COMPARISONS, Comparison
from tensorflow.python.framework import kernels, ops
from tensorflow.python.ops.parallel_for import pfor

import tensorflow_ext as tfe
from tensorflow_ext import layers, raw_ops
from tensorflow_ext._runtime import _attributes

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = tfe.ops.FUNCTIONS
# Definitions mark inputs with the first; the debug switch adds the second to graphs, and the
# wrappers of other languages the third.
_OF_THE_GRADIENTS = {"TfExt>NoGradient", "TfExt>CheckGradientShape", "TfExt>WithUpstream"}
_OPS = set(raw_ops.OPS.values()) - _OF_THE_GRADIENTS - raw_ops.CLIENT_OPS

every_registered_op = pytest.mark.parametrize("op", sorted(_OPS))
every_function = pytest.mark.parametrize("name", FUNCTIONS)


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


@functools.cache
def _with_cases() -> set[str]:
    return {case.op for case in case_files.read_all()}


@every_registered_op
def test_its_parts_in_cpp(op: str) -> None:
    devices = {kernel.device_type for kernel in kernels.get_registered_kernels_for_op(op).kernel}
    assert "CPU" in devices, f"{op} has no kernel: add it to the list of functors in its header"
    assert op in tfe.gradients.list_ops(), f"{op} has no gradient: REGISTER_GRADIENT it"
    assert op in _with_cases(), f"{op} has no *.cases in its folder, nor a reference in its module"


@every_registered_op
def test_comparison(op: str) -> None:
    assert op in _compared(), (
        f"no comparison runs {op}, nor does a gradient of one: its function needs a reference in "
        "its module, or a row in tests/python/comparisons.py"
    )


@every_registered_op
def test_python_has_its_gradient_and_vectorization(op: str) -> None:
    assert ops._gradient_registry.lookup(op) is not None
    assert op in pfor._pfor_converter_registry, f'{op} has no "rule" in the table OPS of its module'


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


@every_function
def test_documentation_of_its_function(name: str) -> None:
    documentation = inspect.getdoc(FUNCTIONS[name])
    for part in [*inspect.signature(FUNCTIONS[name]).parameters, "Returns"]:
        assert f"\n  {part}: " in documentation or f"\n{part}:\n" in documentation, (
            f"the documentation of {name} says nothing of '{part}'"
        )


@every_function
def test_it_is_compared_and_measured(name: str) -> None:
    found = [op for op in COMPARISONS if op.name.partition(",")[0] == name]
    assert found, f"{name} is compared with nothing"
    of_op = name.replace("_", "") in {op.lower().removeprefix("tfext>") for op in _OPS}
    if of_op and not any(op.any_shape for op in found):
        texts = [path.read_text() for path in (_ROOT / "benchmarks").glob("*.py")]
        called = re.compile(rf"\b(?:tfe|raw_ops)\.{name}\b")
        assert any(map(called.search, texts)), f"no suite of benchmarks/ measures {name}"


def test_tables_of_modules() -> None:
    names = {op.removeprefix("TfExt>") for op in raw_ops.OPS.values()}
    assert set(tfe.ops.OPS) <= names, "a table OPS names no op"
    plain = {name.replace("_", "") for name in FUNCTIONS}
    missing = [op for op in names if op.lower() in plain and not tfe.ops.OPS[op].get("formula")]
    assert not missing, 'no "formula" in the table OPS of their modules'
    assert _with_cases() <= set(raw_ops.OPS.values()), "cases of an op that is not there"


@pytest.mark.parametrize("table", ["tests/python/layers_table.py", "tests/models/own_models.py"])
def test_every_layer_is_tested(table: str) -> None:
    found = {name: getattr(layers, name) for name in layers.__all__}
    classes = {n for n, c in found.items() if inspect.isclass(c) and issubclass(c, keras.Layer)}
    text = (_ROOT / table).read_text()
    missing = [name for name in sorted(classes) if not re.search(rf"\.{name}\b", text)]
    assert not missing, f"{table} has none of these layers"


def test_every_suite_is_run() -> None:
    folder = _ROOT / "benchmarks"
    defined = {p.stem for p in folder.glob("*.py") if re.search(r"^def run\(", p.read_text(), re.M)}
    named = set(re.findall(r'"(\w+)"', (folder / "run.py").read_text()))
    assert defined <= named, "SUITES of benchmarks/run.py leaves out a suite"
