"""Shards on 64 threads: they are found, are many if there is much to do, and write to few common
cache lines.
"""

import json
import sys

import commands
import many_threads
import pytest
import shards

# Results are those of one thread, whichever thread runs a shard.
PROGRAM = """
import json, sys
import shards
recorder = shards.Recorder()
import numpy as np
import tensorflow as tf
import tensorflow_ext as tfe

rng = np.random.default_rng(0)
x, dy = (tf.constant(rng.normal(size=(512, 768)), tf.float32) for _ in range(2))
scale, offset = (tf.constant(rng.normal(size=768), tf.float32) for _ in range(2))
indices = tf.constant(rng.integers(0, 512, (300, 20)), tf.int64)
weights = tf.constant(rng.normal(size=(300, 20)), tf.float32)
images = tf.reshape(x, [2, 16, 16, 768])
rois = tf.constant([[i % 2, 1, 2, 9, 12] for i in range(32)], tf.float32)

def gradients(function, *inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = function(*inputs)
    return [y, *map(tf.convert_to_tensor, tape.gradient(y, inputs))]

steps = {
    "LayerNorm": lambda: gradients(
        lambda *inputs: tfe.layer_norm(*inputs).y * dy, x, scale, offset
    ),
    "Sparsemax": lambda: gradients(lambda x: tfe.sparsemax(x) * dy, x),
    "EmbeddingBag": lambda: gradients(
        lambda x, weights: tfe.embedding_bag(indices, x, weights), x, weights
    ),
    "RoiAlign": lambda: gradients(
        lambda x: tfe.roi_align(x, rois, pooled_height=3, pooled_width=3), images
    ),
    "Scale": lambda: [tfe.raw_ops.scale(x, factor=2.0)],
}
found = {}
for op, step in steps.items():
    expected = [value.numpy() for value in step()]
    regions, beside = recorder.regions(step)
    for value, other in zip(step(), expected, strict=True):
        np.testing.assert_array_equal(value, other)
    found[op] = [
        {field: getattr(region, field) for field, _ in region._fields_}
        | {"on_threads": region.on_threads}
        for region in regions
    ]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, list[dict[str, float]]]:
    """The shards of each op."""
    return json.loads(commands.run(sys.executable, "-c", PROGRAM, env=many_threads.environment()))


every_op = pytest.mark.parametrize(
    "op", ["LayerNorm", "Sparsemax", "EmbeddingBag", "RoiAlign", "Scale"]
)


@every_op
def test_there_are_many_shards_and_equal_parts_are_the_minimum(op: str, found: dict) -> None:
    assert max(region["shards"] for region in found[op]) > 4
    for region in found[op]:
        assert 0 < region["longest"] <= region["seconds"]
        assert region["on_threads"] >= region["seconds"] / shards.THREADS


@every_op
def test_shards_share_cache_lines_only_at_their_edges(op: str, found: dict) -> None:
    outputs = 4  # a kernel has at most this many
    assert sum(region["lines"] for region in found[op])
    for region in found[op]:
        assert region["shared_lines"] <= outputs * (region["shards"] - 1)


def test_every_write_is_seen(found: dict) -> None:
    (region,) = found["Scale"]
    assert region["lines"] == 512 * 768 * 4 // 64


def test_a_recorder_comes_before_tensorflow() -> None:
    with pytest.raises(RuntimeError, match="TensorFlow has already been imported"):
        shards.Recorder()
