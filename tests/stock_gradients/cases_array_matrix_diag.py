# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops on diagonals of matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import sequences
from rows import call, case, ints, numeric

values, singles, complexes = sequences(2)


def _padded(op: str, **attributes: Any) -> Callable[..., Any]:
    """The op on an input, numbers of diagonals and a value that pads."""

    def build(x: Any, k: Any, padding: Any = 7) -> Any:
        padding = tf.cast(padding, x.dtype)
        return call(op, x, k, padding_value=padding, **attributes)

    return build


def _nonlinear(op: str) -> Callable[..., Any]:
    return lambda x, *d, **attributes: tf.square(call(op, x * x, *d, **attributes))


def _version(version: str, **attributes: Any) -> list[Case]:
    """The cases that V2 and V3 share.

    Python's gradients of the V2 ops take bands to be aligned as V3's default
    aligns them: there the reference for bands is central differences. TensorFlow's
    shape function of MatrixSetDiag refuses bands of matrices of unknown size; where
    Python's gradient of MatrixDiagPart runs into that, the reference is the same.
    """
    tag = "".join(f"_{value.lower()}" for value in attributes.values())
    bands = numeric if version == "V2" else case

    def part(kind: Callable[..., Case], name: str, *inputs: Any, **known: Any) -> Case:
        op = f"MatrixDiagPart{version}"
        return kind(op, name + tag, *inputs, build=_padded(op, **attributes), **known)

    def diag(
        kind: Callable[..., Case], name: str, *inputs: Any, rows: int = -1, **known: Any
    ) -> Case:
        op = f"MatrixDiag{version}"
        size = {"num_rows": rows, "num_cols": 4 if rows == 3 else -1}
        return kind(op, name + tag, *inputs, build=_padded(op, **size, **attributes), **known)

    def set_diag(kind: Callable[..., Case], name: str, *inputs: Any, **more: Any) -> Case:
        return kind(f"MatrixSetDiag{version}", name + tag, *inputs, **{**attributes, **more})

    nonlinear = _nonlinear(f"MatrixSetDiag{version}")
    return [
        part(numeric, "band_is_fed", values(3, 4), ints(-2, 1)),
        part(case, "wide_batch_one_diagonal", values(2, 3, 5), ints(1)[0], known_shapes=True),
        part(bands, "tall_complex", complexes(4, 2), ints(-3, -1), known_shapes="rank"),
        # Python has none by the value that pads.
        part(numeric, "padding", values(2, 3, 4), ints(-2, 1), values(), known_shapes=True),
        diag(numeric, "padding", values(2, 4, 3), ints(-2, 1), values(), rows=3, known_shapes=True),
        diag(bands, "band", values(3, 3), ints(-1, 1)),
        diag(bands, "rectangular_batch", values(2, 4, 3), ints(-2, 1), rows=3, known_shapes=True),
        diag(case, "above_float", singles(2, 3), ints(2)),
        set_diag(bands, "band", values(3, 4), values(3, 3), k=[-1, 1], known_shapes=True),
        set_diag(
            case, "batch_one_diagonal", values(2, 4, 3), values(2, 3), k=-1, known_shapes=True
        ),
        set_diag(
            bands,
            "nonlinear_complex",
            *(complexes(3, 5), complexes(2, 3)),
            k=[2, 3],
            build=nonlinear,
            known_shapes="rank",
        ),
    ]


CASES = [
    case("MatrixDiagPart", "square", values(2, 3, 3), known_shapes=True),
    case("MatrixDiagPart", "wide_float", singles(2, 3)),
    case(
        "MatrixDiagPart",
        "tall_nonlinear_complex",
        complexes(4, 2),
        build=_nonlinear("MatrixDiagPart"),
        known_shapes="rank",
    ),
    case("MatrixDiagPart", "empty", values(0, 2, 2)),
    case("MatrixSetDiag", "square", values(2, 3, 3), values(2, 3), known_shapes=True),
    case("MatrixSetDiag", "wide_float", singles(2, 3), singles(2)),
    case(
        "MatrixSetDiag",
        "tall_nonlinear_complex",
        *(complexes(4, 2), complexes(2)),
        build=_nonlinear("MatrixSetDiag"),
        known_shapes="rank",
    ),
    *_version("V2"),
    *(
        one
        for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
        for one in _version("V3", align=align)
    ),
    case(
        "MatrixDiagV3",
        "one_number",
        np.array([2.5]),
        ints(0)[0],
        build=_padded("MatrixDiagV3", num_rows=-1, num_cols=-1),
    ),
]
