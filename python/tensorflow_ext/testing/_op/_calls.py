"""Calls and differentiates an op with given attributes, and compares the results."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_library

from tensorflow_ext._runtime import _attributes, _eager_op
from tensorflow_ext.testing._gradient._comparison import UNIT_ROUNDOFF, distances, largest
from tensorflow_ext.testing._op._variants import Variant

Arrays = list[np.ndarray]


def is_differentiable(dtype: tf.DType) -> bool:
    """True if tensors of this type have gradients."""
    return dtype.is_floating or dtype.is_complex


def call(variant: Variant, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Calls the op, eagerly or in the current graph; tapes record it.

    Args:
      variant: The op and its attributes.
      tensors: The inputs, lists flattened.

    Returns:
      The outputs, lists flattened.
    """
    op = variant.op_def.name
    if context.executing_eagerly():
        flat = tuple(x for pair in _encoded(variant).items() for x in pair)
        return _eager_op.run(op, tensors, flat, len(variant.output_names))
    grouped = variant.grouped(tensors)
    names = [argument.name for argument in variant.op_def.input_arg]
    inferred = _attributes.inferred(variant.op_def.input_arg, grouped)
    attrs = {k: v for k, v in variant.attrs.items() if k not in inferred}
    _, _, operation, _ = op_def_library._apply_op_helper(
        op, **dict(zip(names, grouped, strict=True)), **attrs
    )
    results = list(operation.outputs)
    if execute.must_record_gradient():
        flat = tuple(x for name in variant.attrs for x in (name, operation.get_attr(name)))
        execute.record_gradient(op, list(operation.inputs), flat, results)
    return results


def _encoded(variant: Variant) -> dict[str, Any]:
    """The attributes as TFE_Py_Execute takes them."""

    def encoded(value: Any) -> Any:
        if isinstance(value, tf.DType):
            return value.as_datatype_enum
        if isinstance(value, list):
            return [encoded(element) for element in value]
        return value

    return {name: encoded(value) for name, value in variant.attrs.items()}


def constants(variant: Variant, arrays: Sequence[np.ndarray]) -> list[tf.Tensor]:
    """The inputs as tensors of the types that the op takes."""
    return [
        tf.constant(array, dtype) for array, dtype in zip(arrays, variant.input_types, strict=True)
    ]


def run(variant: Variant, arrays: Sequence[np.ndarray]) -> Arrays:
    """Runs the op's kernel without its shape function."""
    return to_numpy(call(variant, constants(variant, arrays)))


def to_numpy(tensors: Sequence[Any]) -> Any:
    """The values of eager tensors; None stays None."""

    def values(tensor: Any) -> Any:
        found = tf.convert_to_tensor(tensor).numpy()
        # A string scalar is bytes, without a shape.
        return np.array(found, object) if isinstance(found, bytes) else found

    return [None if t is None else values(t) for t in tensors]


