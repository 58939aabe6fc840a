"""Collects the contents of a wheel: the packages, the files that Bazel built for it, headers."""

import os
import pathlib
import shutil
import subprocess

PACKAGE = pathlib.Path("python", "tensorflow_ext")
CODEGEN = pathlib.Path("python", "tensorflow_ext_codegen")
LIBRARY = "libtensorflow_ext.so"
LOADER = "libtensorflow_ext_loader.so"
ARCHIVES = ("libtensorflow_ext_formula.a", "libtensorflow_ext_kernels.a")

# Files that hatchling reads, and files for the wheel's metadata.
_PROJECT = (
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "tensorflow_ext/version.h",
    "tools/wheel/hatch_hooks.py",
)

# Suffixes of the packages' own files; a build writes all others.
_SUFFIXES = {".cmake", ".jinja", ".py", ".typed"}


class StagingError(Exception):
    """A file that belongs in the wheel is missing; the message names it."""


def stage(root: pathlib.Path, folder: pathlib.Path, minors: list[str], headers: list[str]) -> None:
    """Copies a built tree in the layout that hatchling expects.

    Args:
      root: The tree: a checkout, or Bazel's runfiles.
      folder: The destination, which must be empty.
      minors: The minor versions of TensorFlow whose libraries go into the wheel.
      headers: Paths of the public headers.

    Raises:
      StagingError: A file is missing.
    """
    for name in _PROJECT:
        _copy(root / name, folder / name)
    package = folder / PACKAGE
    for path in source_files(root):
        _copy(root / path, folder / path)
    for name in headers:
        # Generated files are in the package if Bazel's own folder is not available.
        candidates = [root / PACKAGE / "include" / name, root / name]
        found = [path for path in candidates if path.is_file()]
        _copy(found[0] if found else root / name, package / "include" / name)
    built = [f"{minor}/{name}" for minor in minors for name in (LIBRARY, *ARCHIVES)]
    for name in (LOADER, *built):
        copy = package / "lib" / name
        _copy(root / PACKAGE / "lib" / name, copy)
        _strip(copy)


def source_files(root: pathlib.Path) -> list[pathlib.Path]:
    """The packages' own files below a tree, with those of linked folders."""
    found = []
    for package in (PACKAGE, CODEGEN):
        for folder, _, names in os.walk(root / package, followlinks=True):
            found += [pathlib.Path(folder, name).relative_to(root) for name in names]
    return sorted(path for path in found if path.suffix in _SUFFIXES)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    if not source.is_file():
        raise StagingError(f"there is no {source}: build it with './run build'")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    # Built files need not be executable, because nothing here is run.
    target.chmod(0o644)


def _strip(file: pathlib.Path) -> None:
    """Removes the symbol names that only debuggers read: a sixth of a library."""
    kind = "--strip-unneeded" if file.suffix == ".so" else "--strip-debug"
    subprocess.run(["strip", kind, "--enable-deterministic-archives", file], check=True)
