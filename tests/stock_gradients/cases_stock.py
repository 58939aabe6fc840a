# SPDX-License-Identifier: Apache-2.0
"""The ops that TensorFlow has a client gradient of.

Of some this library's stands in (covered_ops.STAND_INS). parity_test.py runs these
cases with the library, known_differences.py without it, too: it lists where
TensorFlow's own are wrong. RefIdentity is missing, which takes a reference.
"""

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from covered_ops import STAND_INS
from parity import Case
from random_values import complex_normal, distinct, normal

raw = tf.raw_ops


def call(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The outputs of `op` on these first inputs; `attributes` may name more."""
    function = getattr(raw, op)
    names = inspect.signature(function).parameters
    named = dict(zip(names, inputs, strict=False))
    outputs = function(**named, **attributes)
    return outputs if isinstance(outputs, tf.Tensor) else list(outputs)


def case(op: str, name: str, *inputs: Any, **attributes: Any) -> Case:
    """A case whose arrays are fed; what `attributes` name is constant."""
    return Case(op, name, lambda *xs: call(op, xs, attributes), inputs)


def numeric(case: Case, **more: Any) -> Case:
    """The same against differences, of what Python has no or a wrong gradient."""
    return dataclasses.replace(case, **{"reference": "numeric", "second_order": "numeric", **more})


def numeric_second(case: Case) -> Case:
    """The same where that holds for the second order alone."""
    return dataclasses.replace(case, second_order="numeric")


def listed(op: str, name: str, *inputs: Any, last: Any = None, **more: Any) -> Case:
    """The same for an op on a list, with `last` behind it."""

    def build(*xs: Any) -> Any:
        behind = [] if last is None else [last]
        return call(op, [list(xs), *behind], more)

    return Case(op, name, build, inputs)


def with_static_shapes(cases: list[Case]) -> list[Case]:
    """These cases, and again where shapes, or all but the first size, are known.

    A gradient that stands in for TensorFlow's has other nodes then.
    """
    more = [
        dataclasses.replace(one, name=f"{one.name}_{name}", known_shapes=shapes)
        for one in cases
        if one.op in STAND_INS and not one.known_shapes
        for name, shapes in (("static", True), ("batch", "inner"))
    ]
    return cases + more


def single(*shape: int, seed: int = 0) -> np.ndarray:
    return normal(*shape, seed=seed, dtype=np.float32)


# ---- Elementwise

_INNER = np.array([-0.9, -0.2, 0.1, 0.8])
_POSITIVE = np.array([0.2, 0.9, 1.5, 3.0])
_ANY = np.array([-1.5, -0.3, 0.0, 0.7, 8.0])
_AWAY_FROM_ZERO = np.array([-1.5, -0.3, 0.7, 8.0])
_UNARY = {
    "Abs Asinh Atan Cos Cosh Elu Erf Exp Expm1 Identity Neg Relu Relu6 Selu Sigmoid "
    "Sign Sin Sinh Softplus Softsign Square Tan Tanh L2Loss LeakyRelu": _ANY,
    "Diag MatrixDiag": _ANY,
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


def elementwise() -> list[Case]:
    unary = [(op, x) for ops, x in _UNARY.items() for op in ops.split()]
    z = complex_normal(4)
    cases = [case(op, "double", x) for op, x in unary if op != "Softsign"]
    cases += [
        Case(
            op,
            "float",
            lambda x, op=op: call(op, [x], {}),
            [x.astype(np.float32)],
            known_shapes=True,
        )
        for op, x in unary
        if op != "Softsign"
    ]
    # Python has no gradient of SoftsignGrad.
    cases.append(numeric_second(case("Softsign", "double", _ANY + 0.1)))
    cases += [case(op, "complex", z) for op in _COMPLEX_UNARY.split()]
    for op in ("Real", "Imag", "Angle"):
        cases += [
            case(op, "complex64", z.astype(np.complex64), Tout=tf.float32),
            case(op, "complex128", z, Tout=tf.float64),
        ]
    cases += [
        case("LeakyReluGrad", "double", normal(5), _AWAY_FROM_ZERO[[0, 1, 2, 3, 0]]),
        case("LeakyRelu", "alpha", _ANY, alpha=0.5),
        case("CheckNumerics", "double", normal(3), message="x"),
        case("Cast", "to_float", normal(3), DstT=tf.float32),
        case("Cast", "to_complex", normal(3), DstT=tf.complex128),
        case("Cast", "of_complex", z, DstT=tf.float64),
        case("ClipByValue", "scalars", _ANY, np.array(-0.5), np.array(2.0)),
        case("ClipByValue", "arrays", normal(5), _ANY - 0.5, _ANY + 0.5),
        case("Softmax", "double", normal(2, 3)),
        case("LogSoftmax", "double", normal(2, 3)),
        case("Softmax", "cube", normal(2, 2, 3)),
        case("LogSoftmax", "cube", normal(2, 2, 3)),
    ]
    mask = np.array([True, False, True])
    for op in ("Select", "SelectV2"):
        cases.append(case(op, "double", mask, normal(3), normal(3, seed=1)))
    cases += [
        case("Select", "rows", mask, normal(3, 2), normal(3, 2, seed=1)),
        case("SelectV2", "broadcast", mask, normal(2, 1), normal(2, 3, seed=1)),
    ]
    return cases


def binary() -> list[Case]:
    cases = []
    arithmetic = "Add AddV2 Sub Mul Div RealDiv DivNoNan Pow SquaredDifference"
    for op in f"{arithmetic} Maximum Minimum Atan2".split():
        x, y = np.abs(normal(3)) + 0.5, np.abs(normal(3, seed=1)) + 0.5
        x[2] = y[2]  # a tie
        cases += [
            case(op, "double", x, y),
            case(op, "float", *(v.astype(np.float32) for v in (x, y))),
            case(op, "x_broadcast", x, np.stack([y, 2 * y])),
            case(op, "y_broadcast", np.stack([x, 2 * x])[:, None], y),
            case(op, "scalar", x, y[1]),
            case(op, "empty", x[:0], y[:0]),
        ]
        if op in arithmetic.split():
            z = complex_normal(3), complex_normal(3, seed=1)
            pair = [case(op, "complex", *z), case(op, "complex_broadcast", z[0], z[1][:, None])]
            # Python's takes all of a complex upstream gradient of |x - y|^2.
            is_real = op == "SquaredDifference"
            cases += [numeric(one) for one in pair] if is_real else pair
    zero = np.array([0.0, 2.0, -1.5])
    return [
        *cases,
        case("Pow", "zero", zero, np.array([2.0, 2.0, 3.0])),
        # By x it is 0; Python says NaN, as the second order does.
        numeric(
            case("Pow", "zero_to_the_zero", zero, np.array([0.0, 0.0, 1.0])),
            wrt=[0],
            second_order=None,
        ),
        case("DivNoNan", "zero", normal(3), zero),
        case("Complex", "double", normal(3), normal(3, seed=1), Tout=tf.complex128),
        case("Complex", "float", single(3), single(3, seed=1), Tout=tf.complex64),
        case("Complex", "broadcast", normal(3), normal(2, 1), Tout=tf.complex128),
    ]


# ---- Products and reductions


def products() -> list[Case]:
    cases = []
    for a in (False, True):
        for b in (False, True):
            x: tuple[int, ...] = (3, 2) if a else (2, 3)
            y: tuple[int, ...] = (4, 3) if b else (3, 4)
            name = "nt"[a] + "nt"[b]
            flags = {"transpose_a": a, "transpose_b": b}
            cases += [
                case("MatMul", name, normal(*x), normal(*y), **flags),
                case("MatMul", f"{name}_complex", complex_normal(*x), complex_normal(*y), **flags),
            ]
            for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
                adjoints = {"adj_x": a, "adj_y": b}
                if op.endswith("V3"):
                    adjoints["Tout"] = tf.complex128
                batch = complex_normal(2, *x), complex_normal(2, *y)
                cases.append(case(op, name, *batch, **adjoints))
                if op != "BatchMatMul":
                    wide = batch[0], complex_normal(3, 1, *y)
                    cases.append(case(op, f"{name}_broadcast", *wide, **adjoints))
    for equation, x, y in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,jk->kb", (2, 3, 4), (4, 2)),
        ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
        ("ii,ij->j", (3, 3), (3, 2)),
    ):
        name = equation.replace("->", "_").replace(",", "_").replace("...", "n")
        for kind, values in (("", normal), ("_complex", complex_normal)):
            inputs = [values(*x), values(*y)]
            cases.append(listed("Einsum", name + kind, *inputs, equation=equation))
    return cases


def reduction(op: str, name: str, *inputs: Any) -> list[Case]:
    """Of Prod Python's second order is wrong at zeros and not conjugated."""
    one = case(op, name, *inputs)
    return [numeric_second(one) if op == "Prod" else one]


def reductions() -> list[Case]:
    cases = []
    x = normal(2, 3, 2)
    tied = np.round(normal(2, 3, 2))
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for name, axes in (("all", [0, 1, 2]), ("negative", [-1]), ("scalar", 1)):
            axis = np.array(axes, np.int32)
            cases.append(case(op, name, x, axis))
            cases.append(case(op, f"{name}_kept", x, axis, keep_dims=True))
        cases += reduction(op, "ties", tied, np.array([1], np.int32))
        # Python fails.
        cases.append(numeric(case(op, "int64", distinct(2, 3), np.array([0]))))
        cases.append(case(op, "no_axes", x, np.zeros(0, np.int32)))
        cases.append(case(op, "empty", x[:, :0], np.array([0], np.int32)))
        if op in ("Sum", "Mean", "Prod"):
            z = complex_normal(2, 3)
            cases += reduction(op, "complex", z, np.array([1], np.int32))
    with_zero, with_zeros = np.abs(x), np.abs(x)
    with_zero[0, 1, 0] = 0
    with_zeros[0, :2, 0] = 0
    cases += [
        *reduction("Prod", "one_zero", with_zero, np.array([1], np.int32)),
        *reduction("Prod", "two_zeros", with_zeros, np.array([1], np.int32)),
    ]
    for exclusive in (False, True):
        for reverse in (False, True):
            cases.append(
                case(
                    "Cumsum",
                    f"exclusive_{exclusive}_reverse_{reverse}",
                    x,
                    np.array(-2, np.int32),
                    exclusive=exclusive,
                    reverse=reverse,
                )
            )
    ids = np.array([0, 0, 2, 2], np.int32)
    cases += [
        case("SegmentSum", "double", normal(4, 2), ids),
        case("SegmentSum", "complex", complex_normal(4), ids),
    ]
    return cases


def unsorted_segments() -> list[Case]:
    ids, count = np.array([1, 0, -1, 1], np.int32), np.array(3, np.int32)
    matrix_ids = np.array([[1, 0], [0, 1]])
    cases = []
    for op in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"):
        one = [
            case(op, "double", normal(4, 2), ids, count),
            case(op, "matrix_int64", normal(2, 2, 3), matrix_ids, count),
            case(op, "long_ids", distinct(4, 2), ids.astype(np.int64), count),
        ]
        # Python's second order says NaN of segments without rows.
        is_sum = op.endswith("Sum")
        cases += one if is_sum else [numeric_second(c) for c in one]
        ties = np.ones([5]), np.array([1, 0, 0, 1, 2], np.int32), count
        cases.append(case(op, "ties", *ties))
    return cases


CASES = with_static_shapes(
    [*elementwise(), *binary(), *products(), *reductions(), *unsorted_segments()]
)
