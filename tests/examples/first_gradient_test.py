"""The first programs of docs/go.md and docs/rust.md print the gradients that the pages show."""

import os

import commands
import pytest

from tensorflow_ext import sysconfig

_PROGRAMS = dict(pair.split("=") for pair in os.environ["FIRST_GRADIENTS"].split())
_EXPECTED = {
    "Go": "[0 0.8650984] [0.6 1.0490363]\n",
    "Rust": """\
pooled [4.0]
gradient for the data [0.0, 1.0, 0.0, 0.0]
from an upstream gradient [0.0, 10.0, 0.0, 0.0]
""",
}


def _run(language: str, library: str, **options: bool) -> str:
    environment = {**os.environ, "TENSORFLOW_EXT_LIBRARY": library}
    return commands.run(_PROGRAMS[language], env=environment, **options)


@pytest.mark.parametrize("language", _PROGRAMS)
def test_prints_the_gradients(language: str) -> None:
    printed = _run(language, f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    assert printed == _EXPECTED[language]


@pytest.mark.parametrize("language", _PROGRAMS)
def test_a_missing_library_is_named(language: str) -> None:
    assert "/nowhere.so" in _run(language, "/nowhere.so", fails=True)
