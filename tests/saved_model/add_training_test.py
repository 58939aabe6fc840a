"""`python -m tensorflow_ext add-training`: models that train without this library."""

import pathlib
import re
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, tensorflow_dir
from tensorflow.core.protobuf import saved_model_pb2

from tensorflow_ext import __main__, layers

DRAWS = np.random.default_rng(2)
X = DRAWS.normal(size=[8, 5]).astype(np.float32)
Y = DRAWS.integers(0, 3, size=[8])
STEPS = 6


def network() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input([5], name="x"),
            keras.layers.Dense(4, activation="tanh"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(4, trainable=False),
            keras.layers.Dense(3),
        ]
    )


def exported(model: Any, folder: pathlib.Path, batch: int | None = None) -> pathlib.Path:
    """A model whose signature `train` updates the averages of its batch normalization."""
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [tf.TensorSpec([batch, 5], tf.float32, "x")]
    archive.add_endpoint("serving_default", lambda x: model(x, training=False), spec)
    archive.add_endpoint("train", lambda x: model(x, training=True), spec)
    archive.write_out(folder, verbose=False)
    return folder


def keras_losses(model: Any, optimizer: Any) -> list[float]:
    losses = []
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            logits = model(X, training=True)
            loss = tf.reduce_mean(
                keras.ops.sparse_categorical_crossentropy(Y, logits, from_logits=True)
            )
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        losses.append(float(loss))
    return losses


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[float]]:
    """A model with training, and the losses that Keras has."""
    folder = tmp_path_factory.mktemp("models")
    model = network()
    exported(model, folder / "model")
    arguments = ["--loss", "sparse_categorical_crossentropy", "--from-logits"]
    arguments += ["--optimizer", "adam", "--learning-rate", "0.05"]
    command = ["add-training", str(folder / "model"), "--out", str(folder / "out"), *arguments]
    assert __main__.main(command) == 0
    return folder / "out", keras_losses(model, keras.optimizers.Adam(0.05))


def test_tensorflow_alone_trains_it(trained: tuple[pathlib.Path, list[float]]) -> None:
    folder, expected = trained
    model = tf.saved_model.load(str(folder))
    step, evaluate = model.signatures["train_step"], model.signatures["evaluate"]
    inputs = {"x": tf.constant(X), "labels": tf.constant(Y)}
    losses = [float(step(**inputs)["loss"]) for _ in range(STEPS)]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    after = float(evaluate(**inputs)["loss"])
    assert after < losses[-1]
    assert {"serving_default", "train", "gradients", "save", "restore"} < set(model.signatures)


