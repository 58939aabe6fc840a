"""Files that the tests use, and programs in processes of their own.

The processes are forked from one that has only imported TensorFlow, because the import takes most
of the time of a new process.
"""

import multiprocessing
import os
import pathlib
import sys
import tempfile
import textwrap


def other_library() -> str:
    """The op library of other_ops.cc."""
    return built_library("python", "libother_ops.so")


def built_library(folder: str, name: str) -> str:
    """A library that the tests in a neighbouring folder build."""
    tests = pathlib.Path(__file__).absolute().parents[1]
    built = tests.parent / "bazel-bin" / "tests"
    for parent in (tests, built):
        if (parent / folder / name).is_file():
            return str(parent / folder / name)
    raise FileNotFoundError(f"Build it first: bazel build //tests/{folder}:{name}")


def run(program: str, *arguments: str, package: pathlib.Path | None = None) -> str:
    """Runs a program in a process that has not imported tensorflow_ext.

    Args:
      program: Its source, which may be indented as a whole.
      *arguments: The elements of sys.argv.
      package: The folder that `import tensorflow_ext` uses, if not this process's.

    Returns:
      The program's output.

    Raises:
      AssertionError: The program fails; the message has its output.
    """
    folder = str(package.parent) if package else None
    with tempfile.TemporaryDirectory() as scratch:
        printed, errors = (pathlib.Path(scratch, name) for name in ("out", "err"))
        process = FORK_SERVER.Process(
            target=_execute, args=(textwrap.dedent(program), arguments, folder, printed, errors)
        )
        process.start()
        process.join()
        output = printed.read_text()
        assert process.exitcode == 0, f"{process.exitcode}\n{output}\n{errors.read_text()}"
    return output


FORK_SERVER = multiprocessing.get_context("forkserver")
FORK_SERVER.set_forkserver_preload(["numpy", "tensorflow"])


def _execute(
    program: str,
    arguments: tuple[str, ...],
    folder: str | None,
    printed: pathlib.Path,
    errors: pathlib.Path,
) -> None:
    for descriptor, path in ((1, printed), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
    assert "tensorflow_ext" not in sys.modules
    if folder:
        sys.path.insert(0, folder)
    sys.argv = ["", *arguments]
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