@dataclasses.dataclass(frozen=True)
class Problem:
    """An op, its inputs, and the weights of its outputs and gradients.

    Attributes:
      variant: The op and its attributes.
      inputs: An array for each input.
      wanted: The inputs that have a gradient.
      upstreams: The upstream gradient of each output; None for integers and the like.
      weights: For each of `wanted`, the upstream gradient of its gradient. Empty means no
        second order.
    """

    variant: Variant
    inputs: Arrays
    wanted: tuple[int, ...] = ()
    upstreams: tuple[np.ndarray | None, ...] = ()
    weights: tuple[np.ndarray, ...] = ()

    @property
    def fed(self) -> list[np.ndarray]:
        """All arrays, in the order in which `differentiate` takes them."""
        upstreams = [u for u in self.upstreams if u is not None]
        return [*self.inputs, *upstreams, *self.weights]

    def names(self) -> list[str]:
        """The names of the results of `differentiate`, one by one."""
        variant = self.variant
        of = [variant.input_names[i] for i in self.wanted]
        sources = [*of]
        if self.weights:
            for name, upstream in zip(variant.output_names, self.upstreams, strict=True):
                if upstream is not None:
                    sources.append(f"the upstream gradient of {name}")
        return [
            *(f"output {name}" for name in variant.output_names),
            *(f"the gradient of {name}" for name in of),
            *(f"the second gradient of {s}" for s in sources if self.weights),
        ]

    def split(self, fed: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Inputs, upstream gradients (None where there is none) and weights."""
        rest = iter(fed)
        inputs = [next(rest) for _ in self.inputs]
        upstreams = [None if u is None else next(rest) for u in self.upstreams]
        return inputs, upstreams, list(rest)

    def compared(
        self,
        actual: Sequence[np.ndarray | None],
        expected: Sequence[np.ndarray | None],
        tolerance: float,
    ) -> Iterator[str]:
        """Differences between two results of `differentiate`; see `difference`."""
        for name, a, e in zip(self.names(), actual, expected, strict=True):
            if apart := difference(a, e, tolerance):
                yield f"{name} is {apart}"

    def differentiate(self, *fed: tf.Tensor) -> list[tf.Tensor | None]:
        """The outputs, the gradients, and the gradients of the weighted gradients."""
        inputs, upstreams, weights = self.split(fed)
        present = [u for u in upstreams if u is not None]
        sources = [inputs[i] for i in self.wanted]
        with tf.GradientTape() as outer:
            outer.watch([*sources, *present])
            with tf.GradientTape() as inner:
                inner.watch(sources)
                outputs = call(self.variant, inputs)
            if not sources or not present:
                return outputs
            gradients = inner.gradient(
                [o for o, u in zip(outputs, upstreams, strict=True) if u is not None],
                sources,
                output_gradients=present,
            )
        second: list[Any] = []
        if weights:
            targets = [k for k, g in enumerate(gradients) if g is not None]
            second = outer.gradient(
                [gradients[k] for k in targets],
                [*sources, *present],
                output_gradients=[weights[k] for k in targets],
            )
        return [*outputs, *gradients, *second]

    def tensors(self) -> list[tf.Tensor]:
        """`fed` as tensors."""
        count = len(self.inputs)
        return [
            *constants(self.variant, self.inputs),
            *(tf.constant(array) for array in self.fed[count:]),
        ]

    def evaluate(self) -> list[np.ndarray | None]:
        """The results of `differentiate`, eagerly."""
        return to_numpy(self.differentiate(*self.tensors()))


def exact(generator: np.random.Generator, shape: Any, low: int = -127) -> np.ndarray:
    """Odd multiples of 1/64 in (-2, 2), which every floating type holds.

    They are all different if there are enough of them. None is a whole, a half, a
    quarter ..., where functions tend to have kinks.

    Args:
      generator: Generator of the random numbers.
      shape: Shape of the array.
      low: 1 for positive numbers.
    """
    size = int(np.prod(shape))
    numbers = generator.permutation(np.arange(low, 128, 2))
    return np.resize(numbers, size).reshape(shape) / 64.0


def weights_like(generator: np.random.Generator, array: np.ndarray | None) -> np.ndarray | None:
    """Random numbers of an array's shape and type; None if it has no gradient."""
    if array is None or not is_differentiable(tf.as_dtype(array.dtype)):
        return None
    numbers = exact(generator, array.shape)
    if tf.as_dtype(array.dtype).is_complex:
        numbers = numbers + 1j * exact(generator, array.shape)
    return numbers.astype(array.dtype)


def difference(actual: np.ndarray | None, expected: np.ndarray | None, tolerance: float) -> str:
    """Describes how two results differ; empty if they agree.

    Args:
      actual, expected: The results; None counts as zeros.
      tolerance: How many unit roundoffs of the type of `actual`, relative to the
        largest element, they may be apart. Non-floating types must be equal.
    """
    if actual is None and expected is None:
        return ""
    if actual is None or expected is None:
        there = expected if actual is None else actual
        if there is not None and not np.any(there):
            return ""
        return "there is none" if actual is None else "there is one"
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    roundoff = UNIT_ROUNDOFF.get(actual.dtype.name)
    if roundoff is None:
        apart = actual != expected
    else:
        apart = distances(actual, expected) > tolerance * roundoff * largest(expected)
    if not np.any(apart):
        return ""
    worst = tuple(int(i) for i in np.argwhere(apart)[0])
    place = f" at {list(worst)}" if worst else ""
    return f"{actual[worst]!s}, expected {expected[worst]!s}{place}"


def same_bits(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """True if two results are bit-identical, including NaN."""
    return all(
        a is b or (a is not None and b is not None and _same(a, b))
        for a, b in zip(first, second, strict=True)
    )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype == object:
        return a.shape == b.shape and bool(np.all(a == b))
    return a.shape == b.shape and a.tobytes() == b.tobytes()
