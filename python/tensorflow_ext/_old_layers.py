"""Layers that Keras makes from the configurations of TensorFlow Addons' layers."""

from typing import Any

from tensorflow_ext import layers


class _EmbeddingBag:
    """In TensorFlow Addons, `mask_zero` did not ignore any index."""

    @staticmethod
    def from_config(config: dict[str, Any]) -> layers.EmbeddingBag:
        return layers.EmbeddingBag.from_config({**config, "mask_zero": False})


LAYERS = {
    "CorrelationCost": layers.CorrelationCost,
    "EmbeddingBag": _EmbeddingBag,
    "GELU": layers.GELU,
    "Snake": layers.Snake,
    "Sparsemax": layers.Sparsemax,
}
