"""Models that train themselves: a SavedModel with signatures that compute gradients and train.

Such a model consists of TensorFlow's own ops. So every program that runs its signatures can train
it: TensorFlow Serving, or a language that cannot load a library.
"""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

LOSSES = ("sparse_categorical_crossentropy", "mean_squared_error")
# The signatures that are added, besides those that the model has.
ADDED = ("gradients", "train_step", "evaluate", "save", "restore")


class AddTrainingError(ValueError):
    """The model cannot get these signatures."""


def add_training(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    loss: str,
    optimizer: Any = "adam",
    learning_rate: float | None = None,
    signature: str | None = None,
    from_logits: bool = False,
) -> None:
    """Writes a copy of a SavedModel that trains itself, without this library at run time.

    The copy has the signatures of the model and these, whose inputs are those of `signature` and
    `labels`, unless `loss` is an output:
      train_step: updates the trainable variables; returns `loss`, before the update.
      evaluate: returns `loss` and the outputs.
      gradients: returns `loss`, `inputs/NAME` for each input that has a gradient, and
        `variables/NAME` for each trainable variable that the loss depends on.
      save, restore: write and read a checkpoint of all variables, those of the optimizer included;
        the input `prefix` is the beginning of the paths of its files, a string, [].

    Args:
      directory: A folder that `tf.saved_model.save` or `keras.Model.export` wrote.
      out: A folder that does not exist.
      loss: "sparse_categorical_crossentropy" (labels of type int64, one rank lower than the
        output), "mean_squared_error" (labels like the output), or the name of an output, which is
        then summed and has no labels. The first two are means over all labels.
      optimizer: A name, or what `keras.optimizers.serialize` gives, as a dict or JSON.
      learning_rate: The optimizer's, if it is not to be its default.
      signature: The signature to train; by default "train", or else "serving_default".
      from_logits: Whether the output of the model is logits, for a cross-entropy. Otherwise it is
        probabilities.

    Raises:
      AddTrainingError: The model has an op of this library or one without a gradient, or an
        argument does not fit the model. The message names it.
    """
    if pathlib.Path(out).exists():
        raise AddTrainingError(f"{out} exists; expected the name of a new folder")
    model = tf.saved_model.load(os.fspath(directory))
    forward = _forward(model, signature)
    _check_ops(forward)
    module = _Module(model, forward, _loss_of(forward, loss, from_logits), optimizer, learning_rate)
    for function in module.functions.values():
        _check_ops(function)  # Gradients may have such ops, too.
    tf.saved_model.save(
        module, os.fspath(out), signatures={**dict(model.signatures), **module.functions}
    )


def _forward(model: Any, name: str | None) -> Any:
    existing = list(getattr(model, "signatures", {}))
    wanted = name or ("train" if "train" in existing else "serving_default")
    if wanted not in existing:
        raise AddTrainingError(
            f"signature: the model has no '{wanted}'; expected one of {existing}"
        )
    taken = sorted(set(existing) & set(ADDED))
    if taken:
        raise AddTrainingError(f"the model already has the signatures {taken}")
    forward = model.signatures[wanted]
    if not _trainable(model, forward):
        raise AddTrainingError(f"signature: '{wanted}' reads no trainable variable")
    return forward


def _trainable(model: Any, forward: Any) -> list[Any]:
    """Keras lists what it trains: tf.Variable does not know of layers with trainable=False."""
    found = list(forward.trainable_variables)
    if not (hasattr(model, "variables") and hasattr(model, "trainable_variables")):
        return found
    trained = {id(variable) for variable in model.trainable_variables}
    frozen = {id(variable) for variable in model.variables} - trained
    return [variable for variable in found if id(variable) not in frozen]


def _check_ops(forward: Any) -> None:
    """Refuses ops that TensorFlow alone does not have."""
    definition = forward.graph.as_graph_def()
    nodes = list(definition.node)
    for function in definition.library.function:
        nodes += function.node_def
    for node in nodes:
        if ">" in node.op:
            raise AddTrainingError(
                f"node '{node.name}' is of op '{node.op}', which TensorFlow alone does not have; "
                "expected a model whose ops and gradients are TensorFlow's own"
            )


_Loss = Callable[[Mapping[str, Any], Any], Any]


def _loss_of(forward: Any, loss: str, from_logits: bool) -> tuple[_Loss, tf.TensorSpec | None]:
    """The loss of outputs and labels, and the labels."""
    outputs = forward.structured_outputs
    if loss in outputs:
        return lambda found, _: tf.reduce_sum(found[loss]), None
    if loss not in LOSSES:
        raise AddTrainingError(
            f"loss: '{loss}' is neither one of {list(LOSSES)} nor an output of the model, which "
            f"has {list(outputs)}"
        )
    if len(outputs) != 1:
        raise AddTrainingError(
            f"loss: '{loss}' needs a model with one output, but it has {list(outputs)}"
        )
    ((key, output),) = outputs.items()
    if loss == "mean_squared_error":
        spec = tf.TensorSpec(output.shape, output.dtype, "labels")
        return lambda found, y: tf.reduce_mean(tf.math.squared_difference(found[key], y)), spec
    if output.shape.rank is None or output.shape.rank < 1:
        raise AddTrainingError(f"loss: '{loss}' needs an output of known rank, got {output.shape}")

    def cross_entropy(found: Mapping[str, Any], y: Any) -> Any:
        losses = keras.ops.sparse_categorical_crossentropy(y, found[key], from_logits=from_logits)
        return tf.reduce_mean(losses)

    return cross_entropy, tf.TensorSpec(output.shape[:-1], tf.int64, "labels")


