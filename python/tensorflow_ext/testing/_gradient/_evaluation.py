"""Evaluates a function at many points, in the widest type that it takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import ml_dtypes
import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._gradient._comparison import deviation, real_view
from tensorflow_ext.testing._gradient._function import Function

# The number of calls from which tracing a function pays off.
_MANY_CALLS = 100


def in_double(function: Function) -> Function | None:
    """The function in double, if it accepts double and gives the same results."""
    if any(v.dtype.real_dtype != tf.float64 for v in function.variables):
        return None
    wide = function.in_double()
    try:
        results = wide.call(wide.tensors)
    except Exception:
        return None
    if any(y.dtype.real_dtype != tf.float64 for y in results):
        return None
    own = function.call(function.tensors)
    near = 10 * epsilon(function, own) ** 0.5
    pairs = list(zip(own, results, strict=True))
    if any(deviation(y.numpy(), z.numpy(), whole=True) > near for y, z in pairs):
        return None  # It does something else in double.
    return wide


def epsilon(function: Function, results: Sequence[tf.Tensor]) -> float:
    """The spacing at 1 of the narrowest type that a function takes or returns."""
    types = {x.dtype.real_dtype for x in [*function.sources, *results]}
    return max(float(ml_dtypes.finfo(dtype.as_numpy_dtype).eps) for dtype in types)


class Evaluation:
    """A function from real numbers to real numbers.

    Args:
      function: The function.
      calls: The approximate number of calls.
      trace: Whether it may become a tf.function.
    """

    def __init__(self, function: Function, calls: int, trace: bool) -> None:
        self._function = function
        self._call = function.call
        self.values = [real_view(x.numpy()) for x in function.sources]
        results = function.call(function.tensors)
        self._sizes = [real_view(y.numpy()).size for y in results]
        self.epsilon = epsilon(function, results)
        if trace and calls > _MANY_CALLS:
            self._trace(results)
        self._moved: set[int] = set()

    def _trace(self, expected: Sequence[tf.Tensor]) -> None:
        """Switches to a tf.function if that gives the same results."""
        call = self._function.traced().call
        try:
            pairs = zip(call(self._function.tensors), expected, strict=True)
            close = all(np.allclose(a.numpy(), b.numpy(), rtol=8 * self.epsilon) for a, b in pairs)
        except Exception:
            return
        if close:
            self._call = call

    def rounded(self, source: int, values: np.ndarray) -> np.ndarray:
        """The numbers rounded to the type of a source."""
        return real_view(self._tensor(source, values).numpy())

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs. Variables keep their new values until `restored`."""
        count = len(self._function.tensors)
        tensors = list(self._function.tensors)
        for source, array in enumerate(values):
            same = array is self.values[source]
            if source < count:
                if not same:
                    tensors[source] = self._tensor(source, array)
            elif not same or source in self._moved:
                tensor = self._tensor(source, array)
                self._function.variables[source - count].assign(tensor)
                self._moved.discard(source) if same else self._moved.add(source)
        try:
            return [real_view(y.numpy()) for y in self._call(tensors)]
        except tf.errors.InvalidArgumentError:  # The function refuses the values.
            return [np.full(size, np.nan) for size in self._sizes]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restores the variables' values in all cases."""
        try:
            yield
        finally:
            count = len(self._function.tensors)
            for source in self._moved:
                tensor = self._tensor(source, self.values[source])
                self._function.variables[source - count].assign(tensor)
            self._moved.clear()

    def _tensor(self, source: int, values: np.ndarray) -> tf.Tensor:
        like = self._function.sources[source]
        if like.dtype.is_complex:
            values = values.view(np.complex128)
        array = values.reshape(like.shape).astype(like.dtype.as_numpy_dtype)
        return tf.constant(array)
