# SPDX-License-Identifier: Apache-2.0
"""The cost of ops as their work grows: a table and a picture for each way to grow."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator

import correlation_cost
import embedding_bag
import kernels
import limits
import measure
import normalization
import numpy as np
import ops
import pytorch
import roi_align
import tensorflow as tf
from pictures import COST_OVER

from tensorflow_ext import raw_ops

ROUNDS = 5
BYTES = [4**exponent for exponent in range(5, 16)]  # 1 KB to 1 GB
COLUMNS = 256  # of the rows that are normalized
REGIONS = [4**exponent for exponent in range(1, 7)]
BAGS = [4**exponent for exponent in range(2, 8)]
TABLE_ROWS = [1024 * 4**exponent for exponent in range(6)]  # 256 KB to 256 MB
DISPLACEMENTS = (1, 2, 4, 8, 16)


def _grown(
    group: str, op: str, size: float, results: Iterable[measure.Result]
) -> Iterator[measure.Result]:
    """The rows with the names by which the pictures know them."""
    for result in results:
        phase = result.case.split(",")[0]
        yield dataclasses.replace(
            result,
            group=COST_OVER + group,
            case=f"{op} {phase}, {size:,}",
            size=float(size),
            bar=None,
        )


def _elementwise(
    name: str,
    ours: measure.Function,
    stock: measure.Function,
    torch: pytorch.Function,
    size: int,
) -> list[measure.Result]:
    rng = np.random.default_rng(0)
    arguments = [
        tf.constant(rng.standard_normal(size // 4, dtype=np.float32)) for _ in range(2)
    ]
    return ops.compare(
        "",
        "gradient",
        ours,
        arguments,
        {
            "stock, tf.function": ops.Rival(stock),
            "stock, jit_compile": ops.Rival(stock, mode="jit_compile"),
        },
        limits.Needs(3 * size),
        {name: ops.Torch(torch)},
        rounds=ROUNDS,
        one_call=False,
    )


def _gelu_gradient(dy: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.gelu(x, approximate=True)
    return tape.gradient(y, x, dy)


_ELEMENTWISE = {
    "Relu": functools.partial(
        _elementwise,
        "threshold_backward",
        *kernels.CASES["ReluGrad"][:2],
        lambda dy, x: pytorch.aten.threshold_backward(dy, x, 0),
    ),
    "Gelu": functools.partial(
        _elementwise,
        "gelu_backward",
        raw_ops.gelu_grad,
        _gelu_gradient,
        lambda dy, x: pytorch.aten.gelu_backward(dy, x, approximate="tanh"),
    ),
}


def _over_bytes() -> Iterator[measure.Result]:
    for op, of_size in _ELEMENTWISE.items():
        for size in BYTES:
            yield from _grown("bytes of a tensor", op, size, of_size(size))
    for op, norm in (
        ("LayerNorm", normalization.measure_layer_norm),
        ("RmsNorm", normalization.measure_rms_norm),
    ):
        found: list[measure.Result] = []
        for size in BYTES:
            results = norm(size // 4 // COLUMNS, COLUMNS, rounds=ROUNDS, one_call=False)
            found += _grown("bytes of a tensor", op, size, results)
        yield from _by_phase(found)


def _over_regions() -> Iterator[measure.Result]:
    images, size, channels, _, scale = roi_align.SHAPES[0]
    found: list[measure.Result] = []
    for regions in REGIONS:
        results = roi_align.of_shape(
            images,
            size,
            channels,
            regions,
            scale,
            sampling_ratios=(2,),
            rounds=ROUNDS,
            one_call=False,
        )
        found += _grown("regions", "RoiAlign", regions, results)
    yield from _by_phase(found)


def _over_bags() -> Iterator[measure.Result]:
    found: list[measure.Result] = []
    for bags in BAGS:
        results = embedding_bag.of_shape(
            bags, 50, 20_000, 64, rounds=ROUNDS, one_call=False
        )
        found += _grown("bags", "EmbeddingBag", bags, results)
    yield from _by_phase(found)


def _over_rows() -> Iterator[measure.Result]:
    found: list[measure.Result] = []
    for rows in TABLE_ROWS:
        results = embedding_bag.of_shape(
            1024, 50, rows, 64, rounds=ROUNDS, one_call=False
        )
        found += _grown("rows of the table", "EmbeddingBag", rows, results)
    yield from _by_phase(found)


def _over_displacements() -> Iterator[measure.Result]:
    found: list[measure.Result] = []
    for reach in DISPLACEMENTS:
        layer = correlation_cost.Layer("", (1, 48, 64, 64), reach, 1, compiles=False)
        results = correlation_cost.of_layer(layer, rounds=ROUNDS, one_call=False)
        found += _grown("displacement", "CorrelationCost", reach, results)
    yield from _by_phase(found)


def _by_phase(results: list[measure.Result]) -> list[measure.Result]:
    """Forward of all sizes, then backward: a panel each."""
    return sorted(results, key=lambda result: result.case.split(",")[0])


def run() -> list[measure.Result]:
    return [
        *_over_bytes(),
        *_over_regions(),
        *_over_bags(),
        *_over_rows(),
        *_over_displacements(),
    ]
