"""Checks of an op's shape function: it exists, handles any shape, and agrees with the
kernel.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._op import _c_client, _calls
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import REFUSALS, CrashedError, Example, Subject, brief, run
from tensorflow_ext.testing._op._variants import Variant

_HIGHEST_RANK = 6


def infer(variant: Variant, inputs: Sequence[np.ndarray | tf.TensorShape]) -> list[tf.TensorShape]:
    """The output shapes that the shape function infers.

    Args:
      variant: The op and its attributes.
      inputs: An array is a constant, whose values the shape function may use; for any
        other input it knows only the shape.

    Raises:
      ValueError, tf.errors.OpError: The shape function refuses the inputs.
    """
    with tf.Graph().as_default():
        tensors = [
            tf.compat.v1.placeholder(dtype, x)
            if isinstance(x, tf.TensorShape)
            else tf.constant(x, dtype)
            for x, dtype in zip(inputs, variant.input_types, strict=True)
        ]
        return [output.shape for output in _calls.call(variant, tensors)]


def _exists(example: Example) -> bool:
    """True if the op has a shape function. C requires one; Python assumes unknown shapes."""
    with tf.Graph().as_default() as graph:
        pairs = zip(example.arrays, example.variant.input_types, strict=True)
        tensors = [tf.compat.v1.placeholder(t, array.shape) for array, t in pairs]
        _calls.call(example.variant, tensors)
    try:
        _c_client.require_import(graph.as_graph_def())
    except tf.errors.InvalidArgumentError as error:
        return "No shape inference function exists" not in str(error)
    return True


def check(subject: Subject) -> Iterator[OpFinding]:
    """The findings about an op's shape function."""
    asked = 0
    for example in subject.examples[:1]:
        if not subject.attempt(f"{example}, import", _exists, example):
            yield subject.finding(
                "shape function", Verdict.MISSING, "none: give REGISTER_OP a .SetShapeFn"
            )
            return
    ranks_unknown: dict[str, str] = {}
    for example in subject.examples:
        outputs = subject.attempt(f"{example}, run", run, example)
        shapes = [tf.TensorShape(output.shape) for output in outputs]
        for how, inputs in _views(example):
            said, message = _ask(subject, example, how, inputs, shapes)
            asked += 1
            if message:
                yield subject.finding("shape function", Verdict.FAILED, message)
                break
            if how == "known values":
                for name, shape in zip(example.variant.output_names, said, strict=True):
                    if shape.rank is None:
                        ranks_unknown[name] = str(example)
        yield from _wrong_ranks(subject, example)
    for name, where in ranks_unknown.items():
        yield subject.finding(
            "shape function",
            Verdict.NOTE,
            f"does not infer even the rank of {name} although all inputs are known ({where})",
        )
    yield subject.finding("shape function", Verdict.PASSED, f"called {asked} times")


def _views(example: Example) -> Iterator[tuple[str, list[np.ndarray | tf.TensorShape]]]:
    """The inputs, with more or less of them known."""
    arrays, names = example.arrays, example.variant.input_names
    known = [tf.TensorShape(array.shape) for array in arrays]
    yield "known values", list(arrays)
    yield "known shapes", list(known)
    yield "unknown ranks", [tf.TensorShape(None) for _ in arrays]
    yield "known ranks", [tf.TensorShape([None] * a.ndim) for a in arrays]
    for k, name in enumerate(names):
        for others, rest in (("known", known), ("unknown", [tf.TensorShape(None)])):
            rest = list(rest) if others == "known" else rest * len(arrays)
            one = tf.TensorShape(None) if others == "known" else known[k]
            how = "of unknown rank" if others == "known" else "alone known"
            yield f"{name} {how}", [*rest[:k], one, *rest[k + 1 :]]
        for dimension in range(arrays[k].ndim):
            sizes: list[int | None] = [*arrays[k].shape]
            sizes[dimension] = None
            partly = tf.TensorShape(sizes)
            yield f"{name} of shape {partly}", [*known[:k], partly, *known[k + 1 :]]


def _ask(
    subject: Subject,
    example: Example,
    how: str,
    inputs: list[np.ndarray | tf.TensorShape],
    shapes: list[tf.TensorShape],
) -> tuple[list[tf.TensorShape], str]:
    """The inferred shapes for inputs that the kernel accepts, and what is wrong with
    them.
    """
    place = f"{example}; {how}"
    try:
        said = subject.attempt(place, infer, example.variant, inputs)
    except CrashedError as error:
        return [], f"{place}: the shape function {error}"
    except REFUSALS as error:
        return [], f"{place}: refuses what the kernel accepts, with {brief(error)}"
    names = example.variant.output_names
    for name, shape, actual in zip(names, said, shapes, strict=True):
        if not shape.is_compatible_with(actual):
            return said, f"{place}: says {name} is {shape}; the kernel gives {actual}"
    return said, ""


def _wrong_ranks(subject: Subject, example: Example) -> Iterator[OpFinding]:
    """Tries every rank for each input in turn, with known and with unknown sizes."""
    known = [tf.TensorShape(array.shape) for array in example.arrays]
    for k, name in enumerate(example.variant.input_names):
        for rank in range(_HIGHEST_RANK + 1):
            for sizes in ([2] * rank, [None] * rank):
                shape = tf.TensorShape(sizes)
                inputs = [*known[:k], shape, *known[k + 1 :]]
                place = f"{example.variant}; {name} of shape {shape}"
                try:
                    subject.attempt(place, infer, example.variant, inputs)
                except CrashedError as error:
                    yield subject.finding(
                        "shape function", Verdict.FAILED, f"{place}: the shape function {error}"
                    )
                    return
                except REFUSALS:
                    pass
