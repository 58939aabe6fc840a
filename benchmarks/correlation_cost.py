# SPDX-License-Identifier: Apache-2.0
"""CorrelationCost forward and backward against compositions of stock ops."""

import dataclasses
import functools
from collections.abc import Callable

import measure
import memory
import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe

Function = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Layer:
    """A correlation layer as networks have it: windows of one pixel, an output for
    each pixel. `compiles`: few enough displacements for XLA to unroll."""

    name: str
    shape: tuple[int, int, int, int]
    max_displacement: int
    stride: int
    compiles: bool

    def ours(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        reach = self.max_displacement
        return tfe.correlation_cost(
            a,
            b,
            kernel_size=1,
            max_displacement=reach,
            stride_1=1,
            stride_2=self.stride,
            pad=reach,
        )

    def shifted(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        """Displacement by displacement: a slice, a product, a mean."""
        _, height, width, _ = self.shape
        edge = [self.max_displacement, self.max_displacement]
        padded = tf.pad(b, [[0, 0], edge, edge, [0, 0]])
        steps = range(0, 2 * self.max_displacement + 1, self.stride)
        costs = [
            tf.reduce_mean(a * padded[:, y : y + height, x : x + width], axis=3)
            for y in steps
            for x in steps
        ]
        return tf.stack(costs, axis=3)

    def multiplied(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        """Row by row: the matrix of all products, and of that the diagonals."""
        _, height, _, channels = self.shape
        edge = [self.max_displacement, self.max_displacement]
        padded = tf.pad(b, [[0, 0], edge, edge, [0, 0]])
        last = 2 * self.max_displacement
        costs = []
        for y in range(0, last + 1, self.stride):
            row = padded[:, y : y + height]
            products = tf.matmul(a, row, transpose_b=True) / channels
            diagonals = tf.linalg.diag_part(products, k=(0, last))
            costs.append(diagonals[:, :, :: -self.stride])
        return tf.transpose(tf.concat(costs, axis=2), [0, 1, 3, 2])


LAYERS = (
    Layer("FlowNetC", (1, 48, 64, 256), 20, 2, compiles=False),
    Layer("PWC-Net", (2, 64, 64, 32), 4, 1, compiles=True),
)


def _run(layer: Layer) -> list[measure.Result]:
    rng = np.random.default_rng(0)
    a, b = (tf.constant(rng.random(layer.shape, dtype=np.float32)) for _ in range(2))
    contenders: dict[str, Function] = {
        "ours": tf.function(layer.ours),
        "slices, products, means": tf.function(layer.shifted),
        "matmul of rows, diagonals": tf.function(layer.multiplied),
    }
    if layer.compiles:
        jit = tf.function(layer.shifted, jit_compile=True)
        contenders["slices, products, means, jit_compile"] = jit
    results = []
    for case, make in (
        ("forward", lambda f: functools.partial(f, a, b)),
        (
            "forward + backward",
            lambda f: tf.function(measure.with_gradient(f, [a, b])),
        ),
    ):
        work = {name: make(function) for name, function in contenders.items()}
        times = measure.interleave(work, rounds=9)
        differentiated = (0, 1) if case != "forward" else ()
        notes = {
            "slices, products, means": memory.beside(
                layer.ours, layer.shifted, [a, b], differentiated
            ),
            "matmul of rows, diagonals": memory.beside(
                layer.ours, layer.multiplied, [a, b], differentiated
            ),
        }
        for rival in list(contenders)[1:]:
            results.append(
                measure.Result(
                    "CorrelationCost",
                    f"{case}, {layer.name} on {' x '.join(map(str, layer.shape))}",
                    measure.median(times, "ours"),
                    rival,
                    measure.ratio(times, "ours", rival),
                    None if rival.endswith("jit_compile") else 1 / 3,
                    notes.get(rival, ""),
                )
            )
    return results


def run() -> list[measure.Result]:
    return [result for layer in LAYERS for result in _run(layer)]
