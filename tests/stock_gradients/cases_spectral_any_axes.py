# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms over any axes, and those of old graphs.

TensorFlow has kernels of neither; fft_kernels.cc has.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import old_op
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
# The shape of the input, the lengths and the axes.
Transform = tuple[tuple[int, ...], list[int], list[int]]
TRANSFORMS: dict[str, Transform] = {
    "last_axis": ((2, 5), [5], [1]),
    "last_axis_even": ((2, 4), [4], [-1]),
    "cropped": ((5, 6), [3, 4], [0, 1]),
    "padded": ((3, 2), [4, 5], [-2, -1]),
    "cropped_and_padded": ((2, 4, 3), [5, 2], [0, 1]),
    "not_the_last_axis": ((4, 3), [4], [0]),
    "axes_in_any_order": ((3, 2, 4), [4, 3], [2, 0]),
    "all_axes": ((2, 3, 2), [2, 3, 2], [0, 1, 2]),
    "one_element": ((2, 1), [1], [1]),
    "no_vectors": ((0, 4), [4], [1]),
}


def _build(op: str, axes: list[int]) -> Callable[..., Any]:
    def build(x: Any, lengths: Any) -> Any:
        is_single = x.dtype in (tf.float32, tf.complex64)
        types = {
            "RFFTND": {"Tcomplex": tf.complex64 if is_single else tf.complex128},
            "IRFFTND": {"Treal": tf.float32 if is_single else tf.float64},
        }
        return getattr(raw, op)(input=x, fft_length=lengths, axes=axes, **types.get(op, {}))

    return build


def _case(op: str, name: str, transform: Transform, **more: Any) -> Case:
    shape, lengths, axes = transform
    dtype = more.pop("dtype", np.float64)
    if op == "RFFTND":
        x = normal(*shape, dtype=dtype)
    else:
        x = complex_normal(*shape, dtype=np.result_type(dtype, np.complex64))
    inputs = [x, np.array(lengths, np.int32)]
    return Case(op, name, _build(op, axes), inputs, **{**NUMERIC, **more})


def _over_any_axes() -> Iterator[Case]:
    for op in ("FFTND", "IFFTND", "RFFTND", "IRFFTND"):
        for name, transform in TRANSFORMS.items():
            yield _case(op, name, transform)
        yield _case(op, "known_shapes", TRANSFORMS["padded"], known_shapes=True)
        yield _case(op, "unknown_rank", TRANSFORMS["cropped"], known_shapes="rank")
        yield _case(
            op,
            "single",
            TRANSFORMS["axes_in_any_order"],
            dtype=np.float32,
            step=1.0,
            tolerance=1e-4,
        )


def _for_batches() -> Iterator[Case]:
    for rank in (1, 2, 3):
        suffix = "" if rank == 1 else f"{rank}D"
        core = (3, 2, 4)[:rank]
        for op in (f"BatchFFT{suffix}", f"BatchIFFT{suffix}"):
            for name, shape, more in (
                ("plain", core, {}),
                ("batch", (2, *core), {"known_shapes": True}),
                ("unknown_rank", core, {"known_shapes": "rank"}),
                ("empty", (0, *core), {}),
            ):
                x = complex_normal(*shape, dtype=np.complex64)
                yield Case(
                    op, name, old_op(op), [x], step=1.0, tolerance=1e-4, **{**NUMERIC, **more}
                )


CASES = [*_over_any_axes(), *_for_batches()]
