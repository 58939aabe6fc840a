"""Ops with a client gradient of TensorFlow: mathematics, and calls.

This library's gradient replaces some of them (covered_ops.STAND_INS), and differentiates all of
them in the function runtime. parity_test.py runs these cases with the library; known_differences.py
also without it, and lists where TensorFlow's own are wrong. RefIdentity is missing, because it
takes a reference.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import cases_control_flow_calls as calls
import numpy as np
import tensorflow as tf
from old_ops import with_formula
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import case, each, floats, ints, longs, numeric, with_every_shape, with_static_shapes

half = functools.partial(normal, dtype=np.float16)
# Python's second order fails or is wrong.
SECOND = {"second_order": "numeric"}

# ---- Elementwise

_INNER = np.array([-0.9, -0.2, 0.1, 0.8])
_POSITIVE = np.array([0.2, 0.9, 1.5, 3.0])
_ANY = np.array([-1.5, -0.3, 0.0, 0.7, 8.0])
_AWAY_FROM_ZERO = np.array([-1.5, -0.3, 0.7, 8.0])
_UNARY = {
    "Abs Asinh Atan Cos Cosh Elu Erf Exp Expm1 Identity Neg Relu Relu6 Selu Sigmoid "
    "Sign Sin Sinh Softplus Square Tan Tanh L2Loss LeakyRelu Diag MatrixDiag": _ANY,
    "Inv Reciprocal": _AWAY_FROM_ZERO,
    "Acos Asin Atanh Erfinv": _INNER,
    "Lgamma Log Log1p Rsqrt Sqrt": _POSITIVE,
    "Acosh": 1 + _POSITIVE,
    "Ndtri": np.array([0.1, 0.4, 0.9]),
}
_COMPLEX_UNARY = (
    "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Diag Exp Expm1 Identity Inv Log Log1p "
    "MatrixDiag Neg Reciprocal Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh Conj"
)
_MASK = np.array([True, False, True])
_SCALAR = np.array(True)
_Z, _W = complex_normal(2, 3), complex_normal(3, seed=1)
_X, _Y = np.abs(normal(2, 3)) + 0.5, normal(3, seed=1)
_BOUNDS = np.array(-0.5), np.array(0.6)


def complex_parts(op: str) -> list[Case]:
    z = complex_normal(4)
    return [
        case(op, "complex64", z.astype(np.complex64), Tout=tf.float32),
        case(op, "complex128", z, Tout=tf.float64),
        case(op, "complex128_unknown_rank", _Z, Tout=tf.float64, static="none"),
        numeric(op, "numeric", _Z, Tout=tf.float64),
    ]


ELEMENTWISE = [
    *(
        case(op, name, x.astype(dtype), static=static)
        for ops, x in _UNARY.items()
        for op in ops.split()
        for name, dtype, static in (("double", np.float64, "rank"), ("float", np.float32, "all"))
    ),
    *each(_COMPLEX_UNARY, lambda op: [case(op, "complex", complex_normal(4))]),
    *each("Real Imag Angle", complex_parts),
    # Python has no gradient of SoftsignGrad.
    case("Softsign", "double", _ANY + 0.1, **SECOND),
    case("LeakyReluGrad", "double", normal(5), _AWAY_FROM_ZERO[[0, 1, 2, 3, 0]]),
    case("LeakyRelu", "alpha", _ANY, alpha=0.5),
    case("CheckNumerics", "double", normal(3), message="x"),
    case("Cast", "to_float", normal(3), DstT=tf.float32),
    case("Cast", "to_complex", normal(3), DstT=tf.complex128),
    case("Cast", "of_complex", complex_normal(4), DstT=tf.float64),
    case("ClipByValue", "scalars", _ANY, np.array(-0.5), np.array(2.0)),
    case("ClipByValue", "arrays", normal(5), _ANY - 0.5, _ANY + 0.5),
    case("Softmax", "double", normal(2, 3)),
    case("Softmax", "cube", normal(2, 2, 3)),
    case("LogSoftmax", "double", normal(2, 3)),
    case("LogSoftmax", "cube", normal(2, 2, 3)),
    case("LogSoftmax", "double_unknown_rank", normal(2, 2, 3), static="none"),
    case("LogSoftmax", "vector", normal(4)),
    case("LogSoftmax", "float", single(2, 3, 4)),
    numeric("LogSoftmax", "numeric", normal(2, 2, 3)),
    *each("Select SelectV2", lambda op: [case(op, "double", _MASK, normal(3), normal(3, seed=1))]),
    case("Select", "rows", _MASK, normal(3, 2), normal(3, 2, seed=1)),
    case("SelectV2", "broadcast", _MASK, normal(2, 1), normal(2, 3, seed=1)),
    numeric("Acos", "numeric", _INNER),
    numeric("Atan", "numeric", normal(5)),
    *each("Acos Atan", lambda op: [numeric(op, "numeric_complex", _Z)]),
]
ELEMENTWISE_TYPES = [
    *each("Elu Erf LeakyRelu Selu Softplus", lambda op: [case(op, "half", half(5))]),
    case("Lgamma", "half", np.abs(half(3)) + 1, second_order=None),
    case("LeakyReluGrad", "alpha", normal(4), normal(4, seed=1), alpha=0.7),
    case("LeakyReluGrad", "float", single(4), single(4, seed=1)),
    *with_every_shape(case("ClipByValue", "matrix", normal(2, 3), *_BOUNDS)),
    case("ClipByValue", "at_the_bounds", np.array([-0.5, 0.6]), *_BOUNDS),
    case("ClipByValue", "half", half(3), np.float16(-0.5), np.float16(0.6)),
    *with_every_shape(case("SelectV2", "scalar", _SCALAR, normal(2, 3), normal(3))),
    case("SelectV2", "complex", _SCALAR, complex_normal(3), complex_normal(2, 1)),
    case("SelectV2", "half", np.array([[True], [False]]), half(3), half(2, 3)),
    case("SelectV2", "empty", np.zeros([0, 1], bool), normal(3), normal(1, 3)),
    case("L2Loss", "scalar", normal()),
    case("CheckNumerics", "half", half(3), message="x"),
]

# ---- Of two operands

_ARITHMETIC = "Add AddV2 Sub Mul Div RealDiv DivNoNan Pow SquaredDifference"
_ZERO = np.array([0.0, 2.0, -1.5])


_FAR_AND_NEAR = [
    np.array(values, np.float16) for values in ([300, -500, 2e-4, 1], [300, 7, 1e-4, 900])
]


def _in_float(y: Any, x: Any) -> Any:
    return tf.cast(tf.atan2(tf.cast(y, tf.float32), tf.cast(x, tf.float32)), y.dtype)


_angle_in_float = with_formula("Atan2", "Atan2InFloat", _in_float)


def binary(op: str) -> list[Case]:
    x, y = np.abs(normal(3)) + 0.5, np.abs(normal(3, seed=1)) + 0.5
    x[2] = y[2]  # a tie
    return [
        case(op, "double", x, y),
        case(op, "float", *floats(x, y)),
        case(op, "x_broadcast", x, np.stack([y, 2 * y])),
        case(op, "y_broadcast", np.stack([x, 2 * x])[:, None], y),
        case(op, "scalar", x, y[1]),
        case(op, "empty", x[:0], y[:0]),
    ]


def complex_binary(op: str) -> list[Case]:
    x, y = complex_normal(3), complex_normal(3, seed=1)
    # Python's gradient uses all of a complex upstream gradient of |x - y|^2.
    row = numeric if op == "SquaredDifference" else case
    return [row(op, "complex", x, y), row(op, "complex_broadcast", x, y[:, None])]


BINARY = [
    *each(f"{_ARITHMETIC} Maximum Minimum Atan2", binary),
    *each(_ARITHMETIC, complex_binary),
    *each("Atan2 Pow SquaredDifference", lambda op: [numeric(op, "numeric", _X, _Y)]),
    # The squares overflow or underflow, also in Python.
    case("Atan2", "half", *_FAR_AND_NEAR, build=_angle_in_float, tolerance=2e-3),
    *each("Pow SquaredDifference", lambda op: [numeric(op, "numeric_complex", _Z, _W)]),
    case("Pow", "zero", _ZERO, np.array([2.0, 2.0, 3.0])),
    # By x it is 0; Python gives NaN.
    numeric("Pow", "zero_to_the_zero", _ZERO, np.array([0.0, 0.0, 1.0]), wrt=[0]),
    numeric("Pow", "negative", np.array([-1.5, -2.0]), np.array([2.0, 3.0]), wrt=[0]),
    case("DivNoNan", "zero", normal(3), _ZERO),
    case("Complex", "double", normal(3), normal(3, seed=1), Tout=tf.complex128),
    case("Complex", "float", single(3), single(3, seed=1), Tout=tf.complex64),
    case("Complex", "broadcast", normal(3), normal(2, 1), Tout=tf.complex128),
    case("Complex", "scalar_unknown_rank", normal(3), normal(), Tout=tf.complex128, static="none"),
    numeric("Complex", "numeric", normal(2), normal(3, 1), Tout=tf.complex128),
]

# ---- Products


def matrix_products() -> Iterator[Case]:
    for a, b in itertools.product((False, True), repeat=2):
        x, y = (3, 2) if a else (2, 3), (4, 3) if b else (3, 4)
        name, flags = "nt"[a] + "nt"[b], {"transpose_a": a, "transpose_b": b}
        yield case("MatMul", name, normal(*x), normal(*y), **flags)
        yield case("MatMul", f"{name}_complex", complex_normal(*x), complex_normal(*y), **flags)
        batch, wide = complex_normal(2, *x), complex_normal(3, 1, *y)
        adjoints = {"adj_x": a, "adj_y": b}
        v3 = {**adjoints, "Tout": tf.complex128}
        for op, how in (("", adjoints), ("V2", adjoints), ("V3", v3)):
            yield case(f"BatchMatMul{op}", name, batch, complex_normal(2, *y), **how)
            if op:
                yield case(f"BatchMatMul{op}", f"{name}_broadcast", batch, wide, **how)


def einsum(name: str, equation: str, *shapes: tuple[int, ...]) -> list[Case]:
    name += equation.replace("->", "_to_" if name else "_").replace(",", "_").replace("...", "n")
    return [
        case("Einsum", f"{name}{suffix}", [values(*s) for s in shapes], equation=equation)
        for suffix, values in (("", normal), ("_complex", complex_normal))
    ]


def einsum_shapes(equation: str, *shapes: tuple[int, ...]) -> list[Case]:
    double, of_complex = einsum("of_", equation, *shapes)
    return [*with_every_shape(double), of_complex]


PRODUCTS = [
    *matrix_products(),
    *einsum("", "ij,jk->ik", (2, 3), (3, 4)),
    *einsum("", "bij,jk->kb", (2, 3, 4), (4, 2)),
    *einsum("", "...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    *einsum("", "ii,ij->j", (3, 3), (3, 2)),
]
# Equations that TensorFlow's kernel admits.
EINSUM = [
    *einsum_shapes("ij->ji", (2, 3)),
    *einsum_shapes("ij->i", (2, 3)),
    *einsum_shapes("ij->", (2, 3)),
    *einsum_shapes("ii->i", (3, 3)),
    *einsum_shapes("ii->", (3, 3)),
    *einsum_shapes("i->ii", (3,)),
    *einsum_shapes("iji->j", (2, 3, 2)),
    *einsum_shapes("...ii->...i", (2, 3, 3)),
    *einsum_shapes("i...j->...", (2, 4, 3)),
    *einsum_shapes("a...b->b...a", (2, 3, 4, 2)),
    *einsum_shapes("i,j->ij", (2,), (3,)),
    *einsum_shapes("ij,jk->k", (2, 3), (3, 4)),
    *einsum_shapes("iij,kj->ik", (2, 2, 3), (4, 3)),
    *einsum_shapes("ijl,jkl->kk", (2, 3, 2), (3, 4, 2)),
    *einsum_shapes("Bb,b->B", (2, 3), (3,)),
    *einsum_shapes("...,...->...", (2, 1, 3), (4, 3)),
    *einsum_shapes("i...,...->i...", (2, 3), (4, 3)),
    *einsum_shapes("...i,i...j->j...", (4, 1, 2), (2, 3, 3)),
    *einsum_shapes("i...j,k->...k", (2, 3, 2), (2,)),
    *einsum_shapes("...ij,jk->ik", (2, 3), (3, 2)),
    case("Einsum", "float32", [single(2, 3), single(3, 2)], equation="ij,jk->ki"),
    case("Einsum", "float16", [half(2, 3), half(3, 2)], equation="ij,jk->ki"),
    case("Einsum", "empty", [normal(0, 3), normal(3, 2)], equation="ij,jk->ik"),
    case("Einsum", "empty_sum", [normal(2, 0)], equation="ij->i"),
]
_float_batches = functools.partial(case, "BatchMatMulV3", Tout=tf.float32)
BATCHES = [
    *with_every_shape(_float_batches("float", single(2, 2, 3), single(3, 4))),
    _float_batches("adjoint_float", single(2, 2, 3), single(4, 3), adj_y=True),
    _float_batches("empty", single(2, 2, 3)[:0], single(3, 4)),
    _float_batches("matrices", single(2, 2, 3)[0], single(3, 4)),
]

# ---- Sums

_CUBE, _APART = normal(2, 3, 2), distinct(2, 3, 2)
_ONE_ZERO, _TWO_ZEROS = np.abs(_CUBE), np.abs(_CUBE)
_ONE_ZERO[0, 1, 0] = 0
_TWO_ZEROS[0, :2, 0] = 0
_IDS, _MATRIX_IDS = ints(1, 0, -1, 1), longs([1, 0], [0, 1])
_THREE = np.array(3, np.int32)


def reduction(op: str) -> list[Case]:
    # Python's second order of Prod is wrong at zeros and not conjugated.
    second = SECOND if op == "Prod" else {}
    return [
        *(
            case(op, f"{name}{suffix}", _CUBE, np.array(axes, np.int32), **more)
            for name, axes in (("all", [0, 1, 2]), ("negative", [-1]), ("scalar", 1))
            for suffix, more in (("", {}), ("_kept", {"keep_dims": True}))
        ),
        case(op, "ties", np.round(_CUBE), ints(1), **second),
        # Python fails.
        numeric(op, "int64", distinct(2, 3), longs(0)),
        case(op, "no_axes", _CUBE, ints()),
        case(op, "empty", _CUBE[:, :0], ints(0)),
        *([case(op, "complex", _Z, ints(1), **second)] if op in "Sum Mean Prod" else []),
        numeric(op, "int64_axes", _APART, longs(0, -1)),
        numeric(op, "int64_kept", _APART, longs(-2), keep_dims=True),
        numeric(op, "of_scalar", normal(), ints()),
        numeric(op, "axes_unknown_rank", _APART, ints(-1, 0), static="none"),
        numeric(op, "empty_axis", normal(2, 0, 3), ints(1)),
        numeric(op, "axes_known_shapes", _APART, ints(1), static="all"),
    ]


def unsorted_segment(op: str) -> list[Case]:
    # Python's second order is NaN for segments without rows.
    second = {} if op.endswith("Sum") else SECOND
    return [
        case(op, "double", normal(4, 2), _IDS, _THREE, **second),
        case(op, "matrix_int64", normal(2, 2, 3), _MATRIX_IDS, _THREE, **second),
        case(op, "long_ids", distinct(4, 2), _IDS.astype(np.int64), _THREE, **second),
        case(op, "ties", np.ones(5), ints(1, 0, 0, 1, 2), _THREE),
        case(op, "int64", distinct(4, 2), _IDS.astype(np.int64), np.array(2)),
    ]


cumsum = functools.partial(case, "Cumsum")
SUMS = [
    *each("Sum Mean Prod Max Min", reduction),
    case("Prod", "one_zero", _ONE_ZERO, ints(1), **SECOND),
    case("Prod", "two_zeros", _TWO_ZEROS, ints(1), **SECOND),
    *(
        cumsum(f"exclusive_{e}_reverse_{r}", _CUBE, np.int32(-2), exclusive=e, reverse=r)
        for e, r in itertools.product((False, True), repeat=2)
    ),
    cumsum("int64", normal(2, 3, 4), np.array(-2)),
    case("SegmentSum", "double", normal(4, 2), ints(0, 0, 2, 2)),
    case("SegmentSum", "complex", complex_normal(4), ints(0, 0, 2, 2)),
    case("SegmentSum", "int64", normal(4, 2), longs(0, 0, 2, 2)),
    *each("UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin", unsorted_segment),
]
SUM_TYPES = [
    *with_every_shape(cumsum("complex", complex_normal(2, 3, 4), np.int32(1), reverse=True)),
    cumsum("half", half(2, 3), np.int32(-1), exclusive=True),
    *with_every_shape(case("SegmentSum", "cube", normal(4, 2, 3), ints(0, 0, 1, 3))),
    case("SegmentSum", "empty", normal(0, 2), ints()),
    *with_every_shape(
        case("UnsortedSegmentSum", "complex", complex_normal(4, 2), _IDS, np.array(2, np.int32))
    ),
    case("UnsortedSegmentSum", "int16", normal(4), _IDS.astype(np.int16), 2),
    *each(
        "UnsortedSegmentMax UnsortedSegmentMin",
        lambda op: [
            case(op, "float", distinct(4, 3, dtype=np.float32), _IDS, 2, step=1e-2, **SECOND)
        ],
    ),
]

# ---- Calls

_A, _B = normal(3), normal(3, seed=1)
_function = functools.partial(case, "PartitionedCall")
_stateful = functools.partial(case, "StatefulPartitionedCall")
CALLS = [
    _function("formula", _A, _B, build=calls.call),
    _function("float", single(3), single(3, seed=1), build=calls.call),
    _function("complex", complex_normal(3), complex_normal(3, seed=1), build=calls.call),
    _function("twice", _A, _B, build=calls.call_twice),
    _function("AddN", *(normal(2, seed=k) for k in range(12)), build=calls.many_arguments),
    _function("If", _A, _B, build=calls.call_with_branches),
    _function("Elu", normal(3, 4), normal(4, 4), build=calls.attention),
    _function("call", _A, _B, build=calls.call_in_call),
    _stateful("variable", _A, _B, build=calls.call_reads_variable, variables=[1]),
    _stateful("random", _A, build=calls.also_draws),
    _stateful(
        "writes_another", _A, _B, _A, build=calls.assigns_another, wrt=[0, 1], variables=[1, 2]
    ),
]

CASES = [
    *with_static_shapes([*ELEMENTWISE, *BINARY, *PRODUCTS, *SUMS]),
    *ELEMENTWISE_TYPES,
    *EINSUM,
    *BATCHES,
    *SUM_TYPES,
    *CALLS,
]
