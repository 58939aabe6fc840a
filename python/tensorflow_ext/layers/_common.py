"""Checks of arguments and shapes that several families of layers share."""

import inspect
import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeAlias

import keras

Shape: TypeAlias = Sequence[int | None]


def check(layer: object, argument: str, value: Any, valid: bool, expected: str) -> None:
    """Raises a ValueError that names the argument unless it is valid."""
    if not valid:
        name = type(layer).__name__
        raise ValueError(f"{name}: '{argument}' is {value!r}, expected {expected}")


def integer(layer: object, argument: str, value: Any, least: int | None = None) -> int:
    """The argument as an int; a ValueError if it is not an integer or is below `least`."""
    expected = "an integer" if least is None else f"an integer, at least {least}"
    valid = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    in_range = valid and (least is None or int(value) >= least)
    check(layer, argument, value, in_range, expected)
    return int(value)


def boolean(layer: object, argument: str, value: Any) -> bool:
    """The argument; a ValueError if it is neither True nor False."""
    check(layer, argument, value, value in (True, False), "True or False")
    return bool(value)


def is_number(value: Any) -> bool:
    """True for a number other than NaN."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def finite(
    layer: object,
    argument: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    alternative: str = "",
) -> float:
    """The argument as a float; a ValueError if it is not a finite number within the bounds.
    The message names the alternative."""
    expected = "a finite number"
    if least > -math.inf:
        expected += f", at least {least:g}"
    if most < math.inf:
        expected += f" and at most {most:g}"
    if alternative:
        expected += f", or {alternative}"
    valid = is_number(value) and math.isfinite(value) and least <= value <= most
    check(layer, argument, value, valid, expected)
    return float(value)


def above(layer: object, argument: str, value: Any, bound: float) -> float:
    """The argument as a float; a ValueError if it is not a finite number above the bound."""
    valid = is_number(value) and bound < value < math.inf
    check(layer, argument, value, valid, f"a finite number above {bound:g}")
    return float(value)


def check_shape(
    layer: keras.layers.Layer, name: str, shape: Shape, valid: bool, expected: str
) -> None:
    """Raises a ValueError that names the layer's input unless its shape is valid."""
    if not valid:
        raise ValueError(
            f"{type(layer).__name__} '{layer.name}': '{name}' has shape "
            f"{tuple(shape)}, expected {expected}"
        )


def known_last(layer: keras.layers.Layer, shape: Shape) -> int:
    """The last dimension of the layer's input; a ValueError if it is unknown."""
    size = shape[-1] if len(shape) > 0 else None
    expected = "a known last dimension"
    check_shape(layer, "inputs", shape, size is not None, expected)
    return int(size or 0)


def same(a: int | None, b: int | None) -> bool:
    """True if two dimensions may be equal; an unknown dimension may equal any other."""
    return a is None or b is None or a == b


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


def own_arguments(configured: object) -> dict[str, Any]:
    """The arguments of this package's constructors of a layer or schedule, as Keras saves them.
    Each is an attribute of the same name."""
    constructors = [
        vars(cls)["__init__"]
        for cls in type(configured).__mro__
        if cls.__module__.startswith(__package__) and "__init__" in vars(cls)
    ]
    return {
        name: keras.saving.serialize_keras_object(getattr(configured, name))
        for constructor in constructors
        for name, parameter in inspect.signature(constructor).parameters.items()
        if name != "self" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }


class Configured(keras.layers.Layer):
    """A layer whose configuration holds the arguments of its constructors."""

    # Without this method, Keras makes a configuration from the arguments as they were
    # given. A DTypePolicy or a regularizer among them cannot be saved.
    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **own_arguments(self)}


class SameShape(Configured):
    """A layer whose output has the shape of its input."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape


class OfTwo(Configured):
    """A layer that is called with a list of two tensors.

    Attributes:
      input_names: Names of the two tensors in error messages.
    """

    input_names: tuple[str, str]

    def _check_two(self, inputs: Any) -> None:
        """Raises a ValueError unless these are two tensors or two shapes."""
        # A single shape is a tuple, too.
        is_list = isinstance(inputs, (list, tuple)) and not any(
            x is None or isinstance(x, int) for x in inputs
        )
        if not is_list or len(inputs) != 2:
            found = f"a list of {len(inputs)}" if is_list else "one tensor"
            raise ValueError(
                f"{type(self).__name__} '{self.name}': called with {found}, expected "
                f"a list of two, [{', '.join(self.input_names)}]"
            )
