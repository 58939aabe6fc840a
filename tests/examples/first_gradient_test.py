"""The first programs of docs/go.md and docs/rust.md print the gradients that the pages show."""

import os
import subprocess

import pytest

from tensorflow_ext import sysconfig

_PROGRAMS = dict(pair.split("=") for pair in os.environ["PROGRAMS"].split())
_EXPECTED = {
    "Go": "[0 0.8650984] [0.6 1.0490363]\n",
    "Rust": """\
pooled [4.0]
gradient for the data [0.0, 1.0, 0.0, 0.0]
from an upstream gradient [0.0, 10.0, 0.0, 0.0]
""",
}


def _run(language: str, library: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_PROGRAMS[language]],
        env={**os.environ, "TENSORFLOW_EXT_LIBRARY": library},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("language", _PROGRAMS)
def test_prints_the_gradients(language: str) -> None:
    done = _run(language, f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    assert done.returncode == 0, done.stderr
    assert done.stdout == _EXPECTED[language]


@pytest.mark.parametrize("language", _PROGRAMS)
def test_a_missing_library_is_named(language: str) -> None:
    done = _run(language, "/nowhere.so")
    assert done.returncode == 1
    assert "/nowhere.so" in done.stderr
