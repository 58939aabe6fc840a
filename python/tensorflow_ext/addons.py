# SPDX-License-Identifier: Apache-2.0
"""Old models: the names that TensorFlow Addons gave its ops and Keras objects.

    import tensorflow_ext.addons

    model = tf.saved_model.load("saved with TensorFlow Addons")

Importing this module registers the ops `Addons>Resampler`, `Addons>CorrelationCost`,
`Addons>EmbeddingBag` and those of the activations with their gradients, computed by the
ops of this library, so that graphs and SavedModels that hold them load, run and are
differentiated. Keras finds the functions and layers of this package under TensorFlow
Addons' names when it loads a model, as `Addons>gelu`; it saves them under their own.

Nothing of this is done by `import tensorflow_ext` alone. A name that is taken, as by
TensorFlow Addons itself, stays as it is. docs/tensorflow_addons.md says where results
differ.
"""

from tensorflow_ext import _keras, gradients, ops
from tensorflow_ext._runtime import _library

__all__ = ["FUNCTIONS", "OPS"]

#: The ops that importing this module registers, where they were not registered before.
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
