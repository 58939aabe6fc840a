"""Where the compiled parts of the benchmarks are."""

import pathlib


def find(name: str) -> str:
    """The path of a shared library of this folder: beside this file where Bazel runs
    it, else where Bazel has built it.

    Args:
      name: the library's file, as in `libshards.so`.
    """
    here = pathlib.Path(__file__)
    beside = here.with_name(name)
    built = here.resolve().parents[1] / "bazel-bin" / here.parent.name / name
    return str(beside if beside.exists() else built)
