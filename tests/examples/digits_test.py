"""The digits network trains in each language as it does in Python, step by step."""

import pathlib
from typing import NamedTuple

import languages
import network
import numpy as np
import programs
import pytest
from sampling import of_commit

STEPS = 200
BATCH = 64
TOLERANCE = 1e-5


class Training(NamedTuple):
    """The files for the programs, and Python's results for the same network."""

    folder: pathlib.Path
    losses: np.ndarray
    accuracy: float


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    folder = tmp_path_factory.mktemp("digits")
    data = network.make_data(STEPS, BATCH)
    digits = network.make_network()
    programs.write(folder, data)
    losses, accuracy = network.train(digits, data, lambda loss: None)
    assert losses[-1] < losses[0] / 2
    return Training(folder, losses, accuracy)


# Each commit runs two languages, the release check all.
@pytest.mark.parametrize("language", of_commit("digits", programs.LANGUAGES, 2))
def test_trains_as_python_does(language: str, training: Training) -> None:
    if not languages.is_built(language, "train_digits"):
        pytest.skip(f"no toolchain for {language}")
    losses = list(programs.train(language, training.folder))
    assert len(losses) == STEPS
    np.testing.assert_allclose(losses, training.losses, rtol=TOLERANCE, atol=0)
    if language in ("C++", "Java"):  # The others only train.
        assert programs.read(training.folder / "accuracy") == training.accuracy


@pytest.mark.parametrize("content", [b"", b"\1", np.arange(9).tobytes()])
def test_errors_name_the_problem(content: bytes, tmp_path: pathlib.Path) -> None:
    (tmp_path / "settings").write_bytes(content)
    with pytest.raises(RuntimeError, match=r"settings: expected a tensor"):
        list(programs.train("C++", tmp_path))
