# SPDX-License-Identifier: Apache-2.0
"""Puts together what a wheel holds: the package, what Bazel built of it, headers."""

import pathlib
import shutil
import subprocess

PACKAGE = pathlib.Path("python", "tensorflow_ext")
LIBRARY = "libtensorflow_ext.so"
LOADER = "libtensorflow_ext_loader.so"
ARCHIVES = ("libtensorflow_ext_formula.a", "libtensorflow_ext_kernels.a")

# What hatchling reads, and what goes into the wheel's metadata.
_PROJECT = (
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "tensorflow_ext/version.h",
    "tools/wheel/hatch_hooks.py",
)

# Of the package; beside these there is only what a build writes.
_SUFFIXES = {".cmake", ".jinja", ".py", ".typed"}


class StagingError(Exception):
    """A file that belongs into the wheel is not there; says which."""


def stage(root: pathlib.Path, folder: pathlib.Path, minors: list[str], headers: list[str]) -> None:
    """Copies a tree that is built, as hatchling is to see it.

    Args:
      root: The tree: a checkout, or Bazel's runfiles.
      folder: Where it goes, which is to be empty.
      minors: The minor versions of TensorFlow whose libraries go into the wheel.
      headers: Paths of the public headers.

    Raises:
      StagingError: Something is not there.
    """
    for name in _PROJECT:
        _copy(root / name, folder / name)
    package = folder / PACKAGE
    for path in sorted((root / PACKAGE).rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            _copy(path, folder / path.relative_to(root))
    for name in headers:
        # Written ones lie in the package where Bazel's own folder is not at hand.
        candidates = [root / PACKAGE / "include" / name, root / name]
        found = [path for path in candidates if path.is_file()]
        _copy(found[0] if found else root / name, package / "include" / name)
    built = [f"{minor}/{name}" for minor in minors for name in (LIBRARY, *ARCHIVES)]
    for name in (LOADER, *built):
        copy = package / "lib" / name
        _copy(root / PACKAGE / "lib" / name, copy)
        _strip(copy)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    if not source.is_file():
        raise StagingError(f"there is no {source}: build it with './run build'")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    # What a build has made executable need not be: nothing here is run.
    target.chmod(0o644)


def _strip(file: pathlib.Path) -> None:
    """Leaves out the names that only debuggers read: a sixth of a library."""
    kind = "--strip-unneeded" if file.suffix == ".so" else "--strip-debug"
    subprocess.run(["strip", kind, "--enable-deterministic-archives", file], check=True)
