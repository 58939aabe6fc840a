"""The models, as the modules models_*.py describe them."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import keras
import numpy as np

BOTH_TYPES = ("float32", "float64")

# The error of a model that draws numbers, or writes a variable that it reads.
RUNS_AGAIN = "but a session has this node"  # that of TF_LoadSessionFromSavedModel

# Keras 3.12, the last for Python 3.10, lacks these.
NEW_LAYERS = (
    *(f"Adaptive{kind}Pooling{n}D" for kind in ("Average", "Max") for n in (1, 2, 3)),
    "ContrastLimitedAdaptiveHistogramEqualization",
)

Layers: TypeAlias = list[Any]


def lacking_layers() -> list[str]:
    """The layers of NEW_LAYERS that this Keras lacks; models are then built without them."""
    return [name for name in NEW_LAYERS if not hasattr(keras.layers, name)]


@dataclasses.dataclass(frozen=True)
class Model:
    """A model that Python saves and a client in C differentiates.

    Attributes:
      name: Unique among all models.
      build: Returns a keras.Model, a list of layers that run in order, a
        keras.export.ExportArchive, or a tf.Module with a `tf.function` that has an input
        signature. These return a tensor or a dictionary of tensors. Parameters of `build`
        are Keras' inputs; it then returns the outputs of a model of these. Keras' floatx is
        the type to build in.
      inputs: The values fed, by the name of the signature's argument; the input of a list of layers
        is "x". Floating values are given in double and fed in the model's type, unless `build`
        computes in another one.
      types: The types that it is built in.
      signatures: The signatures that are differentiated.
      orders: The orders of gradients that are compared.
      loaded: The orders that Python's tapes give of the loaded model. Higher ones are those of the
        model before it was saved. For saved functions with a `While`, tapes give no second order
        ("Tried to take gradients of a variable without handle data"), and no first order if a
        gradient of the model's own captured a tensor of a loop or of a branch.
      error: A fragment of the message that the client gives instead of gradients. With inlined
        calls there is no error.
      second_error: A fragment of the message that it gives instead of gradients of second order.
      random: True if the model draws numbers, so no two gradients are equal.
      tolerance: Replaces the type's tolerance; a comment in the row says why.
      every_program: True if the program of each language differentiates it, C and C++ included.
      newer_keras: The types in which Keras 3.12, the last for Python 3.10, cannot save it.
    """

    name: str
    build: Callable[..., Any]
    inputs: Mapping[str, np.ndarray]
    types: Sequence[str] = BOTH_TYPES
    signatures: Sequence[str] = ("serving_default",)
    orders: int = 2
    loaded: int = 2
    error: str | None = None
    second_error: str | None = None
    random: bool = False
    tolerance: float | None = None
    every_program: bool = False
    newer_keras: Sequence[str] = ()

    def made(self) -> Any:
        """Builds the object to save."""
        if inspect.signature(self.build).parameters:
            x = [
                keras.Input(value.shape[1:], dtype=_input_type(value), name=name)
                for name, value in self.inputs.items()
            ]
            return keras.Model(x if len(x) > 1 else x[0], self.build(*x))
        built = self.build()
        return chain(self.inputs["x"].shape[1:], built) if isinstance(built, list) else built


def _input_type(value: np.ndarray) -> str:
    names = {"f": keras.config.floatx(), "O": "string"}
    return names.get(value.dtype.kind, value.dtype.name)


def model(
    inputs: Mapping[str, np.ndarray], **settings: Any
) -> Callable[[Callable[..., Any]], Model]:
    """Makes a Model of a function that builds it; the model has the function's name."""
    return lambda build: Model(build.__name__, build, inputs, **settings)


def chain(shape: Sequence[int | None], layers: Layers) -> keras.Model:
    """Layers in sequence on an input `x` of this shape, which omits the batch."""
    x = y = keras.Input(shape, name="x")
    for layer in layers:
        y = layer(y)
    return keras.Model(x, y)
