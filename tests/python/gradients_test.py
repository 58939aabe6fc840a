"""tensorflow_ext.gradients, and the function runtime."""

import textwrap
from typing import Any

import numpy as np
import processes
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.ops import functional_ops

import tensorflow_ext as tfe

Invalid, NotFound = tf.errors.InvalidArgumentError, tf.errors.NotFoundError


def test_list_ops_is_sorted_and_contains_ours_and_tensorflows() -> None:
    names = tfe.gradients.list_ops()
    assert names == sorted(names)
    assert {"TfExt>Relu", "TfExt>ReluGrad", "TfExt>RoiPool", "Mul"} <= set(names)


def test_function_def() -> None:
    gradient = tfe.gradients.function_def("TfExt>Relu", T=tf.float32)
    assert len(gradient.signature.input_arg) == 2
    assert len(gradient.signature.output_arg) == 1
    assert [node.op for node in gradient.node_def] == ["TfExt>ReluGrad"]


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        *(("TfExt>Relu", {"T": value}) for value in (tf.float32, "float32", np.float32, 1)),
        ("Pack", {"T": tf.float32, "N": 3, "axis": 1}),
    ],
)
def test_function_def_takes_attributes_as_tensorflow_does(op: str, attrs: dict[str, Any]) -> None:
    gradient = tfe.gradients.function_def(op, **attrs)
    assert gradient.node_def
    assert gradient.signature.output_arg


@pytest.mark.parametrize(
    ("op", "attrs", "error", "message"),
    [
        ("Nope", {}, NotFound, "'Nope'"),
        ("Where", {"T": tf.float32}, NotFound, "Where"),
        ("TfExt>Relu", {"T": "x"}, Invalid, "TfExt>Relu.*'T' is 'x'.*tf.float32"),
        ("TfExt>Relu", {"U": 1}, Invalid, "TfExt>Relu.*'U'.*'T'"),
        ("TfExt>Relu", {}, Invalid, "TfExt>Relu.*T"),
        ("TfExt>Relu", {"T": tf.int32}, Invalid, "TfExt>Relu"),
        ("Sum", {"T": tf.float32, "keep_dims": "a"}, Invalid, "Sum.*'keep_dims' is 'a'.*bool"),
        ("IdentityN", {"T": tf.float32}, Invalid, "IdentityN.*'T'.*a list, each"),
    ],
)
def test_errors_of_function_def(
    op: str, attrs: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tfe.gradients.function_def(op, **attrs)


def test_register_all_with_another_library() -> None:
    program = """
        import sys
        import tensorflow as tf
        import tensorflow_ext

        other = tf.load_op_library(sys.argv[1])
        x = tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = other.other_cube(x)
        try:
            tape.gradient(y, x)
        except LookupError as error:
            assert "Other>Cube" in str(error)
        else:
            raise AssertionError("it had a gradient before")
        assert tensorflow_ext.gradients.register_all() == 4  # ReshapeEach has none
        assert tensorflow_ext.gradients.register_all() == 0
        print(float(tape.gradient(y, x)))
    """
    assert processes.run(program, processes.other_library()).strip() == "12.0"


# The user's gradients of ops that only this library has gradients of; the last one is none.
OF_USER = """
    def register():
        tf.RegisterGradient("IgammaGradA")(lambda op, dy: (None, 5.0 * dy))
        tf.RegisterGradient("TfExt>Relu")(lambda op, dy: 3.0 * dy)
        tf.no_gradient("DenseBincount")
"""
USED = """
    def function(x):
        return tensorflow_ext.relu(tf.raw_ops.IgammaGradA(a=2.0, x=x))

    def gradient(x, of=function):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = of(x)
        return tape.gradient(y, x)

    def gradients(x):
        return tf.gradients(function(x), x)[0]

    def bincount(x):
        return tf.raw_ops.DenseBincount(input=[0, 1], size=2, weights=x)

    def check():
        for run in (gradient, tf.function(gradient), tf.function(gradients)):
            assert run(tf.constant(1.0)).numpy() == 15, run
        assert gradient(tf.ones([2]), of=bincount) is None

    check()
    # A second gradient by the user, or one of an op that TensorFlow covers, is TensorFlow's error.
    for op in ("IgammaGradA", "TfExt>Relu", "DenseBincount", "Cumprod"):
        for again in (lambda: tf.RegisterGradient(op)(print), lambda: tf.no_gradient(op)):
            try:
                again()
            except KeyError as error:
                assert "Registering two gradient" in str(error)
            else:
                raise AssertionError(op)
    tensorflow_ext.gradients.register_all()
    tensorflow_ext.gradients.fix()
    check()
"""
FIRST = "register()\nimport tensorflow_ext"
LAST = "import tensorflow_ext\nregister()"


@pytest.mark.parametrize("order", [FIRST, LAST], ids=["user_first", "user_last"])
def test_the_gradient_of_the_user_wins(order: str) -> None:
    parts = ["import tensorflow as tf", textwrap.dedent(OF_USER), order, textwrap.dedent(USED)]
    processes.run("\n".join(parts))


def test_symbolic_gradient_in_a_v1_session() -> None:
    """In TensorFlow's function runtime, which uses only the definition."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant([[-1.0, 2.0], [3.0, -4.0]])
        dy = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        call = attr_value_pb2.NameAttrList(name="TfExt>Relu")
        call.attr["T"].type = tf.float32.as_datatype_enum
        (dx,) = functional_ops.symbolic_gradient([x, dy], [tf.float32], call)
        np.testing.assert_array_equal(session.run(dx), [[0, 2], [3, 0]])
