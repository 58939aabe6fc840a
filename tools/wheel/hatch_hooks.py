"""Hooks for hatchling (pyproject.toml): which Bazel outputs the package holds, and which TensorFlow
and platform the wheel is therefore for."""

import os
import pathlib
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PACKAGE = pathlib.Path("python", "tensorflow_ext")
_LIBRARY = "libtensorflow_ext.so"

# The platform in the wheel's name; make_wheel.py asks auditwheel.
PLATFORM = "TENSORFLOW_EXT_WHEEL_PLATFORM"


def built_minors(root: pathlib.Path) -> list[str]:
    """The minor versions of TensorFlow that a tree has libraries for, oldest first."""
    folders = (root / _PACKAGE / "lib").glob(f"*/{_LIBRARY}")
    return sorted((path.parent.name for path in folders), key=numbers)


def numbers(minor: str) -> tuple[int, ...]:
    """A sort key for versions."""
    return tuple(int(number) for number in minor.split("."))


def requirement(minors: list[str]) -> str:
    """The TensorFlow versions that have libraries, as a pip specifier.

    It excludes versions between the oldest and the newest that have no library.
    """
    if not minors:
        return ""
    (major, first), (_, last) = numbers(minors[0]), numbers(minors[-1])
    missing = [
        f"{major}.{number}" for number in range(first, last) if f"{major}.{number}" not in minors
    ]
    excluded = "".join(f",!={minor}.*" for minor in missing)
    return f">={major}.{first},<{major}.{last + 1}{excluded}"


class MetadataHook(MetadataHookInterface):
    """The extras that install a TensorFlow version that has a library."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        range_ = requirement(built_minors(pathlib.Path(self.root)))
        metadata["optional-dependencies"] = {
            "tensorflow": [f"tensorflow{range_}"],
            "tensorflow-cpu": [f"tensorflow-cpu{range_}"],
            # Needed by `python -m tensorflow_ext wrappers`.
            "wrappers": ["jinja2"],
        }


class BuildHook(BuildHookInterface):
    """The wheel's tag; refuses a tree in which nothing is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = pathlib.Path(self.root)
        platform = os.environ.get(PLATFORM)
        headers = root / _PACKAGE / "include" / "tensorflow_ext" / "version.h"
        if not platform or not built_minors(root) or not headers.is_file():
            raise RuntimeError(
                "a wheel of tensorflow_ext contains headers and libraries that Bazel builds, "
                f"and {root / _PACKAGE} lacks them: use ./run wheel"
            )
        build_data["pure_python"] = False
        # Any Python version works, because Python calls the library through its C interface.
        build_data["tag"] = f"py3-none-{platform}"
