"""The graphs that rounds.cc differentiates: y:0 of x:0, a vector of four floats."""

import pathlib
from collections.abc import Callable, Iterable

import tensorflow as tf

import tensorflow_ext as tfe

v1 = tf.compat.v1


def _ours(x: tf.Tensor) -> tf.Tensor:
    """Ops of this library."""
    y = tfe.mish(tfe.gelu(x)) + tfe.snake(x, 0.5) + tfe.softshrink(x)
    y, _, _ = tfe.layer_norm(tf.reshape(y, [2, 2]), tf.ones([2]), tf.zeros([2]))
    return tf.reduce_sum(tfe.sparsemax(y) * tf.reshape(x, [2, 2]))


@tf.function(autograph=False)
def _inner(x: tf.Tensor) -> tf.Tensor:
    return tf.quantization.fake_quant_with_min_max_args(x) * tf.math.erfinv(x * 0.5)


@tf.function(autograph=False)
def _outer(x: tf.Tensor) -> tf.Tensor:
    return _inner(x) + tf.math.digamma(_inner(x * 0.5) + 2.0)


def _call(x: tf.Tensor) -> tf.Tensor:
    """A call with nested calls."""
    return tf.reduce_sum(_outer(x))


def _attributes(x: tf.Tensor) -> tf.Tensor:
    """Ops whose attributes rounds.cc changes."""
    for _ in range(8):
        x = tf.quantization.fake_quant_with_min_max_args(x)
    return tf.reduce_sum(x)


def _deep_copy(x: tf.Tensor) -> tf.Tensor:
    """An op whose gradient in tests/sanitizers/faulty_gradients.cc has a race."""
    return tf.reduce_sum(tf.raw_ops.DeepCopy(x=x))


# rounds.cc looks for names that begin with "changing_".
GRAPHS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "ours": _ours,
    "call": _call,
    "changing_call": lambda x: tf.reduce_sum(_inner(x)),
    "changing_attributes": _attributes,
    "deep_copy": _deep_copy,
}


def write(folder: pathlib.Path, names: Iterable[str]) -> list[pathlib.Path]:
    """Writes each graph to a file of its name; returns the files."""
    files = []
    for name in names:
        with v1.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [4], name="x")
            tf.identity(GRAPHS[name](x), name="y")
        files.append(folder / name)
        files[-1].write_bytes(graph.as_graph_def().SerializeToString())
    return files
