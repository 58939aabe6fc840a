"""A model that Keras exported trains in other languages as it does in Python."""

import itertools
import pathlib
import shutil

import keras
import model as fine_tune
import numpy as np
import pytest
import tensorflow as tf
from sampling import of_commit

STEPS = 100
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    fine_tune.Data(STEPS).write(folder)
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    fine_tune.export(fine_tune.make_model(), folder)
    return folder


def _train(training: fine_tune.Training, data: fine_tune.Data) -> list[float]:
    """Trains in Python; returns the losses."""
    return [
        float(training.step(tf.constant(x), tf.constant(labels)))
        for x, labels in zip(data.x, data.labels, strict=True)
    ]


@pytest.fixture(scope="module")
def python(exported: pathlib.Path) -> tuple[list[float], list[np.ndarray]]:
    """Python's losses, and its variables afterwards."""
    training = fine_tune.Training(exported)
    before = [v.numpy() for v in training.model.variables]
    losses = _train(training, fine_tune.Data(STEPS))
    after = [v.numpy() for v in training.model.variables]
    # The moving averages and the state of the dropout's generator change, too.
    assert len(after) == len(training.variables) + 3
    assert not any(np.array_equal(*values) for values in zip(before, after, strict=True))
    return losses, after


# They load the model in one call, and save it into any folder.
_ONE_CALL = ("C++", "Go", "Java", "Rust")


def some_languages(test: str) -> pytest.MarkDecorator:
    """Each commit chooses two languages; the release check runs all."""
    return pytest.mark.parametrize("language", of_commit(test, fine_tune.PROGRAMS, 2))


@some_languages("trains")
def test_trains_as_python_does(
    language: str,
    exported: pathlib.Path,
    data: pathlib.Path,
    python: tuple[list[float], list[np.ndarray]],
    tmp_path: pathlib.Path,
) -> None:
    """With Dropout, whose draws depend only on a variable, and BatchNormalization."""
    model = tmp_path / "model"
    shutil.copytree(exported, model)
    expected, variables = python
    losses = list(fine_tune.train_in_program(language, model, data))

    assert len(losses) == STEPS
    assert expected[-1] < expected[0] / 4
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE, atol=0)

    # Python loads the checkpoint that the model's own saver wrote.
    loaded = fine_tune.Training(model)
    for variable, value in zip(loaded.model.variables, variables, strict=True):
        scale = np.abs(value).max()
        np.testing.assert_allclose(variable.numpy(), value, 0, TOLERANCE * scale)


@pytest.mark.parametrize(
    ("first", "second"), of_commit("pairs", [*itertools.permutations(fine_tune.PROGRAMS, 2)])
)
def test_each_trains_what_another_saved(
    first: str,
    second: str,
    exported: pathlib.Path,
    python: tuple[list[float], list[np.ndarray]],
    tmp_path: pathlib.Path,
) -> None:
    """From Python to a language, back, to another one and back; the losses are those of Python
    without a break."""
    model = tmp_path / "model"
    shutil.copytree(exported, model)
    part = STEPS // 3
    for begin, language in ((0, first), (part, second)):
        data = fine_tune.Data(STEPS)
        data.x, data.labels = data.x[: begin + part], data.labels[: begin + part]
        data.write(tmp_path, begin)
        found = list(fine_tune.train_in_program(language, model, tmp_path))
        middle, end = begin + part, begin + 2 * part
        data = fine_tune.Data(STEPS)
        data.x, data.labels = data.x[middle:end], data.labels[middle:end]
        found += _train(fine_tune.Training(model), data)
        np.testing.assert_allclose(found, python[0][begin:end], rtol=TOLERANCE, atol=0)


def test_calls_that_draw_are_refused(exported: pathlib.Path, data: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="by the op TfExt>InlineCalls"):
        list(fine_tune.train_in_program("C", exported, data, ["calls"]))


@pytest.mark.parametrize(
    ("language", "options"),
    of_commit("export", [*((name, []) for name in fine_tune.PROGRAMS), ("C", ["calls"])], 2),
)
def test_keras_export_has_no_training_mode(
    language: str, options: list[str], tmp_path: pathlib.Path
) -> None:
    """Dropout drops nothing, and BatchNormalization keeps its averages."""
    model = saved = tmp_path / "model"
    if language in _ONE_CALL:
        saved = tmp_path / "of" / "another"
        options = [str(saved)]
    network = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(16, activation="silu"),  # brings a gradient of its own
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(16, trainable=False),
            keras.layers.Dense(10),
        ]
    )
    data = fine_tune.Data(3)
    network(data.x[0], training=True)  # moves the averages
    network.export(model, verbose=False)
    (model / "assets" / "words").mkdir(parents=True)
    (model / "assets" / "words" / "of.txt").write_text("of")
    data.write(tmp_path)
    training = fine_tune.Training(model)
    trained = {id(v) for v in training.variables}
    kept = [k for k, v in enumerate(training.model.variables) if id(v) not in trained]
    fixed = [training.model.variables[k].numpy() for k in kept]
    before = [v.numpy() for v in training.model.variables]
    expected = _train(training, data)
    losses = list(fine_tune.train_in_program(language, model, tmp_path, options))
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE, atol=0)
    assert (saved / "assets" / "words" / "of.txt").read_text() == "of"
    if saved != model:
        untouched = fine_tune.Training(model).model.variables
        np.testing.assert_equal([v.numpy() for v in untouched], before)
    loaded = fine_tune.Training(saved)
    for variable, value in zip(loaded.model.variables, training.model.variables, strict=True):
        np.testing.assert_allclose(variable, value, rtol=1e-4, atol=1e-6)
    assert len(kept) >= 4  # The averages, and the layer that is not trained.
    np.testing.assert_equal([loaded.model.variables[k].numpy() for k in kept], fixed)


@some_languages("errors")
def test_errors_name_the_problem(
    language: str, exported: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    class Doubled(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "x")])
        def double(self, x: tf.Tensor) -> tf.Tensor:
            return 2 * x

    module = Doubled()
    tf.saved_model.save(module, str(tmp_path / "model"), module.double)
    fine_tune.Data(2).write(tmp_path)
    if language in _ONE_CALL:
        tf.saved_model.save(tf.Module(), str(tmp_path / "unsigned"))
        with pytest.raises(
            RuntimeError, match=r"unsigned.*expected the signature .*serving_default"
        ):
            list(fine_tune.train_in_program(language, tmp_path / "unsigned", tmp_path))
    with pytest.raises(RuntimeError, match="trainable variable"):
        list(fine_tune.train_in_program(language, tmp_path / "model", tmp_path))
    with pytest.raises(RuntimeError, match="Could not find SavedModel"):
        list(fine_tune.train_in_program(language, tmp_path / "none", tmp_path))
    data = fine_tune.Data(2)
    data.x = data.x[..., :63]
    data.write(tmp_path)
    with pytest.raises(RuntimeError, match="expected 64 for each"):
        list(fine_tune.train_in_program(language, exported, tmp_path))
