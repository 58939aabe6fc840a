"""TfExt_CheckDefinition: a definition for all types that its op admits.

faulty_ops.cc holds the ops.
"""

import os
import pathlib

import pytest
import tensorflow as tf

from tensorflow_ext import gradients

FAULTY_OPS = pathlib.Path(os.environ["FAULTY_OPS"]).absolute()
tf.load_op_library(str(FAULTY_OPS))


def test_a_constant_of_one_type() -> None:
    gradients.check_definition("Faulty>FloatConstant", T=tf.float32)
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        gradients.check_definition("Faulty>FloatConstant")
    message = str(caught.value)
    for fragment in (
        "With T=double: In the gradient of Faulty>FloatConstant",
        "node 'dx' of op Mul: input 1, 'half:output:0', has type float where double "
        "is expected (T=double)",
        "'half' is a constant of one type",
        '{{"half_cast"}, "Cast", {"half"}, {{"SrcT", DT_FLOAT}, {"DstT", "$T"}}}',
    ):
        assert fragment in message
    assert "other combination" not in message


def test_with_many_types_one_attribute_changes_at_a_time() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        gradients.check_definition("Faulty>OfManyTypes")
    message = str(caught.value)
    # The op has 8 combinations for each of the four; all but float fail, in C only.
    assert "With A=float, B=float, C=double, D=float" in message
    assert "6 other combinations of 29" in message


def test_all_combinations_if_they_are_few() -> None:
    given = {"C": tf.float32, "D": tf.float32}
    gradients.check_definition("Faulty>OfManyTypes", **given)
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"55 other .* of 64"):
        gradients.check_definition("Faulty>OfManyTypes", A=tf.float32, B=tf.float32)


def test_types_that_a_definition_refuses() -> None:
    gradients.check_definition("Featured>NotForDouble")
    with pytest.raises(tf.errors.UnimplementedError, match="float alone"):
        gradients.check_definition("Featured>NotForDouble", T=tf.float64)


def test_attributes_without_a_default() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'which', of kind string.*give one"):
        gradients.check_definition("Featured>Named")
    gradients.check_definition("Featured>Named", which="one")
    with pytest.raises(tf.errors.InvalidArgumentError, match="no attribute 'witch'"):
        gradients.check_definition("Featured>Named", witch="one")


def test_lengths_of_lists() -> None:
    """This definition only works for lists of two."""
    gradients.check_definition("Featured>Lists", N=2)
    with pytest.raises(
        tf.errors.FailedPreconditionError,
        match=r"With N=1: .*'copies' of op IdentityN: has 1 input where 2 are expected",
    ) as caught:
        gradients.check_definition("Featured>Lists")
    assert "other combination" not in str(caught.value)


def test_ops_without_a_gradient() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="no gradient to check"):
        gradients.check_definition("Faulty>NoGradientAnywhere")
    with pytest.raises(tf.errors.NotFoundError, match="Faulty>Absent"):
        gradients.check_definition("Faulty>Absent")


@pytest.mark.parametrize("op", ["Faulty>Throws", "Faulty>ThrowsANumber"])
def test_a_creator_that_throws(op: str) -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match=rf"With T=float: .*{op}.*throws"):
        gradients.check_definition(op)
