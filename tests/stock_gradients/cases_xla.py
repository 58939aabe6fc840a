"""Ops that wrap XLA's operations; XLA compiles each when it runs."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import call, each, ints, longs, numeric
from tensorflow.compiler.xla import xla_data_pb2

# XlaConcatND and XlaSplitND have kernels only for XLA's own devices. Read when the first session
# starts, here and in the client's process.
os.environ["TF_XLA_FLAGS"] = os.environ.get("TF_XLA_FLAGS", "") + " --tf_xla_enable_xla_devices"

# For linear ops.
EXACT: dict[str, Any] = {"step": 1.0, "tolerance": None}


# ---- Products

Axes = tuple[Sequence[int], Sequence[int]]
NONE: Axes = ([], [])


def product(
    name: str, *inputs: np.ndarray, contracting: Axes = ([1], [0]), batch: Axes = NONE, **more: Any
) -> Callable[[str], Case]:
    numbers = xla_data_pb2.DotDimensionNumbers(
        lhs_batch_dimensions=batch[0],
        rhs_batch_dimensions=batch[1],
        lhs_contracting_dimensions=contracting[0],
        rhs_contracting_dimensions=contracting[1],
    )
    how = {"dimension_numbers": numbers.SerializeToString(), "precision_config": "", **more}

    def row(op: str) -> Case:
        version = {"preferred_element_type": inputs[0].dtype} if op == "XlaDotV2" else {}
        return numeric(op, name, *inputs, **{**version, **how})

    return row


BATCH: dict[str, Axes] = {"batch": ([2], [0]), "contracting": ([0], [2])}
TWO_OF_EACH: dict[str, Axes] = {"batch": ([0, 3], [1, 0]), "contracting": ([2, 1], [2, 3])}
ALL: dict[str, Axes] = {"contracting": ([1, 0], [0, 1])}
PRODUCTS = [
    product("matrices", normal(2, 3), normal(3, 4)),
    product("batch", normal(3, 4, 2), normal(2, 5, 3), static="all", **BATCH),
    product("two_of_each", normal(2, 3, 4, 2, 1), normal(2, 2, 4, 3), **TWO_OF_EACH),
    product("all_contracted", normal(2, 3), normal(3, 2), static="none", **ALL),
    product("outer", normal(2), normal(3), contracting=NONE),
    product("complex", complex_normal(2, 3), complex_normal(3, 2)),
    product("empty", normal(0, 3), normal(3, 2)),
]
TO_FLOAT: dict[str, Any] = {"preferred_element_type": tf.float32}
HALVES = [np.round(normal(*shape), 1).astype(np.float16) for shape in ((2, 3), (3, 2))]
IN_FLOAT = [
    product("of_halves_in_float", *HALVES, step=0.25, tolerance=1e-2, **TO_FLOAT),
    product("of_integers", ints([1, -2, 3]), single(3, 2), **TO_FLOAT, **EXACT),
]
DOTS = [
    *each("XlaDot XlaDotV2", lambda op: [row(op) for row in PRODUCTS]),
    *(row("XlaDotV2") for row in IN_FLOAT),
]

# ---- Paddings, slices


def _pad(x: Any, value: Any, widths: Any, index: Any = tf.int32) -> Any:
    return call("XlaPad", x, value, *(tf.constant(width, index) for width in widths))


def pad(name: str, x: np.ndarray, *widths: Any, value: complex = 0.7, **more: Any) -> Case:
    """`widths`: at the low ends, the high ones and between the values."""
    number = np.array(value).astype(x.dtype)
    return numeric("XlaPad", name, x, number, build=_pad, widths=widths, **more)


def _slice(x: Any, start: Any) -> Any:
    return call("XlaDynamicSlice", x, start, tf.constant([2, 2], start.dtype))


def slices() -> Iterator[Case]:
    for name, x, start, more in (
        ("double", normal(4, 3), [1, 0], {}),
        ("beyond_the_end", normal(4, 3), [3, 9], {"static": "all"}),
        ("complex", complex_normal(4, 3), [2, 1], {"static": "none"}),
        ("float", single(4, 3), [0, 1], EXACT),
    ):
        for places in (ints(*start), longs(*start)):
            full, update = f"{name}_{places.dtype}", x[1:, :2] ** 2
            yield numeric("XlaDynamicSlice", full, x, places, build=_slice, **more)
            yield numeric("XlaDynamicUpdateSlice", full, x, update, places, **more)


COMPLEX_VALUE: dict[str, Any] = {"value": 0.7 - 0.2j, "static": "none"}
PADDINGS = [
    pad("edges", normal(3, 2), [1, 0], [2, 3], [0, 0]),
    pad("interior", normal(3, 2), [0, 1], [0, 0], [2, 1]),
    pad("cropped", normal(3, 2), [-1, 1], [1, -2], [1, 3], static="all"),
    pad("complex", complex_normal(3, 2), [-1, 1], [-1, 0], [1, 2], **COMPLEX_VALUE),
    pad("empty", normal(0), [1], [0], [2]),
    pad("float_int64", single(3), [0], [1], [1], index=tf.int64, **EXACT),
]

# ---- Grids of blocks


def _on_xla(op: str) -> Callable[..., Any]:
    def build(*inputs: Any, **how: Any) -> Any:
        with tf.device("/device:XLA_CPU:0"):
            return call(op, *inputs, **how)

    return build


def grid(
    name: str, shape: tuple[int, ...], counts: list[int], paddings: list[int], kind: Any = normal
) -> Iterator[Case]:
    count = int(np.prod(counts))
    how = {"paddings": paddings, "static": "all", **EXACT}
    blocks = [kind(*shape, seed=i) for i in range(count)]
    build = _on_xla("XlaConcatND")
    yield numeric("XlaConcatND", name, blocks, num_concats=counts, build=build, **how)
    cut = paddings or [0] * len(shape)
    x = kind(*(s * n - p for s, n, p in zip(shape, counts, cut, strict=True)))
    build = _on_xla("XlaSplitND")
    yield numeric("XlaSplitND", name, x, N=count, num_splits=counts, build=build, **how)


complex_single = functools.partial(complex_normal, dtype=np.complex64)
GRIDS = [
    *grid("vector", (3,), [2], []),
    *grid("padded", (2, 2), [2, 2], [1, 0]),
    *grid("all_padded", (2, 3), [1, 2], [1, 2]),
    *grid("one", (2, 3), [1, 1], []),
    *grid("complex64", (2, 1), [1, 3], [1, 0], complex_single),
]

# ---- XlaGather


def gather(sizes: Sequence[int], **numbers: Any) -> Any:
    dimensions = xla_data_pb2.GatherDimensionNumbers(**numbers).SerializeToString()

    def build(x: Any, start: Any) -> Any:
        how = {"dimension_numbers": dimensions, "indices_are_sorted": False}
        return call("XlaGather", x, start, tf.constant(sizes, start.dtype), **how)

    return functools.partial(numeric, "XlaGather", build=build)


rows = gather(
    [1, 3], offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1
)
windows = gather([2, 2], offset_dims=[0, 1], start_index_map=[1, 0], index_vector_dim=0)
TWICE = ints([2], [0], [2], [7])  # 7 is moved to the last row
PLACES = ints([0, 1, 1], [1, 0, 1])
GATHERS = [
    rows("rows", normal(4, 3), TWICE),
    rows("known_shapes", normal(4, 3), TWICE, static="all"),
    rows("complex", complex_normal(4, 3), TWICE.astype(np.int64)),
    windows("windows", normal(3, 3), PLACES, static="none"),
    windows("float", single(3, 3), PLACES, **EXACT),
]

# ---- Broadcasts, sorts


def _broadcast(lhs: Any, rhs: Any, axes: list[int]) -> Any:
    return call("XlaBroadcastHelper", lhs, rhs, tf.constant(axes, tf.int32))


broadcast = functools.partial(numeric, "XlaBroadcastHelper", build=_broadcast)
BROADCASTS = [
    broadcast("vector", normal(2, 3), normal(3), axes=[1]),
    broadcast("lhs", normal(2, 4), normal(2, 3, 4), axes=[0, 2]),
    broadcast("same_rank", normal(2, 3), normal(2, 3), axes=[], static="all"),
    broadcast("complex", complex_normal(3, 2), complex_normal(3), axes=[0], static="none"),
]


def sorts(name: str, keys: np.ndarray, **more: Any) -> list[Case]:
    values = normal(*keys.shape, dtype=keys.dtype)
    return [
        numeric("XlaSort", name, keys, **more),
        numeric("XlaKeyValueSort", name, keys, values, **more),
    ]


SORTS = [
    *sorts("vector", distinct(5)),
    *sorts("rows", distinct(3, 4), static="all"),
    *sorts("two_batch_axes", distinct(2, 2, 3), static="none"),
    *sorts("float", distinct(6, dtype=np.float32), step=1e-2, tolerance=1e-3),
    *sorts("empty", distinct(0)),
    numeric("XlaKeyValueSort", "complex_values", distinct(4), complex_normal(4)),
    numeric("XlaKeyValueSort", "integer_keys", ints(3, 1, 2), normal(3)),
]

# ---- Unchanged values


def precision(name: str, dtype: Any, exponent: int, mantissa: int, **more: Any) -> Case:
    """Differences of numbers that the rounding keeps are exact. The gradient is rounded
    to the precision of the values.
    """
    how = {"exponent_bits": exponent, "mantissa_bits": mantissa, "step": 1.0, **more}
    return numeric("XlaReducePrecision", name, distinct(2, 3, dtype=dtype), **how)


barrier = functools.partial(numeric, "XlaOptimizationBarrier")
ALL_KINDS = [normal(2), ints(1, 2), complex_normal(3)]
SAME_VALUES = [
    precision("double", np.float64, 11, 20, tolerance=1e-6),
    precision("float", np.float32, 8, 12, tolerance=3e-4, static="all"),
    precision("half", np.float16, 5, 8, tolerance=4e-3, static="none"),
    barrier("one", [normal(2, 3)]),
    barrier("of_all_kinds", ALL_KINDS, static="all"),
    barrier("some", [normal(2), normal(3)], then=lambda x, y: y, static="none"),
]

# ---- Decompositions

ITERATIONS = {"max_iter": 100, "epsilon": 1e-15}
SPREAD, NOISE = np.diag([-1.0, 0.5, 2.0]), normal(3, 3)
SYMMETRIC = SPREAD + 0.2 * (NOISE + NOISE.T)
TALL = np.array([[2.0, 0.3], [-0.4, 1.0], [0.2, 0.5]])


def _best(s: Any, u: Any, v: Any) -> list[Any]:
    return [s, tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)]


eigen = functools.partial(
    numeric,
    "XlaSelfAdjointEig",
    lower=True,
    then=lambda w, v: [w, tf.square(v)],  # without their signs
    **ITERATIONS,
)
svd = functools.partial(numeric, "XlaSvd", precision_config="", then=_best, **ITERATIONS)
DECOMPOSITIONS = [
    eigen("lower", SYMMETRIC),
    eigen("upper", SYMMETRIC, lower=False, static="all"),
    eigen("one_triangle", np.tril(SYMMETRIC)),
    eigen("batch", np.stack([SYMMETRIC, SYMMETRIC.T + SPREAD])),
    # The op itself gives wrong eigenvalues of complex matrices.
    eigen(
        "complex",
        SYMMETRIC.astype(np.complex64),
        then=lambda w, v: tf.math.real(w),
        error="complex matrices are not supported",
    ),
    svd("tall", TALL),
    svd("wide", TALL.T, static="all"),
    svd("batch", np.stack([TALL, TALL[::-1] + 0.1])),
]

CASES = [
    *DOTS,
    *PADDINGS,
    *slices(),
    *GRIDS,
    *GATHERS,
    *BROADCASTS,
    *SORTS,
    *SAME_VALUES,
    *DECOMPOSITIONS,
]
