"""Checks of an op with empty tensors and with invalid inputs."""

import contextlib
import dataclasses
import resource
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._op import _calls, _shapes
from tensorflow_ext.testing._op._calls import Problem
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import REFUSALS, CrashedError, Example, Subject, brief, run
from tensorflow_ext.testing._op._variants import Variant

_REFUSED_EXAMPLES = 2  # examples from which wrong inputs are made
_MOST_MEMORY = 3 << 30  # bytes that an op may allocate for a wrong input
_MOST_ELEMENTS = 1 << 22  # elements of outputs that are computed
_MOST_CRASHES = 3
# The errors by which an op may refuse its inputs.
_REFUSING = (
    tf.errors.InvalidArgumentError,
    tf.errors.OutOfRangeError,
    tf.errors.UnimplementedError,
    tf.errors.ResourceExhaustedError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
)
_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30)
_INTEGERS = (-1, 1000, 2**31 - 1, -(2**31), 2**62)


def empty(subject: Subject) -> Iterator[OpFinding]:
    """The findings about empty tensors."""
    tried = taken = 0
    for example in subject.examples:
        for emptied in _emptied(example):
            tried += 1
            message = _empty(subject, emptied)
            if message is None:
                continue  # refused
            taken += 1
            if message:
                yield subject.finding("empty tensors", Verdict.FAILED, message)
                return
    if not tried:
        yield subject.finding("empty tensors", Verdict.NONE, "all inputs are scalars")
    elif not taken:
        yield subject.finding(
            "empty tensors", Verdict.NOTE, f"all {tried} were refused with an error"
        )
    else:
        yield subject.finding(
            "empty tensors", Verdict.PASSED, f"{taken} accepted, {tried - taken} refused"
        )


def _emptied(example: Example) -> Iterator[Example]:
    """Examples with 0 in place of size 2, or 3, ..., in all inputs, and in each alone."""
    arrays = example.arrays
    seen = set()
    for size in sorted({size for array in arrays for size in array.shape if size}):
        shapes = [tuple(0 if s == size else s for s in array.shape) for array in arrays]
        yield _reshaped(example, shapes)
    for k, array in enumerate(arrays):
        for dimension in range(array.ndim):
            shapes = [array.shape for array in arrays]
            shapes[k] = (*array.shape[:dimension], 0, *array.shape[dimension + 1 :])
            if tuple(shapes) not in seen:
                seen.add(tuple(shapes))
                yield _reshaped(example, shapes)


def _reshaped(example: Example, shapes: list[tuple[int, ...]]) -> Example:
    arrays = [_fitted(array, shape) for array, shape in zip(example.arrays, shapes, strict=True)]
    return Example(example.variant, arrays)


