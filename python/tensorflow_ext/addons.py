"""TensorFlow Addons' names of ops and Keras objects, to load old models.

    import tensorflow_ext.addons

    model = tf.saved_model.load("saved with TensorFlow Addons")

Importing this module registers the ops `Addons>Resampler`, `Addons>CorrelationCost`,
`Addons>EmbeddingBag` and those of the activations, with their gradients. The ops of this
library compute them. Graphs and SavedModels that contain these ops then load, run and
can be differentiated. When Keras loads a model, it finds the functions and layers of
this package under TensorFlow Addons' names, such as `Addons>gelu`; it saves them under
their own names.

`import tensorflow_ext` alone does none of this. A name that is already registered, such
as by TensorFlow Addons itself, stays unchanged. docs/tensorflow_addons.md says where
results differ.
"""

from tensorflow_ext import _keras, gradients, ops
from tensorflow_ext._runtime import _library

__all__ = ["FUNCTIONS", "OPS"]

#: The ops that importing this module registers, unless they are registered already.
OPS = tuple(
    f"Addons>{name}{suffix}"
    for name in (
        "CorrelationCost",
        "EmbeddingBag",
        "Gelu",
        "Hardshrink",
        "Lisht",
        "Mish",
        "Resampler",
        "Softshrink",
        "Tanhshrink",
    )
    for suffix in ("", "Grad")
)

#: The functions that Keras finds as "Addons>gelu" and so on.
FUNCTIONS = (
    "gelu",
    "hardshrink",
    "lisht",
    "mish",
    "rrelu",
    "snake",
    "softshrink",
    "sparsemax",
    "tanhshrink",
)

_library.register_addons_ops()
gradients.register_all()
_keras.find_as("Addons", {name: getattr(ops, name) for name in FUNCTIONS}, "_old_layers")
