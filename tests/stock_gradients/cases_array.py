"""Cases of ops that move or select elements, and of ops that return their input."""

import functools
from typing import Any

import _compatibility
import numpy as np
import tensorflow as tf
from old_ops import fed, of_version
from parity import Case
from random_values import sequences
from rows import call, case, ints, longs, numeric

values, singles, complexes = sequences(1)


@tf.RegisterGradient("TileOfTileGrad")
def _tile_of_tile_grad(op: tf.Operation, upstream: tf.Tensor) -> Any:
    return tf.tile(upstream, op.inputs[1]), None


def _tile_grad(name: str, x: np.ndarray, multiples: list[int], **more: Any) -> Case:
    """An op of graphs older than version 3. Its kernel needs an attribute that the op does not
    have, so outputs are fed."""
    parts = [(n, length // n) for n, length in zip(multiples, x.shape, strict=True)]
    apart = x.reshape([length for part in parts for length in part])
    result = apart.sum(tuple(range(0, 2 * len(parts), 2)))

    build = of_version(2, fed("TileGrad", "TileOfTileGrad"))
    outputs = {"fed:0": result}
    return case("TileGrad", name, x, ints(*multiples), build=build, also_fed=outputs, **more)


def _product(x: Any, perm: Any) -> Any:
    return tf.matmul(x, call("ConjugateTranspose", x, perm))


def _nonlinear(x: Any, y: Any) -> Any:
    return tf.square(call("Concat", 0, [x * y, x]))


def _update(x: Any, value: Any) -> Any:
    return tf.square(call("TensorStridedSliceUpdate", x, [0, 1], [2, 3], [1, 1], value * value))


concat = functools.partial(case, "Concat")
transpose = functools.partial(case, "ConjugateTranspose")
reverse = functools.partial(case, "Reverse")
slice_grad = functools.partial(case, "StridedSliceGrad")
update = functools.partial(case, "TensorStridedSliceUpdate")
gather = functools.partial(case, "Gather")

CASES = [
    concat("axis0", [values(2, 3), values(1, 3)], concat_dim=0),
    concat("last_axis", [values(2, 3), values(2, 1)], concat_dim=-1),
    concat("three_float", [singles(2, n, 2) for n in (1, 3, 2)], concat_dim=1, static="none"),
    concat("empty_value_complex", [complexes(0, 2), complexes(3, 2)], concat_dim=0, static="all"),
    concat("axis_is_fed", ints(1)[0], [values(2, 3), values(2, 2)]),
    concat("nonlinear", values(2, 3), values(2, 3), build=_nonlinear),
    concat("half", [values(2, dtype="float16") for _ in "ab"], concat_dim=0),
    transpose("complex", complexes(2, 3, 4), ints(2, 0, 1)),
    transpose("complex64_int64_perm", values(2, 3, dtype="complex64"), longs(1, 0), static="all"),
    transpose("real", values(2, 3, 1), ints(1, 2, 0), static="none"),
    transpose("product_with_itself", complexes(2, 3), ints(1, 0), build=_product),
]
if _compatibility.TRANSPOSES_NEGATIVE_AXES:
    CASES.append(
        numeric("ConjugateTranspose", "negative_axes", complexes(2, 3, 4), ints(-1, 0, -2))
    )
CASES += [
    reverse("one_axis", values(2, 3), np.array([False, True])),
    reverse("all_axes_float", singles(2, 3, 2), np.ones(3, bool), static="all"),
    reverse(
        "complex_product",
        *(complexes(3, 2), np.array([True, False])),
        build=lambda x, dims: x * call("Reverse", x, dims),
        static="none",
    ),
    reverse("empty", values(3, 0), np.array([True, False])),
    slice_grad("strides", ints(5, 4), ints(0, 3), ints(5, 0), ints(2, -2), values(3, 2)),
    slice_grad(
        "begin_and_end_masks_float",
        *(ints(5, 4), ints(9, 1), ints(4, 9), ints(1, 1), singles(4, 3)),
        begin_mask=1,
        end_mask=2,
        static="all",
    ),
    slice_grad(
        "ellipsis_new_and_shrunk_axes",
        *(ints(2, 3, 4), ints(0, 0, 1), ints(0, 0, 2), ints(1, 1, 1), complexes(2, 3, 1)),
        ellipsis_mask=1,
        new_axis_mask=2,
        shrink_axis_mask=4,
    ),
    slice_grad("int64", longs(5), longs(1), longs(5), longs(2), values(2)),
    slice_grad(
        "second_gradient_of_a_slice",
        values(3, 4),
        build=lambda x: tf.gradients(tf.square(x[1:, ::2] * x[:1, :2]), x)[0],
    ),
    update("same_shape", values(5, 4), ints(0, 3), ints(5, 0), ints(2, -2), values(3, 2)),
    update(
        "value_is_row",
        singles(4, 3),
        longs(0, 1),
        longs(3, 3),
        longs(1, 1),
        singles(2),
        begin_mask=1,
    ),
    update(
        "value_is_a_scalar",
        *(values(4, 3), ints(0, 1), ints(3, 2), ints(2, 1), values()),
        shrink_axis_mask=2,
        static="all",
    ),
    update(
        "ellipsis_and_new_axis",
        *(complexes(2, 3, 4), ints(0, 1, 0), ints(0, 3, 1), ints(1, 1, 1), complexes(2, 1, 2, 1)),
        ellipsis_mask=1,
        new_axis_mask=4,
    ),
    update("nonlinear", values(3, 3), values(2, 2), build=_update),
    gather("repeated", values(4, 3), ints(1, 3, 1, 1)),
    gather("matrix_of_indices_float", singles(4, 2), longs([0, 3], [3, 3]), static="all"),
    gather("scalar_index_complex", complexes(4, 2), ints(2)[0]),
    gather("no_indices", values(4, 2), ints(), static="none"),
    gather("nonlinear", values(4), ints(0, 2, 2), then=tf.square),
    _tile_grad("matrix", values(4, 6), [2, 3]),
    _tile_grad("volume_float", singles(2, 3, 4), [2, 1, 4], static="all"),
    _tile_grad("complex", complexes(4, 6), [1, 2], static="none"),
    _tile_grad("empty", values(0, 6), [1, 2]),
]

# ---- Guards, prints, debuggers' probes

values, singles, complexes = sequences(2)


def _with_data(x: Any, y: Any, i: Any) -> Any:
    return call("Print", x * y, [y, i], first_n=0)


ensure = functools.partial(case, "EnsureShape")
several = functools.partial(case, "IdentityN")
default = functools.partial(case, "PlaceholderWithDefault")
printed = functools.partial(case, "Print", first_n=0)
check = functools.partial(case, "CheckNumericsV2")
INFINITE = "The gradient is not finite. at zero"

CASES += [
    ensure("full", values(2, 3), shape=[2, 3], then=tf.square),
    ensure("partial_float", singles(2, 3), shape=[None, 3], static="none"),
    ensure(
        "known_rank_complex",
        complexes(2, 2),
        build=lambda x: call("EnsureShape", x, shape=[None, None]) * x,
    ),
    several("one", values(2, 3), build=lambda x: call("IdentityN", [tf.square(x)])),
    several(
        "mixed_types",
        [values(2, 3), ints(1, 2), values(2, dtype="complex64")],
        then=lambda *outputs: [y * y for y in outputs if y.dtype != tf.int32],
    ),
    several(
        "one_output_unused", [values(2, 3), values(2)], then=lambda x, y: tf.square(x), static="all"
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
        static="all",
    ),
    check(
        "double", values(2, 3), build=lambda x: call("CheckNumericsV2", tf.square(x), message="x")
    ),
    check(
        "float_of_a_product", singles(3), build=lambda x: call("CheckNumericsV2", x, message="") * x
    ),
    check("half_empty", values(0, 2, dtype="float16"), message="m"),
    check("the_gradient_is_infinite", np.zeros(2), message="at zero", then=tf.sqrt, error=INFINITE),
    *(
        case(
            "PreventGradient",
            name,
            values(2, dtype=dtype),
            message=message,
            error=f"forbids differentiation here: {message}",
        )
        for name, message, dtype in (
            ("message", "no way", "float64"),
            ("no_message", "", "float32"),
            ("complex", "not here", "complex128"),
        )
    ),
]


# Identities with a side effect, or with a meaning for the runtime. Python's gradient of
# DebugGradientIdentity only serves a debugger; Python has none of the other "numeric" ones.
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
        static="all" if kind == "complex128" else "rank",
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
