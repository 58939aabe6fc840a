"""The cost of ops as their work grows: a table and a picture for each way to grow."""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import correlation_cost
import embedding_bag
import kernels
import limits
import machine
import measure
import normalization
import numpy as np
import ops
import pytorch
import roi_align
import tensorflow as tf
from pictures import COST_OVER, op_of

from tensorflow_ext import raw_ops

_OPTIONS = {"rounds": 5, "one_call": False}
BYTES = [4**exponent for exponent in range(5, 16)]  # 1 KB to 1 GB
# The number of tensors of that size that all contenders hold together. Sizes that do not fit in
# this machine's memory are skipped.
_TENSORS = 24
COLUMNS = 256  # of the normalized rows
REGIONS = [4**exponent for exponent in range(1, 7)]
BAGS = [4**exponent for exponent in range(2, 8)]
TABLE_ROWS = [1024 * 4**exponent for exponent in range(6)]  # 256 KB to 256 MB
DISPLACEMENTS = (1, 2, 4, 8, 16)


def grown(
    group: str, op: str, size: float, results: Iterable[measure.Result]
) -> Iterator[measure.Result]:
    """Renames the rows for the pictures."""
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
    **options: Any,
) -> list[measure.Result]:
    rng = np.random.default_rng(0)
    arguments = [tf.constant(rng.standard_normal(size // 4, dtype=np.float32)) for _ in range(2)]
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
        **options,
    )


def _gelu_gradient(dy: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.gelu(x, approximate=True)
    return tape.gradient(y, x, dy)


ELEMENTWISE = {
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


def _over(
    group: str, op: str, sizes: Iterable[int], of_size: Callable[..., list[measure.Result]]
) -> list[measure.Result]:
    """Measures the op at all sizes, forward and then backward: a panel each."""
    rows: list[measure.Result] = []
    for size in sizes:
        machine.give_back_freed_memory()
        rows += grown(group, op, size, of_size(size, **_OPTIONS))
    return sorted(rows, key=op_of)


def _regions(count: int, **options: Any) -> list[measure.Result]:
    images, size, channels, _, scale = roi_align.SHAPES[0]
    return roi_align.of_shape(images, size, channels, count, scale, sampling_ratios=(2,), **options)


def _rows(norm: Callable[..., list[measure.Result]]) -> Callable[..., Any]:
    return lambda size, **options: norm(size // 4 // COLUMNS, COLUMNS, **options)


def _bags(count: int, **options: Any) -> list[measure.Result]:
    return embedding_bag.of_shape(count, 50, 20_000, 64, **options)


def _tables(rows: int, **options: Any) -> list[measure.Result]:
    return embedding_bag.of_shape(1024, 50, rows, 64, **options)


def _displacements(reach: int, **options: Any) -> list[measure.Result]:
    layer = correlation_cost.Layer("", (1, 48, 64, 64), reach, 1, compiles=False)
    return correlation_cost.of_layer(layer, **options)


def _that_fit(sizes: Iterable[int]) -> list[int]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [size for size in sizes if _TENSORS * size <= memory]


def run() -> list[measure.Result]:
    over_bytes = ELEMENTWISE | {
        "LayerNorm": _rows(normalization.measure_layer_norm),
        "RmsNorm": _rows(normalization.measure_rms_norm),
    }
    return [
        *(
            row
            for op, of_size in over_bytes.items()
            for row in _over("bytes of a tensor", op, _that_fit(BYTES), of_size)
        ),
        *_over("regions", "RoiAlign", REGIONS, _regions),
        *_over("bags", "EmbeddingBag", BAGS, _bags),
        *_over("rows of the table", "EmbeddingBag", TABLE_ROWS, _tables),
        *_over("displacement", "CorrelationCost", DISPLACEMENTS, _displacements),
    ]
