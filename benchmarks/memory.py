"""The memory of a step, as TensorFlow's allocators record it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf


def peak(
    function: Callable[..., Any],
    inputs: Sequence[tf.Tensor],
    by: Sequence[int] = (),
    upstream: tf.Tensor | None = None,
) -> int:
    """Bytes allocated at the peak of a step, without inputs and upstream gradient.

    Args:
      function: Runs as a graph on the CPU, not compiled.
      inputs: Its arguments.
      by: The inputs by which the step differentiates its result; each gradient is a dense tensor.
      upstream: The gradient of its result; ones if not given.
    """
    feeds = {}

    def placeholder(value: tf.Tensor) -> tf.Tensor:
        made = tf.compat.v1.placeholder(value.dtype, value.shape)
        feeds[made] = value.numpy()
        return made

    with tf.Graph().as_default() as graph:
        arguments = [placeholder(value) for value in inputs]
        result = function(*arguments)
        fetches = tf.nest.flatten(result)
        if by:
            dy = None if upstream is None else placeholder(upstream)
            fetches += tf.gradients(result, [arguments[i] for i in by], dy)
        fetches = [tf.convert_to_tensor(fetch).op for fetch in fetches]
    with tf.compat.v1.Session(graph=graph) as session:
        return of_step(session, fetches, feeds)


def of_step(session: tf.compat.v1.Session, fetches: Sequence[Any], feeds: Mapping[Any, Any]) -> int:
    """Bytes allocated at the peak of a run of `fetches`, without the feeds."""
    options = tf.compat.v1.RunOptions(
        trace_level=tf.compat.v1.RunOptions.FULL_TRACE  # with every allocation
    )
    metadata = tf.compat.v1.RunMetadata()
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


def of_eager_step(step: Callable[[], object]) -> int:
    """Bytes that the CPU's allocator has given at the peak of an eager step, beyond those that it
    had given before."""
    device = "CPU:0"
    step()
    before = tf.config.experimental.get_memory_info(device)["current"]
    tf.config.experimental.reset_memory_stats(device)
    step()
    return tf.config.experimental.get_memory_info(device)["peak"] - before
