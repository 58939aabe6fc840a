"""Models that JAX exports: the C API's gradients against those of jax.grad.

make_jax_models.py made the models and the gradients, so no test needs JAX.

Environment:
  PARITY_LIBRARY  libtensorflow_ext.so
"""

import json
import os
import pathlib
import zipfile
from typing import Any

import numpy as np
import pytest
from parity import Outcome, deviation, run_client, run_program
from protocol import PROGRAMS, find_program
from sampling import of_commit

FOLDER = pathlib.Path(__file__).absolute().parent / "exported_by_jax"
NAMES = sorted(archive.stem for archive in FOLDER.glob("*.zip"))

# Keras writes the state of a model on JAX back to its variables, even if it has not changed. So the
# function may not run again, and its calls must be inlined.
ERRORS = dict.fromkeys(["keras_convolution", "keras_transformer"], "of op AssignVariableOp")
# TensorFlow saves the gradients of a model's functions, but not those of the functions of these
# gradients.
SECOND_ERROR = "The model does not have this gradient"

# Unit roundoffs, relative to the largest magnitude of the expected gradient. XLA compiles the same
# module on both sides.
ROUNDOFFS = 200


def task(name: str, folder: pathlib.Path) -> dict[str, Any]:
    """The task of the client process (parity_client.client_results), with JAX's "gradients"."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(folder)
    names = json.loads((folder / "names.json").read_text())
    feeds = dict(np.load(folder / "values.npz"))
    gradients = [feeds.pop(f"gradient {x}") for x in names["xs"]]
    return {
        **names,
        "saved_model": str(folder),
        "graph": (folder / "placeholders.pb").read_bytes(),
        "feeds": feeds,
        "gradients": gradients,
        "numeric": (False, False),
        "second_order": True,
        "inlined": True,
    }


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    found = {}
    for name in NAMES:
        case: Any = name  # not one of parity.Case
        found[name] = Outcome(case, task(name, tmp_path_factory.mktemp(name)))
    run_client(list(found.values()), os.environ["PARITY_LIBRARY"], None)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_first_order(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    assert not outcome.problems
    check(outcome, outcome.result["first"], outcome.result.get("error"), ERRORS.get(name))


@pytest.mark.parametrize("name", NAMES)
def test_calls_inlined(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    error = outcome.result.get("inlined_error")
    check(outcome, outcome.result.get("inlined"), error, None)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ERRORS])
def test_no_second_order(name: str, outcomes: dict[str, Outcome]) -> None:
    assert SECOND_ERROR in outcomes[name].result["second_error"]


@pytest.mark.parametrize("language", PROGRAMS)
def test_languages(language: str, outcomes: dict[str, Outcome]) -> None:
    """Each commit runs a model in one language, the release check in all."""
    chosen = [
        outcome
        for name, outcome in outcomes.items()
        if name not in ERRORS and language in of_commit(name, PROGRAMS)
    ]
    program = find_program(language)
    for outcome in run_program(chosen, program, os.environ["PARITY_LIBRARY"]):
        check(outcome, outcome.result["first"], outcome.result.get("error"), None)


def check(outcome: Outcome, found: Any, error: str | None, expected_error: str | None) -> None:
    if expected_error is not None:
        assert expected_error in str(error)
        return
    assert error is None
    for x, gradient, expected in zip(
        outcome.task["xs"], found, outcome.task["gradients"], strict=True
    ):
        assert gradient.dtype == expected.dtype
        size = deviation(gradient, expected, whole=True)
        assert size <= ROUNDOFFS * np.finfo(expected.dtype).eps / 2, x
