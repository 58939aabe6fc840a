"""All differences between versions of TensorFlow are in compatibility.h, which compiles against the
oldest version's headers. `./run test` puts those into the environment.
"""

import pathlib
import re
import subprocess
import sys

import pytest
import tensorflow as tf
from commit_sampling import by_turns

from tensorflow_ext import sysconfig

_ROOT = pathlib.Path(sysconfig.get_include())

# These include XLA's headers, check the version, or use what TensorFlow's classes are inside. One
# file includes them with the public headers, so TensorFlow's headers are compiled once.
_SOURCES = (
    "tensorflow_ext/graph_marks/no_gradient_op.cc",
    "tensorflow_ext/xla/lowering.cc",
    "tensorflow_ext/xla/xla_op.cc",
)
_COMPATIBILITY = '#include "tensorflow_ext/base/compatibility.h"\n'
_VERSIONS = re.findall(
    r"^2\.(\d+)", pathlib.Path("requirements", "tensorflow_versions.txt").read_text(), re.MULTILINE
)
_OLDEST, _NEWEST = _VERSIONS[0], _VERSIONS[-1]


def _compile(tmp_path: pathlib.Path, text: str, headers: pathlib.Path) -> tuple[bool, str]:
    """True if `text` compiles against TensorFlow's headers in that folder, and the compiler's
    output.
    """
    own = tf.sysconfig.get_include()
    flags = sysconfig.get_compile_flags(op_library=True)
    source = tmp_path / "source.cc"
    source.write_text(text)
    done = subprocess.run(
        [
            *("g++", "-fsyntax-only", "-Wall", "-Werror"),
            *(flag.replace(own, str(headers)) for flag in flags),
            source,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stderr


def _stated(minor: str) -> str:
    return f"{_COMPATIBILITY}static_assert(TENSORFLOW_EXT_TENSORFLOW_MINOR == {minor});\n"


@by_turns(4, ".h", "tensorflow_ext/xla/", "tensorflow_ext/tape/", *_SOURCES, "requirements/")
def test_version_dependent_code_compiles_against_the_oldest(tmp_path: pathlib.Path) -> None:
    headers = (_ROOT / "tensorflow_ext").rglob("*.h")
    included = sorted(str(path.relative_to(_ROOT)) for path in headers)
    assert "tensorflow_ext/kernels/elementwise_op.h" in included
    tape = sorted(str(path.relative_to(_ROOT)) for path in _ROOT.glob("tensorflow_ext/tape/*.cc"))
    assert "tensorflow_ext/tape/recorder.cc" in tape
    text = "".join(f'#include "{name}"\n' for name in [*included, *_SOURCES, *tape])
    oldest = pathlib.Path(sys.prefix, f"tensorflow-2.{_OLDEST}", "include")
    assert oldest.is_dir(), f"there is no {oldest}: ./run test puts it there"
    compiles, said = _compile(tmp_path, text + _stated(_OLDEST), oldest)
    assert compiles, said


def test_the_header_knows_this_version(tmp_path: pathlib.Path) -> None:
    headers = pathlib.Path(tf.sysconfig.get_include())
    compiles, said = _compile(tmp_path, _stated(tf.__version__.split(".")[1]), headers)
    assert compiles, said
    # Otherwise the checks above would prove nothing.
    assert not _compile(tmp_path, _stated("1"), headers)[0]


@pytest.mark.parametrize(
    ("day", "compiles", "sentence"),
    [(1900, False, f"older than 2.{_OLDEST}"), (9999, True, f"newer than 2.{_NEWEST}")],
)
def test_other_versions_are_named(
    day: int, compiles: bool, sentence: str, tmp_path: pathlib.Path
) -> None:
    public = tmp_path / "tensorflow" / "core" / "public"
    public.mkdir(parents=True)
    public.joinpath("version.h").write_text(f"#define TF_GRAPH_DEF_VERSION {day}\n")
    does, said = _compile(tmp_path, _COMPATIBILITY, tmp_path)
    assert does == compiles
    assert sentence in said
    assert compiles == ("tensorflow_ext/base/compatibility.h and" in said)
