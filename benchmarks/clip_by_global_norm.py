# SPDX-License-Identifier: Apache-2.0
"""ClipByGlobalNorm over the gradients of a network against tf.clip_by_global_norm."""

from collections.abc import Callable

import measure
import tensorflow as tf

import tensorflow_ext as tfe

TENSORS = 200
BAR = 1 / 1.5
# As in a residual network: kernels, and for each two vectors. Large tensors wait
# for memory: every value is read for the norm, and if it is clipped read and
# written after that, whoever does it.
SHAPES = {
    "small": ((3, 3, 16, 16), (16,), (16,)) * 67,
    "large": ((3, 3, 64, 64), (64,), (64,), (1, 1, 128, 256), (256,), (256,)) * 34,
}
# Each of several calls clips, or none.
CLIP_NORMS = {"clipped": lambda call: 100.0 * 0.8**call, "not clipped": lambda _: 1e6}
# Calls in a row, by the way to run them: to hand 200 tensors to a tf.function
# takes longer than the work.
CALLS = {"eager": 1, "tf.function": 16, "jit_compile": 4}

Clip = Callable[[list[tf.Tensor], float], tuple[list[tf.Tensor], tf.Tensor]]
Step = Callable[..., object]


def _step(clip: Clip, clip_norm: Callable[[int], float], calls: int) -> Step:
    """Clips what was clipped, `calls` times."""

    def step(*values: tf.Tensor) -> object:
        clipped = list(values)
        for call in range(calls):
            clipped, norm = clip(clipped, clip_norm(call))
        return [*clipped, norm]

    return step


def _with_gradient(step: Step) -> Step:
    def run(*values: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = step(*values)
        return tape.gradient(outputs, values)

    return run


def _compare(size: str, label: str, backward: bool, mode: str) -> measure.Result:
    random = tf.random.Generator.from_seed(0)
    values = [random.normal(shape) for shape in SHAPES[size][:TENSORS]]
    calls = min(CALLS[mode], 4) if backward else CALLS[mode]

    def contender(clip: Clip, jit_compile: bool) -> Callable[[], object]:
        step = _step(clip, CLIP_NORMS[label], calls)
        if backward:
            step = _with_gradient(step)
        if mode != "eager":
            step = tf.function(step, jit_compile=jit_compile)
        return lambda: step(*values)

    # Against XLA too our side is an ordinary tf.function.
    times = measure.interleave(
        {
            "ours": contender(tfe.clip_by_global_norm, False),
            "rival": contender(tf.clip_by_global_norm, mode == "jit_compile"),
        }
    )
    seconds = measure.median(times, "ours") / calls
    megabytes = sum(4 * value.shape.num_elements() for value in values) / 1e6
    passes = 1 if label == "not clipped" else 3  # over all values
    note = "" if backward else f"{passes * megabytes / seconds / 1e3:.1f} GB/s"
    direction = "forward + backward" if backward else "forward"
    return measure.Result(
        "ClipByGlobalNorm",
        f"{direction}, {label}, {TENSORS} tensors of {megabytes:.1f} MB",
        seconds,
        f"tf.clip_by_global_norm, {mode}",
        measure.ratio(times, "ours", "rival"),
        BAR,
        note,
    )


def run() -> list[measure.Result]:
    return [
        _compare(size, label, backward, mode)
        for size in SHAPES
        for label in CLIP_NORMS
        for backward in (False, True)
        for mode in ("eager", "tf.function", "jit_compile")
        # XLA takes a minute to compile 200 gradients.
        if not (backward and mode == "jit_compile")
    ]
