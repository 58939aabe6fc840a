"""The languages of this folder, and the programs that Bazel builds for them."""

import os
import pathlib

# The folders. languages.bzl has them, too.
LANGUAGES = {"C++": "cxx", "C": "c", "Go": "go", "Rust": "rust", "Java": "java"}

_HERE = pathlib.Path(__file__).absolute().parent
# ./run sets the folder of Bazel's output. In the file tree of a test, programs are in _HERE.
_BUILT = pathlib.Path(os.environ.get("BAZEL_BIN", _HERE.parent / "bazel-bin"), "bindings")


def find(language: str, program: str) -> pathlib.Path:
    """A program of a language, or a library of one.

    Raises:
      FileNotFoundError: It is not built.
    """
    name = LANGUAGES[language]
    for folder in (_HERE, _BUILT):
        if (folder / name / program).is_file():
            return folder / name / program
    raise FileNotFoundError(
        f"bindings/{name}/{program} is not built: run './run build //bindings/{name}:{program}'"
    )


def with_program(program: str) -> tuple[str, ...]:
    """C and C++, which every test needs, and the other languages in which a program is built."""
    return tuple(name for name in LANGUAGES if name in ("C", "C++") or is_built(name, program))


def is_built(language: str, program: str) -> bool:
    """True if `find` finds it."""
    try:
        find(language, program)
    except FileNotFoundError:
        return False
    return True
