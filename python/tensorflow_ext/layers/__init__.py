# SPDX-License-Identifier: Apache-2.0
"""Keras layers around the ops.

Importing this package imports Keras, which comes with TensorFlow, and registers
the layers with keras.saving: import it before loading a model that has them.
"""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        "tensorflow_ext.layers needs Keras on TensorFlow, but its backend is "
        f"'{keras.backend.backend()}': set KERAS_BACKEND=tensorflow"
    )

from tensorflow_ext.layers.gradient_modifiers import GradientReversal, SignQuantizer
from tensorflow_ext.layers.normalization import LayerNormalization, RmsNormalization
from tensorflow_ext.layers.pruning import MagnitudePruning
from tensorflow_ext.layers.regions import RoiAlign, RoiPooling

__all__ = [
    "GradientReversal",
    "LayerNormalization",
    "MagnitudePruning",
    "RmsNormalization",
    "RoiAlign",
    "RoiPooling",
    "SignQuantizer",
]
