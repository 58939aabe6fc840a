# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops that hand on their input: guards, prints, debuggers' probes."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import sequence
from rows import call, case, ints

values = sequence(2)
singles = functools.partial(values, dtype="float32")
complexes = functools.partial(values, dtype="complex128")


def _floating(*outputs: Any) -> list[Any]:
    return [y * y for y in outputs if y.dtype != tf.int32]


def _with_data(x: Any, y: Any, i: Any) -> Any:
    return call("Print", x * y, [y, i], first_n=0)


ensure = functools.partial(case, "EnsureShape")
several = functools.partial(case, "IdentityN")
default = functools.partial(case, "PlaceholderWithDefault")
printed = functools.partial(case, "Print", first_n=0)
check = functools.partial(case, "CheckNumericsV2")

CASES = [
    ensure("full", values(2, 3), shape=[2, 3], then=tf.square),
    ensure("partial_float", singles(2, 3), shape=[None, 3], known_shapes="rank"),
    ensure(
        "known_rank_complex",
        complexes(2, 2),
        build=lambda x: call("EnsureShape", x, shape=[None, None]) * x,
    ),
    several("one", values(2, 3), build=lambda x: call("IdentityN", [tf.square(x)])),
    several(
        "mixed_types", [values(2, 3), ints(1, 2), values(2, dtype="complex64")], then=_floating
    ),
    several(
        "one_output_unused",
        [values(2, 3), values(2)],
        then=lambda x, y: tf.square(x),
        known_shapes=True,
    ),
    default("known_shape", values(2, 3), shape=[2, 3], then=tf.exp),
    default("unknown_shape", singles(2, 3), shape=None),
    default(
        "complex", complexes(3), build=lambda x: call("PlaceholderWithDefault", x, shape=[None]) * x
    ),
    printed("no_data", values(2, 3), data=[], then=tf.square),
    case("Print", "with_data", values(2, 3), values(2, 3), ints(4), build=_with_data),
    case(
        "Print",
        "float_message",
        singles(2),
        build=lambda x: call("Print", x, [x], message="x", first_n=0),
        known_shapes=True,
    ),
    check(
        "double", values(2, 3), build=lambda x: call("CheckNumericsV2", tf.square(x), message="x")
    ),
    check(
        "float_of_a_product", singles(3), build=lambda x: call("CheckNumericsV2", x, message="") * x
    ),
    check("half_empty", values(0, 2, dtype="float16"), message="m"),
    check(
        "the_gradient_is_infinite",
        np.zeros(2),
        message="at zero",
        then=tf.sqrt,
        error="The gradient is not finite. at zero",
    ),
    *(
        case(
            "PreventGradient",
            name,
            values(2, dtype=dtype),
            message=message,
            error=f"forbids to differentiate here: {message}",
        )
        for name, message, dtype in (
            ("message", "no way", "float64"),
            ("no_message", "", "float32"),
            ("complex", "not here", "complex128"),
        )
    ),
]


# Identities with a side effect, or with a meaning for the runtime. Python's gradient of
# DebugGradientIdentity serves a debugger only; Python has none of the other "numeric" ones.
_NUMERIC = (
    "Copy CopyHost DebugGradientIdentity DebugIdentity DebugIdentityV3 GuaranteeConst Snapshot"
)
_ATTRIBUTES = {
    "DebugIdentity": {"tensor_name": "x:0"},
    "DebugIdentityV3": {"tensor_name": "x:0"},
    "XlaSharding": {"sharding": ""},
}


def _watched(op: str, kind: str) -> Case:
    reference = "numeric" if op in _NUMERIC.split() else "python"
    return case(
        op,
        kind,
        values(3, 2, dtype=kind),
        build=lambda x: call(op, x * x, **_ATTRIBUTES.get(op, {})),
        known_shapes=kind == "complex128",
        reference=reference,
        second_order=reference,
        step=1e-2 if kind == "float32" else 1e-5,
        tolerance=1e-3 if kind == "float32" else None,
    )


CASES += [
    _watched(op, kind)
    for op in f"{_NUMERIC} DebugIdentityV2 XlaSharding".split()
    for kind in ("float64", "float32", "complex128")
]
