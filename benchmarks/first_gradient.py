# SPDX-License-Identifier: Apache-2.0
"""What the first gradient of a new op costs; prints a line for each op.

A process of its own, for in one that has differentiated nothing is the first. Python's
gradient by hand runs before, so that the kernels are there; from the time of ours the
first time is subtracted that of ours from then on. Of a first time there is but one, so
that the time is that of the thread: what other processes take is not in it. Nor is what
Python takes to collect garbage of all that is loaded, 0.1 s, which the same op met in
every process.
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
    # What any gradient of any op needs once.
    _first(by_hand.RELU, tf.bfloat16)
    for case in by_hand.CASES:
        seconds = [_first(case, dtype) for dtype in (tf.float32, tf.float64)]
        print(case.op, statistics.mean(seconds))


if __name__ == "__main__":
    main()
