"""The requirements of steps, and the reasons why one is missing."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def python_folders() -> list[str]:
    """Folders of Pythons that pyenv or uv installed beside the system's."""
    home = pathlib.Path(os.environ.get("HOME", "/"))
    found = []
    for version in PYTHONS:
        for pattern in (
            f".pyenv/versions/{version}.*/bin",
            f".local/share/uv/python/cpython-{version}.*/bin",
        ):
            found += [str(folder) for folder in sorted(home.glob(pattern))]
    return found


def _runs(program: str) -> bool:
    return not subprocess.run([program, "--version"], capture_output=True, check=False).returncode


def search_path() -> str:
    """PATH, followed by the folders of Pythons.

    Omits folders whose Pythons do not run: pyenv has a program for each version that it installed,
    and the programs of versions that are not selected fail.
    """

    def has_broken(folder: str) -> bool:
        pythons = [shutil.which(f"python{v}", path=folder) for v in PYTHONS]
        return not all(map(_runs, filter(None, pythons)))

    folders = os.environ.get("PATH", "").split(os.pathsep)
    kept = [folder for folder in folders if not has_broken(folder)]
    return os.pathsep.join([*kept, *python_folders()])


def program(name: str) -> Callable[[], str]:
    """A program that must be found and must run."""

    def why() -> str:
        found = shutil.which(name, path=search_path())
        if not found:
            return f"{name} is missing"
        return "" if _runs(found) else f"{found} does not run"

    return why


def gpu() -> str:
    """An NVIDIA GPU, detected by the files of its driver."""
    if not shutil.which("nvidia-smi"):
        return "no GPU found (no nvidia-smi)"
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return "" if "GPU 0" in done.stdout else "no GPU found (nvidia-smi lists none)"


def root() -> str:
    return "" if os.geteuid() == 0 else "needs root"


@functools.cache
def _available(package: str) -> list[str]:
    """The versions of a package that pip finds, newest first."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package, "--pre"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return found[1].split(", ") if found else []


def candidate(minor: str) -> Callable[[], str]:
    """A TensorFlow newer than the newest one that the tree supports."""

    def numbers(version: str) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", version)[:2]))

    def why() -> str:
        for package in ("tensorflow-cpu", "tf-nightly-cpu"):
            versions = _available(package)
            if any(numbers(version) > numbers(minor) for version in versions[:1]):
                return ""
        return f"the registry has no TensorFlow newer than {minor}, or cannot be reached"

    return why
