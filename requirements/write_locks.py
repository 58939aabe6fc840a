"""Writes the lock files from uv's choices, as a part of requirements/update.

uv lists every wheel of a package. The lock files have a line for each pin, with the hashes of the
wheels that a CPython on Linux, x86-64, installs. Pins that both packages of a TensorFlow share are
in common-2.X.txt; pins that every TensorFlow shares are in common.txt.

    write_locks.py FOLDER

FOLDER has two files for each lock: NAME.toml, in the form of pylock.toml, and NAME.pythons.
The lock files go into the working directory.
"""

import itertools
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

import tomllib
from packaging.markers import Marker
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

_SYSTEM = {
    "platform_machine == 'x86_64'",
    "platform_python_implementation == 'CPython'",
    "sys_platform == 'linux'",
}
# The build host's C library does not matter, because pip checks each machine's own.
_PLATFORMS = r"any|(many)?linux.*_x86_64"


class Pin(NamedTuple):
    """A package in one version, with a marker for its Pythons."""

    name: str
    version: str
    marker: str


Lock = dict[Pin, set[str]]


def _marker(text: str, pythons: list[str]) -> str:
    """The part of a marker that selects among these Pythons."""
    minor = int(pythons[-1].removeprefix("3.")) + 1
    always = {*_SYSTEM, f"python_full_version < '3.{minor}'"}
    return " and ".join(part for part in text.split(" and ") if part not in always)


def _takes(python: str, marker: str) -> bool:
    """True if any release of this Python meets the marker."""
    releases = [f"{python}.0", f"{python}.99"]
    return not marker or any(
        Marker(marker).evaluate({"python_version": python, "python_full_version": release})
        for release in releases
    )


def _fits(wheel: str, python: str) -> bool:
    """True if this Python installs a wheel with this name."""
    version = tuple(map(int, python.split(".")))
    interpreter = f"cp{python.replace('.', '')}"
    tags = itertools.chain(
        cpython_tags(version, [interpreter], ["any"]),
        compatible_tags(version, interpreter, ["any"]),
    )
    takes = {(tag.interpreter, tag.abi) for tag in tags}
    return any(
        (tag.interpreter, tag.abi) in takes and re.fullmatch(_PLATFORMS, tag.platform)
        for tag in parse_wheel_filename(wheel)[3]
    )


def _hashes(package: dict[str, Any], pythons: Iterable[str]) -> set[str]:
    """The hashes of the wheels that these Pythons install; each Python must have a wheel."""
    wheels = {
        unquote(wheel["url"].rpartition("/")[2]): wheel["hashes"]["sha256"]
        for wheel in package["wheels"]
    }
    found = set()
    for python in pythons:
        fitting = {wheels[wheel] for wheel in wheels if _fits(wheel, python)}
        if not fitting:
            raise ValueError(f"{package['name']} {package['version']}: no wheel for {python}")
        found |= fitting
    return found


def _read(file: pathlib.Path, pythons: list[str]) -> Lock:
    lock: Lock = {}
    for package in tomllib.loads(file.read_text())["packages"]:
        marker = _marker(package.get("marker", ""), pythons)
        hashes = _hashes(package, [python for python in pythons if _takes(python, marker)])
        lock[Pin(package["name"], package["version"], marker)] = hashes
    return lock


def _take_common(locks: list[Lock]) -> Lock:
    """Moves the pins that all of the locks share into one lock."""
    common = [pin for pin in locks[0] if all(pin in lock for lock in locks)]
    return {pin: set.union(*(lock.pop(pin) for lock in locks)) for pin in common}


def _write(name: str, lock: Lock, about: str, includes: str = "") -> None:
    lines = about.splitlines()
    if includes:
        lines.append(f"-r {includes}.txt")
    for pin, hashes in lock.items():
        marker = f" ; {pin.marker}" if pin.marker else ""
        options = "".join(f" --hash=sha256:{value}" for value in sorted(hashes))
        lines.append(f"{pin.name}=={pin.version}{marker}{options}")
    pathlib.Path(f"{name}.txt").write_text("\n".join(lines) + "\n")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    pythons = {file.stem: file.read_text().split() for file in sorted(folder.glob("*.pythons"))}
    locks = {name: _read(folder / f"{name}.toml", of_it) for name, of_it in pythons.items()}
    made = "Made by requirements/update for CPython on Linux, x86-64"
    pairs = {}
    for name in locks:
        if name.startswith("tensorflow-cpu-"):
            minor = name.removeprefix("tensorflow-cpu-")
            pairs[minor] = _take_common([locks[name], locks[f"tensorflow-{minor}"]])
    _write("common", _take_common([*pairs.values()]), f"# {made}: the pins of every TensorFlow.")
    for minor, lock in pairs.items():
        about = f"# {made}: the pins of both packages."
        _write(f"common-{minor}", lock, about, "common")
    for name, lock in locks.items():
        minor = name.rpartition("-")[2]
        about = f"# Pythons: {' '.join(pythons[name])}\n# {made}."
        _write(name, lock, about, f"common-{minor}" if minor in pairs else "")


if __name__ == "__main__":
    main()
