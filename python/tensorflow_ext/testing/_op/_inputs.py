"""Inputs for an op: given ones converted to the types of a variant, or found by trying."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._op import _calls, _shapes
from tensorflow_ext.testing._op._subject import REFUSALS, CrashedError, Example, Subject, brief
from tensorflow_ext.testing._op._variants import Variant

Given = Callable[[dict[str, Any]], Any] | Sequence[Any] | Mapping[str, Any]
_Shapes = tuple[tuple[int, ...], ...]
_ALIKE: list[tuple[int, ...]] = [(2, 3), (3,), (2, 2), (2, 3, 4), (2, 3, 4, 2), ()]
_ANY: list[tuple[int, ...]] = [(2, 3), (), (3,), (2,), (3, 2), (2, 3, 4)]
_MOST_SHAPES = 400
CHECKS_WITHOUT = ("documentation", "kernel", "gpu")  # checks that need no inputs
_RANKS = (2, 1, 3, 4, 0, 5)
_SIZES = (2, 3, 4, 5, 1)  # sizes to try for a dimension that may accept only one
_MOST_RANKS = 12
# Ways to fill floating and integer inputs; the first that gives finite outputs is used.
_STYLES = ("signed", "positive")


class InputsError(ValueError):
    """Inputs do not fit the op, or none were found; the message says what to pass."""


def from_given(variant: Variant, given: Given, seed: int) -> list[np.ndarray] | None:
    """The inputs that the caller gives, lists flattened; None if there are none.

    Raises:
      InputsError: They do not fit.
    """
    op = variant.op_def
    inputs = given(dict(variant.attrs)) if callable(given) else given
    if inputs is None:
        return None
    names = [argument.name for argument in op.input_arg]
    if isinstance(inputs, Mapping):
        if set(inputs) != set(names):
            raise InputsError(f"inputs are {sorted(inputs)}, expected {names}")
        inputs = [inputs[name] for name in names]
    if len(inputs) != len(names):
        raise InputsError(
            f"{op.name}: {len(inputs)} inputs are given, expected {len(names)}: {names}"
        )
    flat: list[Any] = []
    sizes = variant.sizes(op.input_arg)
    for name, value, size in zip(names, inputs, sizes, strict=True):
        if size is None:
            flat.append(value)
        elif isinstance(value, (list, tuple)) and len(value) == size:
            flat += value
        else:
            raise InputsError(f"{op.name}: input {name!r} is {value!r}, expected a list of {size}")
    generator = np.random.default_rng(seed)
    return [
        _array(generator, value, dtype)
        for value, dtype in zip(flat, variant.input_types, strict=True)
    ]


def lists_of(op_def: Any, given: Given | None) -> dict[str, list[Any]]:
    """The attributes of list inputs that the inputs determine: lengths and types."""
    if given is None or callable(given):
        return {}
    names = [argument.name for argument in op_def.input_arg]
    values = given if isinstance(given, Mapping) else dict(zip(names, given, strict=False))
    attrs: dict[str, list[Any]] = {}
    for argument in op_def.input_arg:
        value = values.get(argument.name)
        if not isinstance(value, (list, tuple)):
            continue
        if argument.number_attr:
            attrs[argument.number_attr] = [len(value)]
        elif argument.type_list_attr:
            attrs[argument.type_list_attr] = [[_type_of(x) for x in value]]
    return attrs


def _type_of(value: Any) -> tf.DType:
    dtype = getattr(value, "dtype", None)
    return tf.convert_to_tensor(value).dtype if dtype is None else tf.as_dtype(dtype)


def _array(generator: np.random.Generator, value: Any, dtype: tf.DType) -> np.ndarray:
    if isinstance(value, tf.TensorSpec):
        shape = [3 if size is None else size for size in value.shape]
        return _filled(generator, shape, dtype, "signed")
    if dtype in (tf.resource, tf.variant):
        raise InputsError(
            f"an input is a {dtype.name}, which cannot be passed to another process: "
            f"check the op with checks={list(CHECKS_WITHOUT)}"
        )
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if dtype == tf.string:
        return np.asarray(array, object)
    return np.asarray(array).astype(dtype.as_numpy_dtype)


def _filled(
    generator: np.random.Generator, shape: Sequence[int], dtype: tf.DType, style: str
) -> np.ndarray:
    low = 1 if style == "positive" else -127
    kind = dtype.as_numpy_dtype
    if dtype.is_complex:
        parts = [_calls.exact(generator, shape, low) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(kind)
    if dtype.is_floating:
        return _calls.exact(generator, shape, low).astype(kind)
    if dtype == tf.string:
        return np.full(shape, "text", object)
    size = int(np.prod(shape))
    if dtype == tf.bool:
        return np.resize([True, False, True], size).reshape(shape)
    most = 2 if style == "signed" else 4
    return (np.arange(size) % most + (style == "positive")).reshape(shape).astype(kind)


def _alike(count: int) -> Iterator[_Shapes]:
    """Shapes that are all equal, except for scalars among them."""
    for shape in _ALIKE:
        yield (shape,) * count
    for shape in _ALIKE[:-1]:
        for scalar in itertools.product([False, True], repeat=min(count, 6)):
            if any(scalar) and not all(scalar):
                some = [(() if s else shape) for s in scalar]
                yield (*some, *[shape] * (count - len(some)))


def _any(count: int) -> Iterator[_Shapes]:
    yield from itertools.islice(itertools.product(_ANY, repeat=count), _MOST_SHAPES)


def _admitted(subject: Subject, variant: Variant) -> Iterator[_Shapes]:
    """Shapes that the shape function may accept. It is called for each input, with the
    others unknown.
    """
    nothing = [tf.TensorShape(None) for _ in variant.input_types]

    def takes(k: int, shape: list[int | None]) -> bool:
        asked = [*nothing[:k], tf.TensorShape(shape), *nothing[k + 1 :]]
        what = f"{variant}; {variant.input_names[k]} of shape {shape}, others unknown"
        try:
            subject.attempt(what, _shapes.infer, variant, asked)
        except (*REFUSALS, CrashedError):
            return False
        return True

    ranks = [
        [rank for rank in _RANKS if takes(k, [None] * rank)] or [2] for k in range(len(nothing))
    ]
    for chosen in itertools.islice(itertools.product(*ranks), _MOST_RANKS):
        fixed = []
        for k, rank in enumerate(chosen):
            sizes: list[int | None] = [None] * rank
            for dimension in range(rank):
                free = [None] * dimension, [None] * (rank - dimension - 1)
                taken = [n for n in _SIZES if takes(k, [*free[0], n, *free[1]])]
                if taken and len(taken) < len(_SIZES):
                    sizes[dimension] = taken[0]
            fixed.append(sizes)
        for pattern in ((2, 3, 4, 2), (3, 3, 3, 3), (2, 2, 2, 2), (1, 4, 4, 2)):
            yield tuple(
                tuple(pattern[d % 4] if size is None else size for d, size in enumerate(sizes))
                for sizes in fixed
            )


def find(subject: Subject, variant: Variant, before: Sequence[Example]) -> Example:
    """Inputs that the op accepts, found by trying its shape function and kernel.

    Args:
      subject: The op.
      variant: Its attributes.
      before: Examples of other variants; their shapes are tried first.

    Raises:
      InputsError: All were refused.
    """
    types = variant.input_types
    for dtype in types:
        if dtype in (tf.resource, tf.variant):
            raise InputsError(f"an input is a {dtype.name}, for which no values can be made up")
    known = [
        tuple(array.shape for array in example.arrays)
        for example in before
        if len(example.arrays) == len(types)
    ]
    refusal, accepted = "", None
    for style in _STYLES:
        # Shapes are made lazily, because the last ones take some time.
        shapes = itertools.chain(
            known[-1:], _alike(len(types)), _admitted(subject, variant), _any(len(types))
        )
        for tried in shapes:
            generator = subject.random(f"inputs {style}")
            arrays = [
                _filled(generator, shape, dtype, style)
                for shape, dtype in zip(tried, types, strict=True)
            ]
            example = Example(variant, arrays)
            try:
                outputs = _try(subject, example, style)
            except (*REFUSALS, CrashedError) as error:
                refusal = refusal or brief(error)
                continue
            if all(map(_is_finite, outputs)):
                return example
            accepted = accepted or example
            break
    if accepted is not None:
        return accepted
    raise InputsError(f"the op refused all inputs that were tried, first with {refusal}")


def _try(subject: Subject, example: Example, style: str) -> list[np.ndarray]:
    """The outputs for some inputs; raises the error that refuses them."""
    what = f"{example} ({style})"
    subject.attempt(f"{what}, shape function", _shapes.infer, example.variant, example.arrays)
    return subject.attempt(f"{what}, kernel", _calls.run, example.variant, example.arrays)


def _is_finite(array: np.ndarray) -> bool:
    is_number = _calls.is_differentiable(tf.as_dtype(array.dtype))
    return not is_number or bool(np.all(np.isfinite(array)))
