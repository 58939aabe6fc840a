"""Keras layers around the ops.

Importing this package imports Keras, which comes with TensorFlow, and registers
the layers with keras.saving. Import it before you load a model that uses them.
"""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        "tensorflow_ext.layers needs Keras on TensorFlow, but its backend is "
        f"'{keras.backend.backend()}': set KERAS_BACKEND=tensorflow"
    )

from tensorflow_ext.layers._schedules import DomainAdversarialSchedule, PolynomialSparsity
from tensorflow_ext.layers.activations import (
    GELU,
    HardShrink,
    LiSHT,
    Mish,
    Snake,
    SoftShrink,
    Sparsemax,
    SwiGLU,
    TanhShrink,
)
from tensorflow_ext.layers.correlation import CorrelationCost
from tensorflow_ext.layers.embedding import EmbeddingBag
from tensorflow_ext.layers.gradient_modifiers import GradientReversal, SignQuantizer
from tensorflow_ext.layers.normalization import LayerNormalization, RmsNormalization
from tensorflow_ext.layers.pruning import MagnitudePruning, SparsityReport
from tensorflow_ext.layers.randomized import RReLU
from tensorflow_ext.layers.regions import RoiAlign, RoiPooling
from tensorflow_ext.layers.resampling import DenseImageWarp, Resampler

__all__ = [
    "GELU",
    "CorrelationCost",
    "DenseImageWarp",
    "DomainAdversarialSchedule",
    "EmbeddingBag",
    "GradientReversal",
    "HardShrink",
    "LayerNormalization",
    "LiSHT",
    "MagnitudePruning",
    "Mish",
    "PolynomialSparsity",
    "RReLU",
    "Resampler",
    "RmsNormalization",
    "RoiAlign",
    "RoiPooling",
    "SignQuantizer",
    "Snake",
    "SoftShrink",
    "Sparsemax",
    "SparsityReport",
    "SwiGLU",
    "TanhShrink",
]
