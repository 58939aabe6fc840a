"""tensorflow_ext.numpy_op: a NumPy function as an op with a gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.eager import record

from tensorflow_ext._override import _recording
from tensorflow_ext.ops._common import TensorLike

# A shape, or a list with one for each output.
Shapes = Any


def numpy_op(
    fn: Callable[..., Any] | None = None,
    Tout: Any = None,
    *,
    gradient: Callable[..., Any] | None = None,
    shape: Shapes | Callable[..., Shapes] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Makes an op with a gradient of a NumPy function, to prototype an op before C++.

    >>> def mod_gradient(op, dz):
    ...     x, y = op.inputs
    ...     return dz, -dz * tf.floor(x / y)
    >>> mod = tfe.numpy_op(np.mod, tf.float32, gradient=mod_gradient)
    >>> z = mod(x, y)  # a tensor; tapes, tf.gradients and Keras differentiate it

    As a decorator: `@tfe.numpy_op(Tout=tf.float32, gradient=...)`.

    It works eagerly, in tf.function with the tape inside or outside, in v1 graphs, and
    in Keras models and their `fit`. Unlike tf.numpy_function, it has a gradient, static
    shapes, and checks whose messages name the op. Unlike in tf.py_function, `fn` gets
    NumPy arrays, no tape records while it runs, and the gradient is a function of
    TensorFlow ops or numpy_ops, which can be differentiated again.

    `fn` stays Python, which limits the op. It runs on the host, under Python's global
    lock. XLA cannot compile it: with `jit_compile=True` the call fails. Keras compiles by
    default, so pass `compile(jit_compile=False)`, or set `supports_jit = False` on the
    layer that calls it. Another process, a SavedModel loaded elsewhere and other
    languages cannot run it. docs/prototyping.md shows how to turn it into a C++ op.

    Args:
      fn: Takes a read-only array for each input and returns an array for each output,
        in a list or tuple if there are several. TensorFlow may call it from any thread,
        from several at once, and at each run of a graph.
      Tout: The outputs' types: one, or a list with one for each. An output of another
        type is an error, but a Python number is converted to `Tout`, which must be able
        to hold it if it is an integer.
      gradient: A function as tf.RegisterGradient takes: of `op` (with `inputs`,
        `outputs`, `name`, `get_attr`) and an upstream gradient for each output. It
        returns a tensor, tf.IndexedSlices or None for each input. By default the op has
        no gradient. It handles tensors, not arrays; to write it in NumPy, use a numpy_op.
      shape: The outputs' shapes, for graphs: one, a list with one for each output if
        there are several, or a function that computes this from the inputs' shapes
        (tf.TensorShape, maybe partially unknown). The results of `fn` are checked
        against it.
      stateful: Whether `fn` may have side effects, or return different values for the
        same inputs. If so (the default), calls are never pruned from a function or
        merged.
      name: Name of the op in graphs and messages; by default that of `fn`.

    Returns:
      A function of tensors (or anything that tf.convert_to_tensor takes) and a keyword
      `name`, which returns a tensor, or a list of them if `Tout` is a list. Without
      `fn`, a decorator.

    Raises:
      TypeError, ValueError: An argument is invalid. When the op runs, the results of
        `fn` are invalid (tf.errors.InvalidArgumentError from a graph); the message names
        the op and the output. An exception in `fn` reaches the caller. From a graph it
        is the tf.errors.OpError that tf.numpy_function makes of it, with its message.
        While gradients are computed, the errors are those of override_gradient.
    """
    if Tout is None:
        raise TypeError(
            "numpy_op: Tout, the type of the result, is missing; expected "
            "numpy_op(fn, tf.float32), or @numpy_op(Tout=tf.float32) as a decorator"
        )

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        op = _NumpyOp(function, Tout, gradient, shape, stateful, name)

        def run(*inputs: TensorLike, name: str | None = None) -> Any:
            return op(inputs, name)

        run.__name__ = run.__qualname__ = op.name
        run.__doc__ = function.__doc__
        return autograph.autograph_artifact(run)

    return make if fn is None else make(fn)


