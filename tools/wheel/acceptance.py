"""Checks an installed wheel in its interpreter.

The programs see nothing of the checkout: they run in separate folders, with few environment
variables.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable

import programs

# A separate repository: it needs nothing from this one.
_YOUR_OP = pathlib.Path(__file__).absolute().parents[2] / "examples" / "your_op"


class AcceptanceError(Exception):
    """A check that an installed wheel failed."""


@dataclasses.dataclass
class Installed:
    """An interpreter that has a wheel.

    Attributes:
      python: The interpreter of a virtual environment.
      folder: An empty folder, in which programs run.
      pip: The command that runs this environment's pip.
      before: The other files of the environment, from files_of.
    """

    python: pathlib.Path
    folder: pathlib.Path
    pip: list[str]
    before: set[str]

    @property
    def prefix(self) -> pathlib.Path:
        """The folder of the environment."""
        return self.python.parent.parent

    def run(self, *command: str | pathlib.Path) -> str:
        """The output of a command, which gets none of our environment variables.

        Raises:
          AcceptanceError: It fails.
        """
        done = self.attempt(*command)
        if done.returncode:
            raise AcceptanceError(
                f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done.stdout

    def attempt(self, *command: str | pathlib.Path) -> subprocess.CompletedProcess[str]:
        """Runs a command that may fail. COMPILER_PATH chooses a linker."""
        return subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "PYTHONWARNINGS": "ignore",
                **{k: v for k, v in os.environ.items() if k == "COMPILER_PATH"},
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def program(self, source: str, *arguments: str) -> str:
        """The output of a Python program."""
        return self.run(self.python, "-I", "-c", source, *arguments)

    def library_folder(self) -> pathlib.Path:
        """The folder of the library for the installed TensorFlow."""
        packages = self.program(programs.TENSORFLOW).splitlines()[-1]
        version, _, folder = packages.partition(" ")
        minor = ".".join(version.split(".")[:2])
        return pathlib.Path(folder, "tensorflow_ext", "lib", minor)

    def write(self, name: str, text: str) -> pathlib.Path:
        """Writes a file for a compiler."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def command(self, *arguments: str) -> str:
        """The output of `python -m tensorflow_ext`."""
        return self.run(self.python, "-I", "-m", "tensorflow_ext", *arguments)


def files_of(prefix: pathlib.Path) -> set[str]:
    """The files below an environment, except those that Python compiled by itself."""
    return {
        path.relative_to(prefix).as_posix()
        for path in prefix.rglob("*")
        if "__pycache__" not in path.parts or "tensorflow_ext" in path.parts
    }


def _expect(wanted: str, output: str) -> None:
    if not re.search(wanted, output, re.MULTILINE):
        raise AcceptanceError(f"expected {wanted!r} in\n{output}")


def _python(installed: Installed) -> None:
    """Metadata, eager mode, tf.function, XLA, a Keras layer."""
    source = programs.METADATA + programs.GRADIENTS + programs.KERAS
    _expect("^fine$", installed.program(source))
    checked = installed.attempt(*installed.pip, "check")
    wrong = [line for line in checked.stdout.splitlines() if "tensorflow-ext" in line]
    if wrong:
        raise AcceptanceError(f"pip check: {wrong}")


def _explain(installed: Installed) -> None:
    drawing = installed.folder / "relu.svg"
    output = installed.command("explain", "TfExt>Relu", "--draw", str(drawing))
    _expect("TfExt>ReluGrad", output)
    _expect("<svg", drawing.read_text(encoding="utf-8"))


def _config(installed: Installed) -> None:
    """Every language; each named file must be in the environment."""
    output = installed.program(programs.CONFIG, str(installed.folder))
    _expect("^fine$", output)


def _c(installed: Installed) -> None:
    """The printed flags; then any TensorFlow's loader, and the library."""
    source = installed.write("client.c", programs.C_CLIENT)
    flags = installed.command("config", "--c").split()
    installed.run("cc", "-Wall", "-Werror", source, *flags, "-o", "client")
    library = installed.library_folder() / "libtensorflow_ext.so"
    loader = installed.library_folder().with_name("libtensorflow_ext_loader.so")
    for path in (loader, library):
        _expect(r"^\[0, 1\]$", installed.run("./client", path))


def _op_library(installed: Installed) -> None:
    """Compiles a C++ file with the flags of tensorflow_ext.sysconfig, and loads it."""
    source = installed.write("cube.cc", programs.OP_LIBRARY)
    compiling, linking = installed.program(programs.FLAGS).split("\n")
    library = installed.folder / "libcube.so"
    flags = [*compiling.split("\0"), "-O0", *linking.split("\0")]
    installed.run("g++", source, "-o", library, *flags)
    _expect("^fine$", installed.program(programs.LOAD_OP_LIBRARY, str(library)))


def _another_tensorflow(installed: Installed) -> None:
    """One sentence, if there is no library for the imported TensorFlow."""
    folder = installed.library_folder()
    other = folder.with_name("2.0")
    folder.rename(other)
    try:
        done = installed.attempt(installed.python, "-I", "-c", "import tensorflow_ext")
    finally:
        other.rename(folder)
    last = done.stderr.rstrip().splitlines()[-1]
    _expect(rf"^ImportError: .*TensorFlow 2\.0[ ,].* not for {folder.name}\.", last)


def _wrappers(installed: Installed) -> None:
    """Typed ops for each language, from the wheel's templates."""
    for language, name, wanted in (
        ("--cxx", "ops.h", "^class Mish"),
        ("--go", "ops.go", "^func Mish"),
        ("--rust", "ops.rs", "^pub struct Mish"),
    ):
        path = installed.folder / name
        installed.command("wrappers", language, "--write", str(path))
        _expect(wanted, path.read_text(encoding="utf-8"))


def _your_op(installed: Installed) -> None:
    """examples/your_op, built with only the compiler."""
    folder = shutil.copytree(_YOUR_OP, installed.folder / "your_op")
    python = f"PYTHON={installed.python}"
    installed.run("env", python, folder / "build.sh", folder)
    library = folder / "libyour_op.so"
    test = folder / "squareplus_test.py"
    _expect("^fine$", installed.run(installed.python, test, library))
    ours = installed.library_folder() / "libtensorflow_ext.so"
    output = installed.run(folder / "client", ours, library)
    _expect(r"^dy/dx +0\.211325 +0\.500000 +0\.908248$", output)


def _uninstall(installed: Installed) -> None:
    """Nothing is left. Must be the last check, because it removes the package."""
    installed.run(*installed.pip, "uninstall", "--yes", "tensorflow_ext")
    changed = sorted(files_of(installed.prefix) ^ installed.before)
    if changed:
        raise AcceptanceError(f"uninstalling leaves, or takes with it, {changed}")


#: The checks.
CHECKS: dict[str, Callable[[Installed], None]] = {
    "python": _python,
    "explain": _explain,
    "config": _config,
    "c": _c,
    "op_library": _op_library,
}

#: Checks that take longer, or that other tests also cover.
LONG_CHECKS: dict[str, Callable[[Installed], None]] = {
    "another_tensorflow": _another_tensorflow,
    "wrappers": _wrappers,
    "your_op": _your_op,
}

#: The last checks, because they remove the package.
LAST_CHECKS: dict[str, Callable[[Installed], None]] = {"uninstall": _uninstall}
