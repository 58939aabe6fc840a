"""python -m tensorflow_ext prepare: a model whose gradients need no call."""

import contextlib
import io
import pathlib

import pytest
import tensorflow as tf
from c_client import Client, tensorflow_dir
from with_gradients import gradient, reversing, save

import tensorflow_ext as tfe
from tensorflow_ext import __main__ as command_line
from tensorflow_ext._runtime import _library


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), _library.PATH)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return save(tmp_path_factory.mktemp("reversed"), reversing(-3.0))


@pytest.fixture(scope="module")
def prepared(model: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("prepared") / "model"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert command_line.main(["prepare", str(model), "--out", str(out)]) == 0
    assert said.getvalue() == "gradients of the model that are ready for every client: 1\n"
    return out


def test_needs_no_call(client: Client, prepared: pathlib.Path) -> None:
    assert gradient(client.load_saved_model(prepared, handed_over=False)) == -6


def test_tensorflow_reads_it_as_before(model: pathlib.Path, prepared: pathlib.Path) -> None:
    found = []
    for folder in (model, prepared):
        loaded = tf.saved_model.load(str(folder))
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loaded.f(x)["y"]
        slopes = tape.gradient(y, [x, loaded.w])
        found.append([float(y), *map(float, slopes)])
        assert sorted(loaded.signatures) == ["serving_default"]
    assert found[0] == found[1] == [2, -6, -3]


def test_again(prepared: pathlib.Path) -> None:
    before = (prepared / "saved_model.pb").read_bytes()
    tfe.prepare_saved_model(prepared)
    first = (prepared / "saved_model.pb").read_bytes()
    tfe.prepare_saved_model(prepared)
    assert (prepared / "saved_model.pb").read_bytes() == first
    assert len(first) == len(before)


def test_bad_input(
    model: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="expected a SavedModel"):
        tfe.prepare_saved_model(tmp_path)
    with pytest.raises(tf.errors.AlreadyExistsError, match="exists already"):
        tfe.prepare_saved_model(model, tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"no model")
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not a SavedModel"):
        tfe.prepare_saved_model(tmp_path)
    assert command_line.main(["prepare", str(tmp_path / "none")]) == 1
    assert "none/saved_model.pb is not there: expected a SavedModel" in capsys.readouterr().err
