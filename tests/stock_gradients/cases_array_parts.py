"""Diagonals of matrices, TensorScatter*, patches and gathers from variables."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import sequences
from rows import call, case, each, ints, longs, numeric

# ---- Diagonals

values, singles, complexes = sequences(2)


def _padded(op: str, **attributes: Any) -> Callable[..., Any]:
    """The op on an input, numbers of diagonals and a padding value."""

    def build(x: Any, k: Any, padding: Any = 7) -> Any:
        padding = tf.cast(padding, x.dtype)
        return call(op, x, k, padding_value=padding, **attributes)

    return build


def _nonlinear(op: str) -> Callable[..., Any]:
    return lambda x, *d, **attributes: tf.square(call(op, x * x, *d, **attributes))


def _version(version: str, **attributes: Any) -> list[Case]:
    """The cases that V2 and V3 share.

    Python's gradients of the V2 ops assume the alignment of bands that is V3's default, so the
    reference for bands is central differences. TensorFlow's shape function of MatrixSetDiag refuses
    bands of matrices of unknown size; if Python's gradient of MatrixDiagPart fails because of that,
    the reference is also central differences.
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
        part(case, "wide_batch_one_diagonal", values(2, 3, 5), ints(1)[0], static="all"),
        part(bands, "tall_complex", complexes(4, 2), ints(-3, -1), static="none"),
        # Python has none by the padding value.
        part(numeric, "padding", values(2, 3, 4), ints(-2, 1), values(), static="all"),
        diag(numeric, "padding", values(2, 4, 3), ints(-2, 1), values(), rows=3, static="all"),
        diag(bands, "band", values(3, 3), ints(-1, 1)),
        diag(bands, "rectangular_batch", values(2, 4, 3), ints(-2, 1), rows=3, static="all"),
        diag(case, "above_float", singles(2, 3), ints(2)),
        set_diag(bands, "band", values(3, 4), values(3, 3), k=[-1, 1], static="all"),
        set_diag(case, "batch_one_diagonal", values(2, 4, 3), values(2, 3), k=-1, static="all"),
        set_diag(
            bands,
            "nonlinear_complex",
            *(complexes(3, 5), complexes(2, 3)),
            k=[2, 3],
            build=nonlinear,
            static="none",
        ),
    ]


