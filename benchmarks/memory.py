# SPDX-License-Identifier: Apache-2.0
"""How much memory a step takes, as TensorFlow's allocators record it."""

from collections.abc import Callable, Sequence

import tensorflow as tf


def peak(
    function: Callable[..., tf.Tensor],
    inputs: Sequence[tf.Tensor],
    backward: Sequence[int] = (),
) -> int:
    """Bytes allocated at the peak of a step, inputs aside.

    Args:
      function: Runs as a graph on the CPU, not compiled.
      inputs: What it is given.
      backward: The inputs by which its result is differentiated in the step, each
        gradient a dense tensor.
    """
    with tf.Graph().as_default() as graph:
        placeholders = [tf.compat.v1.placeholder(x.dtype, x.shape) for x in inputs]
        result = function(*placeholders)
        sources = [placeholders[i] for i in backward]
        gradients = tf.gradients(result, sources) if sources else []
        fetches = [tf.convert_to_tensor(x).op for x in (result, *gradients)]
    feeds = {p: x.numpy() for p, x in zip(placeholders, inputs, strict=True)}
    options = tf.compat.v1.RunOptions(
        trace_level=tf.compat.v1.RunOptions.FULL_TRACE  # with every allocation
    )
    metadata = tf.compat.v1.RunMetadata()
    with tf.compat.v1.Session(graph=graph) as session:
        session.run(fetches, feeds, options=options, run_metadata=metadata)
    records = sorted(
        (record.alloc_micros, record.alloc_bytes)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        for allocator in node.memory
        for record in allocator.allocation_records
    )
    now = most = 0
    for _, change in records:  # negative: freed
        now += change
        most = max(most, now)
    return most


def beside(
    ours: Callable[..., tf.Tensor],
    rival: Callable[..., tf.Tensor],
    inputs: Sequence[tf.Tensor],
    backward: Sequence[int] = (),
) -> str:
    """A note: both peaks."""
    peaks = (peak(function, inputs, backward) / 1e6 for function in (ours, rival))
    return "peak memory {:.1f} MB, rival {:.1f} MB".format(*peaks)
