"""An elementwise modulo, first in NumPy, then the same op in C++.

The prototype is two NumPy functions, the op and what its gradient needs, and a gradient
that says how they belong together. TfExt>FloorMod has the same parts in C++:

  mod               tensorflow_ext/ops/floor_mod/floor_mod.h, FloorMod
  mod_grad          tensorflow_ext/ops/floor_mod/floor_mod.h, FloorModGrad
  mod_gradient      tensorflow_ext/ops/floor_mod/floor_mod_op.cc

Prints values, gradients and the time of a call for both. docs/prototyping.md explains
the way from one to the other. Run: .venv/bin/python examples/mod/mod.py
"""

import argparse
import sys
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.table import Table

import tensorflow_ext as tfe

X = (0.3, 0.7, 1.2, 1.7)
Y = (0.2, 0.5, 1.0, 2.9)

Binary = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def sum_to(gradient: tf.Tensor, tensor: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """Sums `gradient` to the shape of `tensor`, which was broadcast to the shape of `like`."""
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(tensor), s1=tf.shape(like))
    return tf.reshape(tf.reduce_sum(gradient, axes), tf.shape(tensor))


def mod_grad_gradient(op: Any, dbackprops: tf.Tensor) -> list[tf.Tensor | None]:
    """Linear in the upstream gradient; the quotient is constant between its steps."""
    _, x, y = op.inputs
    return [mod_grad(dbackprops, x, y), None, None]


@tfe.numpy_op(
    Tout=tf.float32,
    gradient=mod_grad_gradient,
    shape=lambda gradients, x, y: gradients,
    stateful=False,
)
def mod_grad(gradients: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of mod(x, y) by y, before it is summed to the shape of y."""
    return -np.floor_divide(x, y) * gradients


def mod_gradient(op: Any, dz: tf.Tensor) -> list[tf.Tensor]:
    """z = x - floor(x / y) y: dz / dx = 1, dz / dy = -floor(x / y)."""
    x, y = op.inputs
    return [sum_to(dz, x, dz), sum_to(mod_grad(dz, x, y), y, dz)]


@tfe.numpy_op(
    Tout=tf.float32, gradient=mod_gradient, shape=tf.broadcast_static_shape, stateful=False
)
def mod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The remainder of the floored division, element by element."""
    return np.mod(x, y)


class Result(NamedTuple):
    """z = mod(x, y), and the gradients of its sum."""

    z: np.ndarray
    dx: np.ndarray
    dy: np.ndarray


def differentiate(function: Binary, x: tf.Tensor, y: tf.Tensor) -> Result:
    """Runs a modulo and its gradient."""
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = function(x, y)
    return Result(z.numpy(), *(g.numpy() for g in tape.gradient(z, [x, y])))


def listed(array: np.ndarray) -> str:
    return ", ".join(f"{value + 0.0:.4g}" for value in array)  # no -0


def microseconds(function: Binary, size: int) -> float:
    """The time of a call with its gradient, for `size` elements."""
    x, y = (tf.random.uniform([size], 1, 2, seed=seed) for seed in (1, 2))
    times = timeit.repeat(lambda: differentiate(function, x, y), number=10, repeat=5)
    return min(times) / 10 * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000, help="elements of the timed call")
    arguments = parser.parse_args()
    if arguments.size < 1:
        parser.error("--size: expected at least 1")

    x, y = tf.constant(X), tf.constant(Y)
    versions = {"NumPy (numpy_op)": mod, "C++ (TfExt>FloorMod)": tfe.floor_mod}
    table = Table(title=f"mod(x, y), x = {list(X)}, y = {list(Y)}")
    for heading in ("", "z", "by x", "by y", f"us, {arguments.size:,} elements"):
        table.add_column(heading)
    results = []
    for name, function in versions.items():
        result = differentiate(function, x, y)
        # The same in a graph.
        in_graph = differentiate(tf.function(function), x, y)
        results += [result, in_graph]
        time = f"{microseconds(function, arguments.size):,.0f}"
        table.add_row(name, *map(listed, result), time)
    Console(width=110).print(table)
    agree = all(
        np.allclose(part, expected, rtol=1e-5)
        for result in results
        for part, expected in zip(result, results[0], strict=True)
    )
    print("they agree" if agree else "they differ")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