def _fitted(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not array.size:
        return np.zeros(shape, array.dtype)
    return np.resize(array, shape)


def _empty(subject: Subject, example: Example) -> str | None:
    """The fault of an op that is given empty tensors; None if it refuses them."""
    try:
        outputs = subject.attempt(f"{example}, empty", run, example)
    except CrashedError as error:
        return f"{example}: the kernel {error}"
    except REFUSALS as error:
        return None if isinstance(error, _REFUSING) else f"{example}: {brief(error)}"
    apart = _disagreement(example, outputs, _ask(subject, example, "empty"))
    if apart:
        return apart
    generator = subject.random("empty")
    upstreams = tuple(_calls.weights_like(generator, o) for o in outputs)
    wanted = tuple(subject.differentiable(example.variant))
    problem = Problem(example.variant, example.arrays, wanted, upstreams)
    try:
        results = subject.attempt(f"{example}, empty gradient", problem.evaluate)
    except CrashedError as error:
        return f"{example}: the gradient {error}"
    except LookupError:
        return ""  # `gradient` reports that there is none.
    except REFUSALS as error:
        return f"{example}: the kernel accepts it, but the gradient fails: {brief(error)}"
    gradients = results[len(outputs) :] or [None] * len(wanted)
    for index, gradient in zip(wanted, gradients, strict=True):
        if gradient is not None and gradient.shape != example.arrays[index].shape:
            name = example.variant.input_names[index]
            return f"{example}: the gradient of {name} has shape {gradient.shape}"
    return ""


@dataclasses.dataclass(frozen=True)
class _Said:
    """The answer of the shape function: shapes, a refusal or a crash."""

    shapes: list[tf.TensorShape] | None = None
    refusal: str = ""
    crash: str = ""

    @property
    def size(self) -> int:
        """The known number of elements of the outputs."""
        sizes = [shape.num_elements() for shape in self.shapes or []]
        return sum(size for size in sizes if size is not None)


def _ask(subject: Subject, example: Example, how: str) -> _Said:
    what = f"{example}, {how}, shape function"
    variant = example.variant
    try:
        return _Said(subject.attempt(what, _shapes.infer, variant, example.arrays))
    except CrashedError as error:
        return _Said(crash=str(error))
    except REFUSALS as error:
        return _Said(refusal=brief(error))


def _disagreement(example: Example, outputs: list[np.ndarray], said: _Said) -> str:
    """Describes how the shape function differs from the kernel, which took these inputs."""
    if said.crash:
        return f"{example}: the shape function {said.crash}"
    if said.shapes is None:
        return (
            f"{example}: the kernel accepts what the shape function refuses with "
            f"{said.refusal}; eager mode does not call the shape function"
        )
    names = example.variant.output_names
    for name, shape, output in zip(names, said.shapes, outputs, strict=True):
        if not shape.is_compatible_with(output.shape):
            return (
                f"{example}: the shape function says {name} is {shape}; the kernel "
                f"gives {list(output.shape)}"
            )
    return ""


@dataclasses.dataclass(frozen=True)
class _Wrong:
    """An invalid input of the op."""

    example: Example
    what: str


def wrong_inputs(subject: Subject) -> Iterator[OpFinding]:
    """The findings about inputs and attributes that are wrong."""
    refused = taken = crashes = 0
    for example in subject.examples[:_REFUSED_EXAMPLES]:
        for wrong in _wrong(example):
            with _limited_memory():
                answer = _give(subject, wrong)
            refused, taken = refused + answer.refused, taken + (not answer.refused)
            if answer.fault:
                yield subject.finding("wrong inputs", Verdict.FAILED, answer.fault)
            crashes += answer.crashed
            if crashes == _MOST_CRASHES:
                yield subject.finding(
                    "wrong inputs", Verdict.NOTE, "stopped because of the crashes"
                )
                return
    yield subject.finding("wrong inputs", Verdict.PASSED, f"{refused} refused, {taken} accepted")


@dataclasses.dataclass(frozen=True)
class _Answer:
    """An op's answer to a wrong input; `fault` is empty if the answer is right."""

    fault: str = ""
    refused: bool = False
    crashed: bool = False


def _give(subject: Subject, wrong: _Wrong) -> _Answer:
    """Gives the op a wrong input."""
    example, place = wrong.example, f"{wrong.example.variant}; {wrong.what}"
    said = _ask(subject, example, wrong.what)
    if said.crash:
        fault = f"{place}: the shape function {said.crash}"
        return _Answer(fault, refused=True, crashed=True)
    if said.size > _MOST_ELEMENTS:
        return _Answer(refused=True)  # It may be right, but would take too long.
    try:
        first = subject.attempt(f"{place}, kernel", run, example)
        second = subject.attempt(f"{place}, kernel again", run, example)
    except CrashedError as error:
        return _Answer(f"{place}: the kernel {error}", crashed=True)
    except REFUSALS as error:
        if isinstance(error, _REFUSING):
            return _Answer(refused=True)
        fault = f"{place}: {brief(error)}; expected an InvalidArgumentError"
        return _Answer(fault, refused=True)
    if not subject.values_vary and not _calls.same_bits(first, second):
        return _Answer(
            f"{place}: the kernel accepts it and gives different values each time: it reads out "
            "of bounds or leaves an output unwritten"
        )
    return _Answer(_disagreement(example, first, said))


def _wrong(example: Example) -> Iterator[_Wrong]:
    names = example.variant.input_names
    for k, (name, array) in enumerate(zip(names, example.arrays, strict=True)):

        def one(array: np.ndarray, what: str, k: int = k, name: str = name) -> _Wrong:
            arrays = [*example.arrays[:k], array, *example.arrays[k + 1 :]]
            return _Wrong(Example(example.variant, arrays), f"{name} {what}")

        for shape in _wrong_shapes(array.shape):
            yield one(_fitted(array, shape), f"of shape {list(shape)}")
        for value in _wrong_values(array):
            with np.errstate(over="ignore"):  # 1e30 is infinite as a half.
                full = np.full_like(array, value)
            yield one(full, f"full of {value}")
            if array.size > 1:
                last = array.copy()
                last.reshape(-1)[-1] = full.reshape(-1)[-1]
                yield one(last, f"with {value} as its last element")
    for name, value in _wrong_attributes(example.variant):
        variant = example.variant.replaced(name, value)
        yield _Wrong(Example(variant, example.arrays), f"{name} is {value!r}")


def _wrong_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield (1, *shape)
    yield (*shape, 2)
    if shape:
        yield shape[1:]
        yield shape[:-1]
        yield (2,) * 6
    for k, size in enumerate(shape):
        for other in (size + 1, size - 1, 7):  # `empty` tries 0.
            if other != size and other > 0:
                yield (*shape[:k], other, *shape[k + 1 :])


def _wrong_values(array: np.ndarray) -> Iterator[Any]:
    if array.dtype == object or array.dtype == np.bool_:
        return
    if _calls.is_differentiable(tf.as_dtype(array.dtype)):
        yield from _FLOATS
        return
    limits = np.iinfo(array.dtype)
    yield from (v for v in _INTEGERS if limits.min <= v <= limits.max)


def _wrong_attributes(variant: Variant) -> Iterator[tuple[str, Any]]:
    op_def = variant.op_def
    lengths = {a.number_attr for a in (*op_def.input_arg, *op_def.output_arg)}
    for attr in variant.op_def.attr:
        if attr.name in lengths:
            continue
        value = variant.attrs[attr.name]
        if attr.type == "int":
            values: list[Any] = [0, -1, 1000, 2**31 - 1, -(2**31)]
            values += [attr.minimum - 1] if attr.has_minimum else []
        elif attr.type == "float":
            values = [*_FLOATS]
        elif attr.type == "string":
            values = ["", "nonsense"]
        elif attr.type in ("list(int)", "list(float)"):
            values = [[], [*value, 1], [-1] * len(value), [0] * len(value)]
        else:
            continue
        yield from ((attr.name, wrong) for wrong in values if wrong != value)


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Limits memory, so that an op that allocates more gets an error."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[0])
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + _MOST_MEMORY
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))
