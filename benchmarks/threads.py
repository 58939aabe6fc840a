"""Ops on one thread and on more, against their rivals on as many."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

import clip_by_global_norm
import correlation_cost
import embedding_bag
import growth
import measure
import normalization
import resampler
import roi_align
import roi_pool
import sparsemax
from pictures import op_of

_OPTIONS = {"rounds": 9, "one_call": False}
_MEGABYTES = 4


def _cases() -> Mapping[str, Callable[[], list[measure.Result]]]:
    """The rows of each op, at one size."""
    return {
        **{
            op: lambda of_size=of_size: of_size(_MEGABYTES * 2**20, **_OPTIONS)
            for op, of_size in growth.ELEMENTWISE.items()
        },
        "LayerNorm": lambda: normalization.measure_layer_norm(4096, 256, **_OPTIONS),
        "RmsNorm": lambda: normalization.measure_rms_norm(4096, 256, **_OPTIONS),
        "Sparsemax": lambda: [
            row for row in sparsemax.of_shape(1024, 1000) if "jit" not in row.case
        ],
        "RoiPool": lambda: roi_pool.run(**_OPTIONS),
        "RoiAlign": lambda: roi_align.of_shape(
            *roi_align.SHAPES[0], sampling_ratios=(2,), **_OPTIONS
        ),
        "Resampler": lambda: resampler.of_shape(*resampler.SHAPES[0], **_OPTIONS),
        "EmbeddingBag": lambda: embedding_bag.of_shape(*embedding_bag.SHAPES[0], **_OPTIONS),
        "CorrelationCost": lambda: correlation_cost.of_layer(
            correlation_cost.LAYERS[1], **_OPTIONS
        ),
        "ClipByGlobalNorm": lambda: clip_by_global_norm.of_size(
            "large", "clipped", backward=False, mode="tf.function"
        ),
    }


def _measure(threads: int) -> list[measure.Result]:
    """Runs in a process with `threads` cores."""
    return [
        row
        for op, of_op in _cases().items()
        for row in growth.grown("threads", op, threads, of_op())
    ]


@contextlib.contextmanager
def _cores(count: int) -> Iterator[None]:
    """Gives this thread, and the processes that it starts, `count` cores: TensorFlow, XLA and
    PyTorch then use as many threads."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def run() -> list[measure.Result]:
    cores = len(os.sched_getaffinity(0))
    counts = [2**exponent for exponent in range(cores.bit_length())]
    rows = []
    for count in counts:
        with _cores(count):
            rows += measure.in_own_process(_measure, count)
    return sorted(rows, key=op_of)
