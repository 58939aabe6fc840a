# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops that hand on their input: guards, prints, debuggers' probes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from cases_array import ints
from parity import Case
from random_values import sequence
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

raw = tf.raw_ops
values = sequence(2)


PASS_THROUGH = [
    Case(
        "EnsureShape",
        "full",
        lambda x: tf.square(raw.EnsureShape(input=x, shape=[2, 3])),
        [values(2, 3)],
    ),
    Case(
        "EnsureShape",
        "partial_float",
        lambda x: raw.EnsureShape(input=x, shape=[None, 3]),
        [values(2, 3, dtype="float32")],
        known_shapes="rank",
    ),
    Case(
        "EnsureShape",
        "known_rank_complex",
        lambda x: raw.EnsureShape(input=x, shape=[None, None]) * x,
        [values(2, 2, dtype="complex128")],
    ),
    Case("IdentityN", "one", lambda x: raw.IdentityN(input=[tf.square(x)]), [values(2, 3)]),
    Case(
        "IdentityN",
        "mixed_types",
        lambda x, i, y: [t * t for t in raw.IdentityN(input=[x, i, y]) if t.dtype != tf.int32],
        [values(2, 3), ints(1, 2), values(2, dtype="complex64")],
    ),
    Case(
        "IdentityN",
        "one_output_unused",
        lambda x, y: tf.square(raw.IdentityN(input=[x, y])[0]),
        [values(2, 3), values(2)],
        known_shapes=True,
    ),
    Case(
        "PlaceholderWithDefault",
        "known_shape",
        lambda x: tf.exp(raw.PlaceholderWithDefault(input=x, shape=[2, 3])),
        [values(2, 3)],
    ),
    Case(
        "PlaceholderWithDefault",
        "unknown_shape",
        lambda x: raw.PlaceholderWithDefault(input=x, shape=None),
        [values(2, 3, dtype="float32")],
    ),
    Case(
        "PlaceholderWithDefault",
        "complex",
        lambda x: raw.PlaceholderWithDefault(input=x, shape=[None]) * x,
        [values(3, dtype="complex128")],
    ),
    Case(
        "Print",
        "no_data",
        lambda x: tf.square(raw.Print(input=x, data=[], first_n=0)),
        [values(2, 3)],
    ),
    Case(
        "Print",
        "with_data",
        lambda x, y, i: raw.Print(input=x * y, data=[y, i], first_n=0),
        [values(2, 3), values(2, 3), ints(4)],
    ),
    Case(
        "Print",
        "float_message",
        lambda x: raw.Print(input=x, data=[x], message="x", first_n=0),
        [values(2, dtype="float32")],
        known_shapes=True,
    ),
    Case(
        "CheckNumericsV2",
        "double",
        lambda x: raw.CheckNumericsV2(tensor=tf.square(x), message="x"),
        [values(2, 3)],
    ),
    Case(
        "CheckNumericsV2",
        "float_of_a_product",
        lambda x: raw.CheckNumericsV2(tensor=x, message="") * x,
        [values(3, dtype="float32")],
    ),
    Case(
        "CheckNumericsV2",
        "half_empty",
        lambda x: raw.CheckNumericsV2(tensor=x, message="m"),
        [values(0, 2, dtype="float16")],
    ),
    Case(
        "CheckNumericsV2",
        "the_gradient_is_infinite",
        lambda x: tf.sqrt(raw.CheckNumericsV2(tensor=x, message="at zero")),
        [np.zeros(2)],
        error="The gradient is not finite. at zero",
    ),
    *(
        Case(
            "PreventGradient",
            name,
            lambda x, message=message: raw.PreventGradient(input=x, message=message),
            [values(2, dtype=dtype)],
            error=f"forbids to differentiate here: {message}",
        )
        for name, message, dtype in (
            ("message", "no way", "float64"),
            ("no_message", "", "float32"),
            ("complex", "not here", "complex128"),
        )
    ),
]


def _identity(op: str, **names: str) -> Callable[[Any], Any]:
    return lambda x: getattr(raw, op)(input=x, **names)


# Python's gradient of DebugGradientIdentity serves a debugger only, and it has none
# of the others.
_ONLY_HERE = (
    "Copy",
    "CopyHost",
    "DebugGradientIdentity",
    "DebugIdentity",
    "DebugIdentityV3",
    "GuaranteeConst",
    "Snapshot",
)
# Identities with a side effect, or with a meaning for the runtime.
_WATCHED = {
    **{op: _identity(op) for op in _ONLY_HERE},
    "DebugIdentity": _identity("DebugIdentity", tensor_name="x:0"),
    "DebugIdentityV3": _identity("DebugIdentityV3", tensor_name="x:0"),
    "DebugIdentityV2": _identity("DebugIdentityV2"),
    "XlaSharding": lambda x: gen_xla_ops.xla_sharding(input=x, sharding=""),
}


def _watched(op: str, kind: str) -> Case:
    watch = _WATCHED[op]
    reference = "numeric" if op in _ONLY_HERE else "python"
    return Case(
        op,
        kind,
        lambda x: watch(x * x),
        [values(3, 2, dtype=kind)],
        known_shapes=kind == "complex128",
        reference=reference,
        second_order=reference,
        step=1e-2 if kind == "float32" else 1e-5,
        tolerance=1e-3 if kind == "float32" else None,
    )


WATCHED = [_watched(op, kind) for op in _WATCHED for kind in ("float64", "float32", "complex128")]

CASES = [*PASS_THROUGH, *WATCHED]
