"""The cost of the first gradient of a new op; prints a line for each op.

This is a separate process, because the first gradient must be the first in its process. Python's
hand-written gradient runs before, so that the kernels are loaded; the median of our later times is
subtracted from our first time. A first time cannot be repeated, so the clock counts the time of the
thread, which excludes other processes. It also excludes Python's garbage collection of everything
loaded, 0.1 s, which would hit the same op in every process.
"""

import gc
import statistics
import time

import by_hand
import measure
import tensorflow as tf
from tensorflow.python.framework import ops as python_ops


def _seconds(work: measure.Work) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _first(case: by_hand.Case, dtype: tf.DType) -> float:
    arguments = [tf.constant(value, dtype) for value in case.inputs]
    step = measure.step(case.function, arguments, by=case.by)
    entry = python_ops.gradient_registry._registry[case.op]
    replayed = entry["type"]
    entry["type"] = case.gradient
    step()
    entry["type"] = replayed
    first = _seconds(step)
    return first - statistics.median(_seconds(step) for _ in range(21))


def main() -> None:
    gc.disable()
    # Pays the one-time costs of the first gradient of any op.
    _first(by_hand.RELU, tf.bfloat16)
    for case in by_hand.CASES:
        seconds = [_first(case, dtype) for dtype in (tf.float32, tf.float64)]
        print(case.op, statistics.mean(seconds))


if __name__ == "__main__":
    main()