diag_part = functools.partial(case, "MatrixDiagPart")
set_diag = functools.partial(case, "MatrixSetDiag")
CASES = [
    diag_part("square", values(2, 3, 3), static="all"),
    diag_part("wide_float", singles(2, 3)),
    diag_part(
        "tall_nonlinear_complex", complexes(4, 2), build=_nonlinear("MatrixDiagPart"), static="none"
    ),
    diag_part("empty", values(0, 2, 2)),
    set_diag("square", values(2, 3, 3), values(2, 3), static="all"),
    set_diag("wide_float", singles(2, 3), singles(2)),
    set_diag(
        "tall_nonlinear_complex",
        *(complexes(4, 2), complexes(2)),
        build=_nonlinear("MatrixSetDiag"),
        static="none",
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

# ---- Scatters, patches, gathers from variables

values, singles, complexes = sequences(3)


def _scatter(op: str) -> list[Case]:
    extreme = op.endswith(("Max", "Min"))
    kind = values if extreme else complexes
    # The order of repeated updates is undefined, so Update gets distinct ones.
    rows = ints([2], [0]) if op.endswith("Update") else ints([2], [0], [2])
    scatter = functools.partial(case, op, bad_indices_policy="")
    return [
        scatter("rows", values(4, 3), rows, values(len(rows), 3)),
        scatter("elements_float", singles(3, 2), longs([0, 1], [2, 0]), singles(2), static="all"),
        scatter(
            "batch_of_indices", *(kind(5), ints([[4], [1]], [[0], [2]]), kind(2, 2)), static="none"
        ),
        scatter(
            "nonlinear",
            *(values(4), ints([3], [1]), values(2)),
            build=lambda x, i, u, **how: tf.square(call(op, x * x, i, u * u, **how)),
        ),
        # Python's gradient drops the policy, for Max and Min until 2.20. Beyond the first order,
        # the stock gradient of GatherNd drops it.
        case(
            op,
            "bad_indices_ignored",
            *(values(4), ints([3], [9], [1]), values(3)),
            bad_indices_policy="IGNORE",
            reference="numeric",
            second_order=None,
        ),
        scatter("no_updates", values(3, 2), np.zeros([0, 1], "int32"), np.zeros([0, 2])),
    ]


def _ties(op: str) -> list[Case]:
    x, updates = np.array([1.0, 2, 3, 2]), np.array([1.0, 1, 2, 5, 2, 1])
    at = ints([0], [0], [1], [2], [3], [3])
    return [case(op, "ties", x, at, updates, bad_indices_policy="")]


def _patches(op: str, name: str, x: np.ndarray, ksizes: Any, **more: Any) -> Case:
    """`ksizes`, `strides` and `rates` are those of the spatial axes."""
    ones = [1] * len(ksizes)
    sizes = {"strides": ones} if op == "ExtractVolumePatches" else {"strides": ones, "rates": ones}
    sizes = {key: [1, *more.pop(key, size), 1] for key, size in sizes.items()}
    how = {"padding": "VALID", "ksizes": [1, *ksizes, 1], **sizes, **more}
    return case(op, name, x, **how)


def _of_square(x: Any, **how: Any) -> Any:
    return tf.square(call("ExtractImagePatches", x * x, **how))


images = functools.partial(_patches, "ExtractImagePatches")
volumes = functools.partial(_patches, "ExtractVolumePatches")
SAME: dict[str, Any] = {"padding": "SAME", "static": "all"}
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
PATCHES = [
    images("overlap", values(2, 4, 5, 3), (2, 3)),
    images("same_strides_float", singles(1, 5, 7, 2), (3, 2), strides=(2, 3), **SAME),
    images("rates", values(2, 6, 5, 1), (2, 2), strides=(1, 2), rates=(3, 2), padding="SAME"),
    images("nonlinear", values(1, 3, 3, 2), (2, 2), build=_of_square),
    images("complex", complexes(1, 3, 3, 2), (2, 2), padding="SAME"),
    # Python's gradient fails here.
    images("no_images_of_unknown_rank", values(0, 3, 3, 2), (2, 2), static="none", **NUMERIC),
    # Python's gradient needs the static shape of the volume.
    volumes("overlap", values(2, 3, 2, 4, 2), (2, 1, 2), static="all"),
    volumes("same_strides_float", singles(1, 3, 4, 5, 2), (2, 3, 2), strides=(2, 1, 3), **SAME),
    volumes(
        "unknown_shape",
        *(values(2, 2, 3, 2, 1), (2, 2, 1)),
        padding="SAME",
        then=tf.square,
        **NUMERIC,
    ),
]

gather = functools.partial(case, "ResourceGather", variables=[0], wrt=[0], then=tf.square)
gather_nd = functools.partial(case, "ResourceGatherNd", variables=[0], wrt=[0], then=tf.square)
# Python's gradient treats every gather as one without a batch.
batch = functools.partial(gather, dtype=tf.float64, reference="numeric", second_order=None)

CASES += [
    *each("TensorScatterMax TensorScatterMin", _ties),
    *PATCHES,
    gather("repeated", values(4, 3), ints(1, 3, 1, 1), dtype=tf.float64),
    gather("matrix_of_indices_float", singles(4, 2), longs([0, 3], [3, 3]), dtype=tf.float32),
    gather("scalar_index_complex", complexes(4, 2), ints(2)[0], dtype=tf.complex128),
    gather_nd("rows", values(4, 3), ints([1], [3], [1]), dtype=tf.float64),
    gather_nd("elements_float", singles(4, 2), longs([0, 1], [3, 0], [0, 1]), dtype=tf.float32),
    gather_nd(
        "batch_of_indices_complex",
        *(complexes(2, 2, 2), ints([[0, 1], [1, 0]], [[0, 1], [1, 1]])),
        dtype=tf.complex128,
    ),
    batch("batch", values(2, 4, 3), longs([1, 3, 1], [0, 0, 2]), batch_dims=1),
    batch(
        "two_batch_axes", values(2, 2, 3), ints([[0, 2], [1, 1]], [[2, 2], [0, 1]]), batch_dims=2
    ),
    batch("batch_of_single_indices", values(3, 4), ints(1, 3, 0), batch_dims=1),
    *each(
        "TensorScatterAdd TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin",
        _scatter,
    ),
]
