# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops on diagonals of matrices."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_array import ints
from parity import Case
from random_values import sequence

raw = tf.raw_ops
values = sequence(2)
ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _part(version: str, **attributes: Any) -> Callable[..., Any]:
    def build(x: Any, k: Any, padding: Any = 7) -> Any:
        op = getattr(raw, f"MatrixDiagPart{version}")
        padding = tf.cast(padding, x.dtype)
        return op(input=x, k=k, padding_value=padding, **attributes)

    return build


def _diag(version: str, rows: int = -1, columns: int = -1, **attributes: Any) -> Callable[..., Any]:
    def build(x: Any, k: Any, padding: Any = 7) -> Any:
        return getattr(raw, f"MatrixDiag{version}")(
            diagonal=x,
            k=k,
            num_rows=rows,
            num_cols=columns,
            padding_value=tf.cast(padding, x.dtype),
            **attributes,
        )

    return build


def _set(version: str, k: Any, **attributes: Any) -> Callable[..., Any]:
    def build(x: Any, diagonal: Any) -> Any:
        op = getattr(raw, f"MatrixSetDiag{version}")
        return op(input=x, diagonal=diagonal, k=k, **attributes)

    return build


def _version(version: str, **attributes: Any) -> Iterator[Case]:
    """The cases that V2 and V3 share.

    Python's gradients of the V2 ops take bands to be aligned as V3's default
    aligns them: there the reference for bands is central differences. TensorFlow's
    shape function of MatrixSetDiag refuses bands of matrices of unknown size; where
    Python's gradient of MatrixDiagPart runs into that, the reference is the same.
    """
    tag = "".join(f"_{value.lower()}" for value in attributes.values())
    bands: dict[str, Any] = (
        {"reference": "numeric", "second_order": "numeric"} if version == "V2" else {}
    )
    part = f"MatrixDiagPart{version}"
    yield Case(
        part,
        f"band_is_fed{tag}",
        _part(version, **attributes),
        [values(3, 4), ints(-2, 1)],
        reference="numeric",
        second_order="numeric",
    )
    yield Case(
        part,
        f"wide_batch_one_diagonal{tag}",
        _part(version, **attributes),
        [values(2, 3, 5), ints(1)[0]],
        known_shapes=True,
    )
    yield Case(
        part,
        f"tall_complex{tag}",
        _part(version, **attributes),
        [values(4, 2, dtype="complex128"), ints(-3, -1)],
        known_shapes="rank",
        **bands,
    )
    diag = f"MatrixDiag{version}"
    # Python has none by the value that pads.
    numeric: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
    yield Case(
        part,
        f"padding{tag}",
        _part(version, **attributes),
        [values(2, 3, 4), ints(-2, 1), values()],
        known_shapes=True,
        **numeric,
    )
    yield Case(
        diag,
        f"padding{tag}",
        _diag(version, 3, 4, **attributes),
        [values(2, 4, 3), ints(-2, 1), values()],
        known_shapes=True,
        **numeric,
    )
    yield Case(
        diag, f"band{tag}", _diag(version, **attributes), [values(3, 3), ints(-1, 1)], **bands
    )
    yield Case(
        diag,
        f"rectangular_batch{tag}",
        _diag(version, 3, 4, **attributes),
        [values(2, 4, 3), ints(-2, 1)],
        known_shapes=True,
        **bands,
    )
    yield Case(
        diag,
        f"above_float{tag}",
        _diag(version, **attributes),
        [values(2, 3, dtype="float32"), ints(2)],
    )
    set_diag = f"MatrixSetDiag{version}"
    yield Case(
        set_diag,
        f"band{tag}",
        _set(version, [-1, 1], **attributes),
        [values(3, 4), values(3, 3)],
        known_shapes=True,
        **bands,
    )
    yield Case(
        set_diag,
        f"batch_one_diagonal{tag}",
        _set(version, -1, **attributes),
        [values(2, 4, 3), values(2, 3)],
        known_shapes=True,
    )
    yield Case(
        set_diag,
        f"nonlinear_complex{tag}",
        lambda x, d: tf.square(_set(version, [2, 3], **attributes)(x * x, d)),
        [values(3, 5, dtype="complex128"), values(2, 3, dtype="complex128")],
        known_shapes="rank",
        **bands,
    )


CASES = [
    Case(
        "MatrixDiagPart",
        "square",
        lambda x: raw.MatrixDiagPart(input=x),
        [values(2, 3, 3)],
        known_shapes=True,
    ),
    Case(
        "MatrixDiagPart",
        "wide_float",
        lambda x: raw.MatrixDiagPart(input=x),
        [values(2, 3, dtype="float32")],
    ),
    Case(
        "MatrixDiagPart",
        "tall_nonlinear_complex",
        lambda x: tf.square(raw.MatrixDiagPart(input=x * x)),
        [values(4, 2, dtype="complex128")],
        known_shapes="rank",
    ),
    Case("MatrixDiagPart", "empty", lambda x: raw.MatrixDiagPart(input=x), [values(0, 2, 2)]),
    Case(
        "MatrixSetDiag",
        "square",
        lambda x, d: raw.MatrixSetDiag(input=x, diagonal=d),
        [values(2, 3, 3), values(2, 3)],
        known_shapes=True,
    ),
    Case(
        "MatrixSetDiag",
        "wide_float",
        lambda x, d: raw.MatrixSetDiag(input=x, diagonal=d),
        [values(2, 3, dtype="float32"), values(2, dtype="float32")],
    ),
    Case(
        "MatrixSetDiag",
        "tall_nonlinear_complex",
        lambda x, d: tf.square(raw.MatrixSetDiag(input=x * x, diagonal=d)),
        [values(4, 2, dtype="complex128"), values(2, dtype="complex128")],
        known_shapes="rank",
    ),
    *_version("V2"),
    *(case for align in ALIGNMENTS for case in _version("V3", align=align)),
    Case("MatrixDiagV3", "one_number", _diag("V3"), [np.array([2.5]), ints(0)[0]]),
]
