"""CorrelationCost forward and backward against compositions of stock ops."""

import dataclasses
from typing import Any

import limits
import measure
import numpy as np
import ops
import tensorflow as tf

import tensorflow_ext as tfe


@dataclasses.dataclass(frozen=True)
class Layer:
    """A typical correlation layer: windows of one pixel, an output for each pixel. `compiles` means
    that XLA can unroll its displacements because they are few."""

    name: str
    shape: tuple[int, int, int, int]
    max_displacement: int
    stride: int
    compiles: bool

    def make_inputs(self) -> list[tf.Tensor]:
        rng = np.random.default_rng(0)
        return [tf.constant(rng.random(self.shape, np.float32)) for _ in range(2)]

    def ours(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        reach = self.max_displacement
        return tfe.correlation_cost(
            a, b, kernel_size=1, max_displacement=reach, stride_1=1, stride_2=self.stride, pad=reach
        )

    def shifted(self, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        """One displacement at a time: a slice, a product, a mean."""
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
        """One row at a time: the matrix of all products, then its diagonals."""
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


def of_layer(layer: Layer, **options: Any) -> list[measure.Result]:
    """One layer; `options` are those of ops.compare."""
    a, b = layer.make_inputs()
    values = a.shape.num_elements()
    displacements = (2 * (layer.max_displacement // layer.stride) + 1) ** 2
    outputs = values // layer.shape[-1] * displacements
    results = []
    for case, by in measure.forward_and_backward(0, 1):
        rivals = {
            "slices, products, means": ops.Rival(layer.shifted, bar=1 / 3),
            "matmul of rows, diagonals": ops.Rival(layer.multiplied, bar=1 / 3),
        }
        if layer.compiles:
            rivals["slices, products, means, jit_compile"] = ops.Rival(
                layer.shifted, bar=1.0, mode="jit_compile"
            )
        # A product and a sum per channel of a displacement; backward for both inputs.
        passes = 3 if by else 1
        results += ops.compare(
            "CorrelationCost",
            f"{case}, {layer.name} on {' x '.join(map(str, layer.shape))}",
            layer.ours,
            [a, b],
            rivals,
            limits.Needs(
                4 * (2 * values + outputs) * (2 if by else 1), passes * 2 * values * displacements
            ),
            by=by,
            **options,
        )
    return results


def run() -> list[measure.Result]:
    return [result for layer in LAYERS for result in of_layer(layer, rounds=9)]