class _NumpyOp:
    def __init__(
        self,
        fn: Callable[..., Any],
        dtypes: Any,
        gradient: Callable[..., Any] | None,
        shape: Any,
        stateful: bool,
        name: str | None,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"numpy_op: expected a function, not {fn!r}")
        self.name = name or _identifier(getattr(fn, "__name__", type(fn).__name__))
        if gradient is not None and not callable(gradient):
            raise TypeError(
                f"numpy_op {self.name}: gradient={gradient!r}; expected a function "
                "gradient(op, *upstream) or None"
            )
        self._fn = fn
        self._gradient = gradient
        self._stateful = stateful
        self._several = isinstance(dtypes, list | tuple)
        listed = list(dtypes) if self._several else [dtypes]
        if not listed:
            raise ValueError(f"numpy_op {self.name}: Tout is empty; expected a type")
        try:
            self._dtypes = [tf.as_dtype(dtype) for dtype in listed]
        except TypeError as error:
            raise TypeError(
                f"numpy_op {self.name}: Tout={dtypes!r}; expected a type such as "
                "tf.float32, or a list of types"
            ) from error
        self._shape = shape
        if not callable(shape):
            self._shapes([])  # Checks the shapes.

    def __call__(self, inputs: Sequence[Any], name: str | None) -> Any:
        tensors = [tf.convert_to_tensor(tensor) for tensor in inputs]
        with record.stop_recording():
            outputs = tf.numpy_function(
                self._run, tensors, self._dtypes, self._stateful, name or self.name
            )
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        if not tf.executing_eagerly():
            shapes = self._shapes([tensor.shape for tensor in tensors])
            for output, shape in zip(outputs, shapes, strict=True):
                output.set_shape(shape)
        if self._gradient is not None:
            in_types = [tensor.dtype for tensor in tensors]
            outputs = _recording.Attached(
                by="numpy_op",
                op_type="PyFunc" if self._stateful else "PyFuncStateless",
                name=self.name,
                input_names=(),
                attrs=("Tin", in_types, "Tout", self._dtypes),
                gradient=self._gradient,
            ).to(outputs, tensors)
        return list(outputs) if self._several else outputs[0]

    def _run(self, *arrays: Any) -> list[Any]:
        """Calls the function and checks what it returns."""
        given = [_read_only(array) for array in arrays]
        results = self._fn(*given)
        if not self._several:
            results = [results]
        elif not isinstance(results, list | tuple) or len(results) != len(self._dtypes):
            several = isinstance(results, list | tuple)
            what = f"a list of {len(results)}" if several else "one value"
            raise ValueError(
                f"numpy_op {self.name}: the function returned {what}; expected a list "
                f"of {len(self._dtypes)} arrays, one for each type in Tout"
            )
        found = [self._array(index, result) for index, result in enumerate(results)]
        shapes = self._shapes([tf.TensorShape(np.shape(array)) for array in given])
        for index, (array, shape) in enumerate(zip(found, shapes, strict=True)):
            if not shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"numpy_op {self.name}: output {index} has shape "
                    f"{array.shape}; expected {shape} because of `shape`"
                )
        return found

    def _array(self, index: int, value: Any) -> np.ndarray:
        """Output `index`, in the type that Tout gives."""
        dtype = self._dtypes[index]
        expected = np.dtype(dtype.as_numpy_dtype)
        where = f"numpy_op {self.name}: output {index}"
        if isinstance(value, tf.Tensor | tf.Variable):
            raise TypeError(f"{where} is a tensor; expected a NumPy array")
        if type(value) is int and expected.kind in "iu":
            limits = np.iinfo(expected)
            if not limits.min <= value <= limits.max:
                raise ValueError(
                    f"{where} is {value}; expected an integer from {limits.min} to "
                    f"{limits.max}, because Tout is {dtype.name}"
                )
            return np.asarray(value, expected)
        array = np.asarray(value)
        if dtype == tf.string:
            if array.dtype.kind in "SUO":
                return array
        elif type(value) in (bool, int, float, complex):
            if np.can_cast(type(value), expected, casting="same_kind"):
                return np.asarray(value, expected)
        elif array.dtype == expected:
            return array
        raise TypeError(
            f"{where} is of type {array.dtype}; expected {dtype.name} because of Tout: "
            f"convert it with .astype(tf.{dtype.name}.as_numpy_dtype), or change Tout"
        )

    def _shapes(self, inputs: list[tf.TensorShape]) -> list[tf.TensorShape]:
        """The outputs' shapes, as far as they are known."""
        count = len(self._dtypes)
        if self._shape is None:
            return [tf.TensorShape(None)] * count
        shapes = self._shape(*inputs) if callable(self._shape) else self._shape
        listed = list(shapes) if self._several else [shapes]
        try:
            if len(listed) == count:
                return [tf.TensorShape(shape) for shape in listed]
        except (TypeError, ValueError):
            pass
        raise ValueError(
            f"numpy_op {self.name}: shape gives {shapes!r}; expected "
            + (f"a list of {count} shapes" if self._several else "a shape such as [2, None]")
        )


def _read_only(array: Any) -> Any:
    """An input made read-only, because the array may be the tensor's own memory."""
    if isinstance(array, bytes):
        return array
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _identifier(name: str) -> str:
    """The name as a valid name of a node."""
    return "numpy_op" if name == "<lambda>" else name.strip("_") or "numpy_op"
