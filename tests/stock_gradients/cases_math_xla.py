# SPDX-License-Identifier: Apache-2.0
"""XlaEinsum, which only XLA's devices run."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# Read when the first session begins, here and in the client's process.
os.environ["TF_XLA_FLAGS"] = (
    os.environ.get("TF_XLA_FLAGS", "") + " --tf_xla_enable_xla_devices"
)

OP = "XlaEinsum"


@tf.RegisterGradient("EinsumInPlaceOfXlaEinsum")
def _einsum_gradient(op: Any, dy: Any) -> list[Any]:
    """The reference where Python's gradient of XlaEinsum is wrong.

    It neither conjugates nor sums over axes that were broadcast.
    """
    with tf.device("/device:CPU:0"):
        inputs = list(op.inputs)
        result = tf.einsum(op.get_attr("equation").decode(), *inputs)
        return tf.gradients(result, inputs, dy)


def _product(equation: str, override: bool = False) -> Callable[..., Any]:
    def build(a: Any, b: Any) -> Any:
        overrides = {OP: "EinsumInPlaceOfXlaEinsum"} if override else {}
        graph = tf.compat.v1.get_default_graph()
        with tf.device("/device:XLA_CPU:0"), graph.gradient_override_map(overrides):
            return gen_xla_ops.xla_einsum(a=a, b=b, equation=equation)

    return build


def _float(*shape: int) -> np.ndarray:
    return normal(*shape, dtype=np.float32)


CASES = [
    Case(OP, "matmul", _product("ij,jk->ik"), [_float(2, 3), _float(3, 4)]),
    Case(
        OP,
        "batch_known_shapes",
        _product("bij,bkj->bki"),
        [_float(2, 2, 3), _float(2, 4, 3)],
        known_shapes=True,
    ),
    Case(OP, "outer", _product("i,jk->kij"), [_float(2), _float(3, 4)]),
    Case(
        OP,
        "complex",
        _product("ij,jk->ik", override=True),
        [
            complex_normal(2, 3, dtype=np.complex64),
            complex_normal(3, 4, dtype=np.complex64),
        ],
    ),
    Case(
        OP,
        "ellipsis",
        _product("...ij,...jk->...ik"),
        [_float(2, 2, 3), _float(2, 3, 4)],
    ),
    Case(
        OP,
        "broadcast",
        _product("...ij,...jk->...ik", override=True),
        [_float(1, 2, 3), _float(2, 3, 4)],
        second_order=None,
    ),
    Case(
        OP,
        "summed_label",
        _product("ij,jk->k"),
        [_float(2, 3), _float(3, 4)],
        error="equation='ij,jk->k' is not supported",
    ),
]