def test_a_program_of_c_trains_it(
    trained: tuple[pathlib.Path, list[float]], tmp_path: pathlib.Path
) -> None:
    folder, expected = trained
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    ).meta_graphs
    graph = Client(tensorflow_dir(), None).load_saved_model(folder)

    def run(name: str, output: str, **inputs: Any) -> Any:
        signature = meta_graph.signature_def[name]
        feeds = {signature.inputs[key].name: value for key, value in inputs.items()}
        return graph.run([signature.outputs[output].name], feeds)[0]

    batch = {"x": X, "labels": Y}
    gradient = run("gradients", "inputs/x", **batch)
    assert gradient.shape == X.shape
    assert np.any(gradient)
    losses = [run("train_step", "loss", **batch) for _ in range(STEPS // 2)]
    prefix = np.array(str(tmp_path / "saved"), object)
    _run_target(graph, meta_graph, "save", prefix)
    losses += [run("train_step", "loss", **batch) for _ in range(STEPS // 2)]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    _run_target(graph, meta_graph, "restore", prefix)
    again = [run("train_step", "loss", **batch) for _ in range(STEPS // 2)]
    np.testing.assert_array_equal(again, losses[STEPS // 2 :])


def _run_target(graph: Any, meta_graph: Any, name: str, prefix: np.ndarray) -> None:
    signature = meta_graph.signature_def[name]
    node = signature.outputs["prefix"].name.split(":")[0]
    graph.run([], {signature.inputs["prefix"].name: prefix}, targets=[node])


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_tensorflow_lite_trains_it(tmp_path: pathlib.Path) -> None:
    exported(network(), tmp_path / "model", batch=len(X))
    arguments = ["--loss", "mean_squared_error", "--optimizer", "adam", "--learning-rate", "0.05"]
    command = ["add-training", str(tmp_path / "model"), "--out", str(tmp_path / "out"), *arguments]
    assert __main__.main(command) == 0
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(tmp_path / "out"), signature_keys=["train_step"]
    )
    converter.experimental_enable_resource_variables = True
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    lite = interpreter.get_signature_runner("train_step")
    step = tf.saved_model.load(str(tmp_path / "out")).signatures["train_step"]
    labels = DRAWS.normal(size=[8, 3]).astype(np.float32)
    losses = [lite(x=X, labels=labels)["loss"] for _ in range(STEPS)]
    expected = [float(step(x=tf.constant(X), labels=tf.constant(labels))["loss"]) for _ in losses]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert losses[-1] < losses[0]


def test_gradients_are_those_of_the_loss(trained: tuple[pathlib.Path, list[float]]) -> None:
    folder, _ = trained
    model = tf.saved_model.load(str(folder))
    gradients = model.signatures["gradients"]
    labels = tf.constant(Y)
    found = gradients(x=tf.constant(X), labels=labels)
    step = 1e-2
    for i, j in ((0, 0), (3, 4)):
        losses = []
        for sign in (1, -1):
            x = X.copy()
            x[i, j] += sign * step
            losses.append(float(gradients(x=tf.constant(x), labels=labels)["loss"]))
        difference = (losses[0] - losses[1]) / (2 * step)
        np.testing.assert_allclose(found["inputs/x"][i, j], difference, rtol=0.05, atol=1e-4)
    variables = [name for name in found if name.startswith("variables/")]
    assert len(variables) == 6


def test_an_output_may_be_the_loss(tmp_path: pathlib.Path) -> None:
    class Energy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([1.0, 2.0])

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
        def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"energy": tf.reduce_sum((self.w * x) ** 2)}

    energy = Energy()
    tf.saved_model.save(energy, str(tmp_path / "model"), signatures=energy.call)
    arguments = ["--loss", "energy", "--optimizer", "sgd", "--learning-rate", "0.1"]
    command = ["add-training", str(tmp_path / "model"), "--out", str(tmp_path / "out"), *arguments]
    assert __main__.main(command) == 0
    model = tf.saved_model.load(str(tmp_path / "out"))
    x = tf.constant([1.0, 1.0])
    losses = [float(model.signatures["train_step"](x=x)["loss"]) for _ in range(2)]
    np.testing.assert_allclose(losses, [5.0, 5.0 * 0.8**2], rtol=1e-6)


class Wrong(tf.Module):
    """Its ops depend on `op`."""

    def __init__(self, op: Any) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])
        self.call = tf.function(
            lambda x: {"y": op(self.w * x)}, input_signature=[tf.TensorSpec([2], tf.float32, "x")]
        )


def _without_gradient(x: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.DebugNumericSummaryV2(input=x, output_dtype=tf.float32)


@pytest.mark.parametrize(
    ("op", "arguments", "message"),
    [
        (layers.Mish(), [], "is of op 'TfExt>Mish', which TensorFlow alone does not have"),
        (tf.math.lgamma, ["--loss", "z"], "'z' is neither one of .* nor an output"),
        (tf.math.lgamma, ["--signature", "z"], "the model has no 'z'; expected one of"),
        (tf.math.lgamma, ["--optimizer", "z"], "optimizer: .*z"),
        (_without_gradient, [], "No gradient defined for operation.*DebugNumericSummaryV2"),
        (tf.stop_gradient, [], "depends on no trainable variable"),
    ],
)
def test_what_cannot_train_is_an_error(
    op: Any,
    arguments: list[str],
    message: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture,
) -> None:
    model = Wrong(op)
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.call)
    command = ["add-training", str(tmp_path / "model"), "--out", str(tmp_path / "out")]
    assert __main__.main([*command, "--loss", "y", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()
