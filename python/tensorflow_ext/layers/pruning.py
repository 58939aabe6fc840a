"""Layers that make weights sparse, and a callback that reports how sparse they are."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import check, is_number
from tensorflow_ext.layers._schedules import Schedule, Scheduled

_GRADIENTS = ("straight_through", "masked")


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class MagnitudePruning(Scheduled):
    """Sets the values of least magnitude to zero, by `prune_by_magnitude`.

    Call it on another layer's weights, or on activations. Either a threshold or a
    sparsity chooses the values to prune. It is kept in `level`, a non-trainable weight
    that you may assign during training:

        pruning = MagnitudePruning(sparsity=0.0)
        outputs = inputs @ pruning(kernel)
        pruning.level.assign(0.9)

    With a schedule, `MagnitudePruning(PolynomialSparsity(...))`, each call in training
    assigns `level` and increments `step`, another weight. The weight `reached` holds the
    fraction of zeros in the last call in training. `SparsityReport` reports both.

    Args:
      threshold: The least magnitude that is kept; infinity prunes everything.
      sparsity: The fraction of the values to set to zero, in [0, 1], or a schedule for
        it. If several values have the magnitude at the limit, all of them are kept. Give
        either this or `threshold`.
      gradient: How to treat the gradient of pruned values: 'straight_through' passes it
        on, 'masked' drops it.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.

    Raises:
      ValueError: Not exactly one of `threshold` and `sparsity` is given, or an argument
        is invalid.
    """

    def __init__(
        self,
        threshold: float | None = None,
        sparsity: float | Schedule | None = None,
        gradient: Literal["straight_through", "masked"] = "straight_through",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if (threshold is None) == (sparsity is None):
            raise ValueError(
                f"MagnitudePruning: 'threshold' is {threshold} and 'sparsity' is "
                f"{sparsity}, expected exactly one of them"
            )
        if sparsity is None:
            check(self, "threshold", threshold, is_number(threshold), "a number")
            initial = threshold = float(threshold or 0)
        else:
            sparsity = self._number_or_schedule("sparsity", sparsity, 0, 1)
            initial = 0.0 if callable(sparsity) else sparsity
        valid = gradient in _GRADIENTS
        check(self, "gradient", gradient, valid, " or ".join(map(repr, _GRADIENTS)))
        self.threshold = threshold
        self.sparsity = sparsity
        self.gradient = gradient
        self.level = self._add_scalar("level", initial, "only_first_replica")
        self.reached = self._add_scalar("reached", 0.0, "mean")

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        if training and callable(self.sparsity):
            self.level.assign(self.sparsity(self.step))
            self.step.assign_add(1)
        threshold = tf.convert_to_tensor(self.level)
        if self.sparsity is None:
            threshold = tf.cast(threshold, inputs.dtype)
        else:
            threshold = _threshold_of(inputs, threshold)
        outputs = ops.prune_by_magnitude(inputs, threshold, gradient=self.gradient)
        if training:
            kept = tf.math.count_nonzero(outputs, dtype=tf.int64)
            size = tf.size(outputs, tf.int64)
            self.reached.assign(tf.cast((size - kept) / tf.maximum(size, 1), "float32"))
        return outputs

    def _add_scalar(self, name: str, value: float, aggregation: str) -> Any:
        return self.add_weight(
            name=name,
            shape=(),
            dtype="float32",
            initializer=keras.initializers.Constant(value),
            trainable=False,
            autocast=False,
            aggregation=aggregation,
        )


class SparsityReport(keras.callbacks.Callback):
    """Reports the sparsity of a model's pruned values at the end of each epoch.

    For each `MagnitudePruning` in the model, at any depth, it adds values of the layer's
    last call in training to `logs`, and so to keras.callbacks.History:

    - NAME_reached_sparsity: the fraction of zeros,
    - NAME_target_sparsity: the requested fraction, unless the layer has a threshold.

    NAME is the layer's name, or its path if several layers have that name. List this
    callback before others that read `logs`, such as keras.callbacks.CSVLogger and
    TensorBoard.

    Args:
      verbose: 1 to print the values too, else 0.
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__()
        check(self, "verbose", verbose, verbose in (0, 1), "0 or 1")
        self.verbose = verbose

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = {} if logs is None else logs
        for name, layer in _named(self.model):
            report = {"reached": float(layer.reached.numpy())}
            if layer.sparsity is not None:
                report["target"] = float(layer.level.numpy())
            for kind, value in report.items():
                logs[f"{name}_{kind}_sparsity"] = value
            if self.verbose:
                values = (f"{kind} {value:.2%}" for kind, value in report.items())
                print(f"Epoch {epoch + 1}: sparsity of {name}: {', '.join(values)}")


def _named(model: keras.Model) -> Iterator[tuple[str, MagnitudePruning]]:
    """The layers of a model that prune, each with a unique name."""
    # Keras has no public function that finds layers which are attributes of layers.
    layers = [x for x in model._flatten_layers() if isinstance(x, MagnitudePruning)]
    names = [layer.name for layer in layers]
    paths = [layer.path or layer.name for layer in layers]
    for number, layer in enumerate(layers):
        if names.count(layer.name) == 1:
            yield layer.name, layer
        elif paths.count(paths[number]) == 1:
            yield paths[number], layer
        else:
            yield f"{paths[number]}_{number}", layer


def _threshold_of(values: tf.Tensor, sparsity: tf.Tensor) -> tf.Tensor:
    """The least magnitude that is kept when a fraction of the values is pruned."""
    magnitudes = tf.sort(tf.reshape(tf.abs(tf.stop_gradient(values)), [-1]))
    size = tf.size(magnitudes)
    pruned = tf.cast(tf.round(sparsity * tf.cast(size, sparsity.dtype)), tf.int32)
    # A threshold of infinity prunes all values.
    infinity = tf.constant([math.inf], magnitudes.dtype)
    padded = tf.concat([magnitudes, infinity], axis=0)
    return padded[tf.clip_by_value(pruned, 0, size)]
