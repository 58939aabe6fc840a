"""ClipByGlobalNorm over the gradients of a network against tf.clip_by_global_norm."""

import dataclasses
from collections.abc import Callable

import limits
import measure
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

TENSORS = 200
BAR = 1 / 1.5
# The tensors of a residual network: for each kernel two vectors. Large tensors are bound by memory:
# any implementation reads every value for the norm, and if it clips, reads and writes it again.
SHAPES = {
    "small": ((3, 3, 16, 16), (16,), (16,)) * 67,
    "large": ((3, 3, 64, 64), (64,), (64,), (1, 1, 128, 256), (256,), (256,)) * 34,
}
# Either each of several calls clips, or none does.
CLIP_NORMS = {"clipped": lambda call: 100.0 * 0.8**call, "not clipped": lambda _: 1e6}
# Consecutive calls, by mode. The first call must copy; the others get gradients that nobody else
# needs, as in a training step.
CALLS: dict[measure.Mode, int] = {"eager": 1, "tf.function": 16, "jit_compile": 8}

Clip = Callable[[list[tf.Tensor], float], tuple[list[tf.Tensor], tf.Tensor]]
Step = Callable[..., object]


def _step(clip: Clip, clip_norm: Callable[[int], float], calls: int) -> Step:
    """Clips the values `calls` times in a row."""

    def step(*values: tf.Tensor) -> object:
        clipped = list(values)
        for call in range(calls):
            clipped, norm = clip(clipped, clip_norm(call))
        return [*clipped, norm]

    return step


def _in_graph(step: Step, values: list[tf.Tensor], mode: measure.Mode) -> Step:
    """The step as a graph without arguments and with one result, because passing 200 tensors in and
    out takes longer than the work."""

    def run() -> tf.Tensor:
        outputs = tf.nest.flatten(step(*values))
        with tf.control_dependencies(outputs):
            return tf.identity(outputs[-1])

    return tf.function(run, jit_compile=mode == "jit_compile", autograph=False)


def _torch_step(
    values: list[tf.Tensor], clip_norm: Callable[[int], float], calls: int
) -> Callable[[], list[pytorch.Tensor]]:
    """Works in place, so later steps find nothing to clip; it multiplies anyway."""
    parameters = []
    for value in values:
        parameter = pytorch.torch.empty(value.shape.as_list())
        parameter.grad = pytorch.torch.from_numpy(value.numpy().copy())
        parameters.append(parameter)
    clip = pytorch.torch.nn.utils.clip_grad_norm_

    def run() -> list[pytorch.Tensor]:
        for call in range(calls):
            norm = clip(parameters, clip_norm(call), foreach=True)
        return [*(parameter.grad for parameter in parameters), norm]

    return run


def of_size(size: str, label: str, backward: bool, mode: measure.Mode) -> list[measure.Result]:
    """Measures the gradients of a network of a size in SHAPES, clipped or not."""
    random = tf.random.Generator.from_seed(0)
    values = [random.normal(shape) for shape in SHAPES[size][:TENSORS]]
    calls = min(CALLS[mode], 8) if backward else CALLS[mode]
    by = range(TENSORS) if backward else ()

    def contender(clip: Clip, bar: float | None, mode: measure.Mode) -> measure.Contender:
        one = measure.contender(_step(clip, CLIP_NORMS[label], 1), values, by, bar, mode=mode)
        if mode == "eager":
            return one
        # The time is that of several calls, the memory that of one.
        step = _step(clip, CLIP_NORMS[label], calls)
        graph = _in_graph(measure.with_gradients(step, by), values, mode)
        return dataclasses.replace(one, work=graph)

    # Our side is an ordinary tf.function even against XLA.
    our_mode: measure.Mode = "eager" if mode == "eager" else "tf.function"
    side = contender(tfe.clip_by_global_norm, None, our_mode)
    rivals = {f"tf.clip_by_global_norm, {mode}": contender(tf.clip_by_global_norm, BAR, mode)}
    if pytorch.torch is not None and not backward and mode != "jit_compile":
        rivals |= pytorch.checked(
            "clip_grad_norm_, in place",
            _torch_step(values, CLIP_NORMS[label], calls),
            measure.step(_step(tfe.clip_by_global_norm, CLIP_NORMS[label], calls), values),
        )
    megabytes = sum(4 * value.shape.num_elements() for value in values) / 1e6
    passes = 1 if label == "not clipped" else 3  # over all values
    moved = int(passes * megabytes * 1e6)
    return measure.compare(
        f"ClipByGlobalNorm of {TENSORS} tensors",
        f"{'forward + backward' if backward else 'forward'}, {label}, "
        f"{megabytes:.1f} MB, {our_mode}",
        side,
        rivals,
        calls=calls,
        needs=None if backward else limits.Needs(moved),
    )


def run() -> list[measure.Result]:
    return [
        result
        for size in SHAPES
        for label in CLIP_NORMS
        for backward in (False, True)
        for mode in CALLS
        # XLA takes a minute to compile 200 gradients.
        if not (backward and mode == "jit_compile")
        for result in of_size(size, label, backward, mode)
    ]