def _made(optimizer: Any, learning_rate: float | None) -> Any:
    if isinstance(optimizer, str) and optimizer.lstrip().startswith("{"):
        optimizer = json.loads(optimizer)
    try:
        made = keras.optimizers.get(optimizer)
    except (ValueError, TypeError) as error:
        raise AddTrainingError(f"optimizer: {error}") from error
    if learning_rate is not None:
        made.learning_rate = learning_rate
    return made


class _Module(tf.Module):
    """The model and the functions of its new signatures."""

    def __init__(
        self,
        model: Any,
        forward: Any,
        loss: tuple[_Loss, tf.TensorSpec | None],
        optimizer: Any,
        learning_rate: float | None,
    ) -> None:
        super().__init__()
        self.model = model
        self._forward = forward
        self._loss, labels = loss
        self._trained = _trainable(model, forward)
        made = _made(optimizer, learning_rate)
        made.build(self._trained)
        # Keras' own objects would be saved with copies of their variables.
        self._apply = made.apply
        self.optimizer = [v.value for v in made.variables]
        self._labeled = labels is not None
        specs = dict(forward.structured_input_signature[1])
        if labels is not None:
            if "labels" in specs:
                raise AddTrainingError("the model has an input 'labels' of its own")
            specs["labels"] = labels
        prefix = tf.TensorSpec([], tf.string, "prefix")
        functions = {
            "gradients": (self._gradients, specs),
            "train_step": (self._train_step, specs),
            "evaluate": (self._evaluate, specs),
            "save": (self._save, {"prefix": prefix}),
            "restore": (self._restore, {"prefix": prefix}),
        }
        self.functions = {}
        for name, (function, inputs) in functions.items():
            try:
                traced = tf.function(function, autograph=False)
                self.functions[name] = traced.get_concrete_function(**inputs)
            except LookupError as error:  # No gradient defined for operation ...
                raise AddTrainingError(str(error)) from error

    def _losses(self, inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        labels = inputs.pop("labels") if self._labeled else None
        outputs = self._forward(**inputs)
        return self._loss(outputs, labels), outputs

    def _gradients(self, **inputs: Any) -> dict[str, Any]:
        given = dict(inputs)
        given.pop("labels", None) if self._labeled else None
        x = {name: value for name, value in given.items() if value.dtype.is_floating}
        with tf.GradientTape() as tape:
            tape.watch(list(x.values()))
            loss, _ = self._losses(dict(inputs))
        by_inputs, by_variables = tape.gradient(loss, (x, self._trained))
        found = {f"inputs/{name}": gradient for name, gradient in by_inputs.items()}
        for variable, gradient in zip(self._trained, by_variables, strict=True):
            found[f"variables/{variable.name.split(':')[0]}"] = gradient
        dense = {
            name: tf.convert_to_tensor(gradient)
            for name, gradient in found.items()
            if gradient is not None
        }
        return {"loss": loss, **dense}

    def _train_step(self, **inputs: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss, _ = self._losses(dict(inputs))
        gradients = tape.gradient(loss, self._trained)
        if all(gradient is None for gradient in gradients):
            raise AddTrainingError("loss: it depends on no trainable variable")
        self._apply(gradients, self._trained)
        return {"loss": loss}

    def _evaluate(self, **inputs: Any) -> dict[str, Any]:
        loss, outputs = self._losses(dict(inputs))
        return {**outputs, "loss": loss}

    def _checkpointed(self) -> tuple[list[str], list[tf.Variable]]:
        """All variables, by names that are different."""
        variables = [*self._forward.variables, *self.optimizer]
        names = [f"{k}/{v.name.split(':')[0]}" for k, v in enumerate(variables)]
        return names, variables

    def _save(self, prefix: Any) -> dict[str, Any]:
        names, variables = self._checkpointed()
        with tf.control_dependencies(
            [
                tf.raw_ops.SaveV2(
                    prefix=prefix,
                    tensor_names=names,
                    shape_and_slices=[""] * len(names),
                    tensors=[v.read_value() for v in variables],
                )
            ]
        ):
            return {"prefix": tf.identity(prefix)}

    def _restore(self, prefix: Any) -> dict[str, Any]:
        names, variables = self._checkpointed()
        values = tf.raw_ops.RestoreV2(
            prefix=prefix,
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            dtypes=[v.dtype for v in variables],
        )
        for variable, value in zip(variables, values, strict=True):
            variable.assign(tf.ensure_shape(value, variable.shape))
        return {"prefix": tf.identity(prefix)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("model", metavar="MODEL", help="the folder of a SavedModel")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--loss",
        required=True,
        help=f"{' or '.join(LOSSES)}, or the name of an output that is the loss",
    )
    parser.add_argument(
        "--optimizer", default="adam", help="a name, or JSON of keras.optimizers.serialize"
    )
    parser.add_argument("--learning-rate", type=float, metavar="RATE")
    parser.add_argument("--signature", metavar="NAME", help="default: train or serving_default")
    parser.add_argument(
        "--from-logits", action="store_true", help="the output is logits, not probabilities"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs the command."""
    try:
        add_training(
            arguments.model,
            arguments.out,
            loss=arguments.loss,
            optimizer=arguments.optimizer,
            learning_rate=arguments.learning_rate,
            signature=arguments.signature,
            from_logits=arguments.from_logits,
        )
    except OSError as error:  # tf.saved_model.load
        raise AddTrainingError(str(error)) from error
    print(f"wrote {arguments.out} with the signatures {', '.join(ADDED)}", file=sys.stderr)
