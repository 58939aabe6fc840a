# SPDX-License-Identifier: Apache-2.0
"""What differs between versions of TensorFlow is in compatibility.h, and compiles
against the oldest one's headers, which `./run test` puts into the environment."""

import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from tensorflow_ext import sysconfig

_ROOT = pathlib.Path(sysconfig.get_include())

# What includes XLA's headers, or asks for the version, beside the public headers, which
# are compiled too. All in one file, which costs the headers once.
_SOURCES = (
    "tensorflow_ext/gradient/no_gradient_op.cc",
    "tensorflow_ext/xla/lowering.cc",
    "tensorflow_ext/xla/xla_op.cc",
)
_VERSIONS = pathlib.Path("requirements", "tensorflow_versions.txt")
_COMPATIBILITY = '#include "tensorflow_ext/compatibility.h"\n'


def _versions() -> list[str]:
    lines = [line.partition("#")[0].strip() for line in _VERSIONS.open()]
    return [line for line in lines if line]


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _oldest_headers() -> pathlib.Path:
    folder = pathlib.Path(sys.prefix, f"tensorflow-2.{_minor(_versions()[0])}")
    headers = folder / "include"
    assert headers.is_dir(), f"there is no {headers}: ./run test puts it there"
    return headers


def _compile(
    tmp_path: pathlib.Path, text: str, headers: pathlib.Path, *flags: str
) -> subprocess.CompletedProcess[str]:
    """Compiles `text` against TensorFlow's headers of that folder, for errors alone."""
    own = tf.sysconfig.get_include()
    settings = [
        flag.replace(own, str(headers)) for flag in sysconfig.get_compile_flags(op_library=True)
    ]
    source = tmp_path / "source.cc"
    source.write_text(text)
    return subprocess.run(
        ["g++", "-fsyntax-only", "-Wall", "-Werror", *settings, *flags, source],
        capture_output=True,
        text=True,
        check=False,
    )


def _stated(minor: int) -> str:
    return f"{_COMPATIBILITY}static_assert(TENSORFLOW_EXT_TENSORFLOW_MINOR == {minor});\n"


def test_what_differs_compiles_against_the_oldest(tmp_path: pathlib.Path) -> None:
    headers = (_ROOT / "tensorflow_ext").rglob("*.h")
    included = sorted(str(path.relative_to(_ROOT)) for path in headers)
    assert "tensorflow_ext/kernels/elementwise_op.h" in included
    text = "".join(f'#include "{name}"\n' for name in [*included, *_SOURCES])
    done = _compile(tmp_path, text + _stated(_minor(_versions()[0])), _oldest_headers())
    assert not done.returncode, done.stderr


def test_the_header_knows_this_version(tmp_path: pathlib.Path) -> None:
    headers = pathlib.Path(tf.sysconfig.get_include())
    done = _compile(tmp_path, _stated(_minor(tf.__version__)), headers)
    assert not done.returncode, done.stderr
    # Else the above would show nothing.
    assert _compile(tmp_path, _stated(1), headers).returncode


@pytest.mark.parametrize(
    ("day", "compiles", "said"),
    [
        (1900, False, f"older than 2.{_minor(_versions()[0])}"),
        (9999, True, f"newer than 2.{_minor(_versions()[-1])}"),
    ],
)
def test_other_versions_are_named(
    day: int, compiles: bool, said: str, tmp_path: pathlib.Path
) -> None:
    public = tmp_path / "tensorflow" / "core" / "public"
    public.mkdir(parents=True)
    public.joinpath("version.h").write_text(f"#define TF_GRAPH_DEF_VERSION {day}\n")
    done = _compile(tmp_path, _COMPATIBILITY, tmp_path)
    assert (done.returncode == 0) == compiles
    assert said in done.stderr
    assert compiles == ("tensorflow_ext/compatibility.h and" in done.stderr)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
