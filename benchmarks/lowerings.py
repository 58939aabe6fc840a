"""Every op with an XLA kernel against the same maths in stock ops, both compiled by XLA, forward
and with gradients."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import activations
import correlation_cost
import elementwise
import embedding_bag
import measure
import normalization
import numpy as np
import ops
import reference_ops
import resampler
import roi_align
import roi_pool
import sparsemax
import tensorflow as tf

import tensorflow_ext as tfe

Function = Callable[..., tf.Tensor]

# Our time over the rival's.
BAR = 1.0


@dataclasses.dataclass(frozen=True)
class _Case:
    """An op on given inputs, and its stock counterparts.

    Attributes:
      name: The op and its inputs.
      function: Our op.
      rivals: Stock functions by name.
      inputs: The arguments of each call.
      by: The inputs that have gradients.
    """

    name: str
    function: Function
    rivals: Mapping[str, Function]
    inputs: Sequence[tf.Tensor]
    by: Sequence[int]


# Small enough for the caches: beyond them, all compiled code waits for memory.
MEGABYTES = 1

# Rivals for ops whose reference in comparisons.py is less exact.
_RIVALS: dict[str, Function] = {"floor_mod": tf.math.floormod}
# Additional rivals: with erfc, which like ours is exact in the tail.
_MORE_RIVALS: dict[str, dict[str, Function]] = {
    "gelu, exact": {"tf.nn.gelu": lambda x: tf.nn.gelu(x, approximate=False)}
}


def _of_any_shape() -> Iterator[_Case]:
    for comparison in elementwise.LARGE:
        # In training the slopes of Rrelu's reference are compile-time constants.
        if comparison.name == "rrelu":
            continue
        inputs = elementwise.make_inputs(comparison, MEGABYTES)
        yield _Case(
            f"{comparison.name}, {MEGABYTES} MB float",
            comparison.function,
            {
                "TensorFlow's ops": _RIVALS.get(comparison.name, comparison.reference),
                **_MORE_RIVALS.get(comparison.name, {}),
            },
            inputs,
            [i for i in range(len(inputs)) if i not in comparison.without_gradient],
        )


def _rrelu() -> Iterator[_Case]:
    x = tf.random.stateless_normal([MEGABYTES * 2**18], (0, 1))
    yield _Case(
        f"rrelu in training, {MEGABYTES} MB float",
        lambda x, seed: tfe.rrelu(x, training=True, seed=seed),
        {"TensorFlow's ops": lambda x, seed: activations.stock_rrelu(x, "threefry", seed)},
        [x, tf.constant([1, 2])],
        [0],
    )


def _normalizations() -> Iterator[_Case]:
    rng = np.random.default_rng(0)
    for rows, columns in normalization.SHAPES:
        x, *parameters = (
            tf.constant(rng.normal(size=shape), tf.float32)
            for shape in ((rows, columns), columns, columns)
        )
        for name, ours, keras_function, count in (
            ("LayerNorm", normalization.layer_norm, normalization.keras_layer_norm, 2),
            ("RmsNorm", normalization.rms_norm, normalization.keras_rms_norm, 1),
        ):
            yield _Case(
                f"{name}, {rows} x {columns}",
                ours,
                {"Keras": keras_function},
                [x, *parameters[:count]],
                range(1 + count),
            )


def _sparsemax() -> Iterator[_Case]:
    rng = np.random.default_rng(0)
    for rows, columns in sparsemax.SHAPES:
        yield _Case(
            f"Sparsemax, {rows} x {columns}",
            tfe.sparsemax,
            {sparsemax.RIVAL: reference_ops.sparsemax},
            [tf.constant(rng.normal(size=(rows, columns)), tf.float32)],
            [0],
        )


def _regions() -> Iterator[_Case]:
    yield _Case(
        f"RoiPool, {roi_pool.ROIS} rois on "
        f"{roi_pool.IMAGES} x {roi_pool.SIZE} x {roi_pool.SIZE} x {roi_pool.CHANNELS}",
        roi_pool.ours,
        {"masks, maxima": roi_pool.masked},
        roi_pool.make_inputs(),
        [0],
    )
    for shape in roi_align.SHAPES:
        images, size, channels, rois, scale = shape
        inputs = roi_align.make_inputs(*shape)
        yield _Case(
            f"RoiAlign, {rois} rois on {images} x {size} x {size} x {channels}",
            functools.partial(roi_align.ours, scale=scale, sampling_ratio=2),
            {
                "gather_nd of 4 corners": functools.partial(roi_align.gathered, scale=scale),
                "products with weights": functools.partial(roi_align.multiplied, scale=scale),
            },
            inputs,
            [0],
        )


def _resamplers() -> Iterator[_Case]:
    rng = np.random.default_rng(0)
    for images, size, channels in resampler.SHAPES:
        yield _Case(
            f"Resampler, {size**2} points on {images} x {size} x {size} x {channels}",
            tfe.resampler,
            {"gather_nd of 4 corners": resampler.gathered},
            resampler.make_inputs(rng, images, size, channels),
            [0, 1],
        )


def _correlations() -> Iterator[_Case]:
    for layer in correlation_cost.LAYERS:
        rivals = {"matmul of rows, diagonals": layer.multiplied}
        if layer.compiles:
            rivals["slices, products, means"] = layer.shifted
        yield _Case(
            f"CorrelationCost, {layer.name} on {' x '.join(map(str, layer.shape))}",
            layer.ours,
            rivals,
            layer.make_inputs(),
            [0, 1],
        )


def _embedding_bags() -> Iterator[_Case]:
    for bags, bag_size, rows, width in embedding_bag.SHAPES:
        indices, *inputs = embedding_bag.make_inputs(bags, bag_size, rows, width)
        yield _Case(
            f"EmbeddingBag, {bags} bags of {bag_size} from {rows} x {width}",
            functools.partial(tfe.embedding_bag, indices),
            {embedding_bag.RIVAL: functools.partial(embedding_bag.gathered, indices)},
            inputs,
            [0, 1],
        )


def _compare(case: _Case, backward: bool) -> list[measure.Result]:
    upstream = None
    if backward:
        shape = case.function(*case.inputs).shape
        rng = np.random.default_rng(3)
        upstream = tf.constant(rng.standard_normal(shape, np.float32))
    by = case.by if backward else ()

    def one_call(function: Function) -> tuple[measure.Work, str]:
        work = measure.step(function, case.inputs, by, upstream, "jit_compile")
        start = time.perf_counter()
        work()
        return work, f"{time.perf_counter() - start:.1f} s"

    work, ours_in = one_call(case.function)
    rivals_in = [one_call(rival)[1] for rival in case.rivals.values()]
    calls = ops.calls_of_a_step(work)
    more = ops.copies(case.inputs, calls - 1)

    def contender(function: Function) -> measure.Contender:
        return measure.contender(function, case.inputs, by, BAR, upstream, "jit_compile", more)

    return measure.compare(
        "lowerings, jit_compile",
        f"{case.name}, {'forward + backward' if backward else 'forward'}",
        contender(case.function),
        {name: contender(rival) for name, rival in case.rivals.items()},
        calls=calls,
        note=lambda seconds: f"compiled in {ours_in}, rivals {rivals_in}",
    )


def cases() -> Iterator[_Case]:
    """All cases, one at a time, because some have large inputs."""
    yield from _regions()
    yield from _resamplers()
    yield from _correlations()
    yield from _embedding_bags()
    yield from _normalizations()
    yield from _sparsemax()
    yield from _rrelu()
    yield from _of_any_shape()


def run() -> list[measure.Result]:
    return [
        result
        for case in cases()
        for backward in (False, True)
        for result in _compare(case, backward)
    ]
