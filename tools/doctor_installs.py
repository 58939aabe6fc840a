"""Tells ./run doctor what ./run would install.

Uses the lists that ./run itself uses: packages.txt and sizes.txt of tools/run.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).resolve().parent / "run"
# The systems on which ./run demo was run from nothing. Package names are Debian's.
TRIED = ("Debian 12", "Debian 13", "Ubuntu 24.04")


@dataclass
class Size:
    """A size in MB; None if it is unknown beforehand."""

    download: int | None
    disk: int | None

    def __str__(self) -> str:
        if self.disk is None:
            return "their sizes are known after apt-get update"
        if not self.download:
            return f"{self.disk:,} MB of disk"
        return f"{self.download:,} MB to download, {self.disk:,} MB of disk"


def _rows(name: str) -> Iterator[list[str]]:
    for line in (LISTS / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def system() -> str:
    """This system and its version: "Debian 12"; "an unknown system" if it has no name."""
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        return "an unknown system"
    said = dict(re.findall(r'^(NAME|VERSION_ID)="?([^"\n]*)"?$', text, re.MULTILINE))
    name = said.get("NAME", "an unknown system").split()[0]
    return f"{name} {said.get('VERSION_ID', '')}".strip()


def may_install() -> bool:
    """True if ./run may install system packages."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def missing_packages(command: str, venv: Path) -> list[str]:
    """The system packages that a command needs and that are missing.

    Args:
      command: "demo", which stands for every build, or "test".
      venv: The virtual environment, which may not exist yet.
    """
    missing = [
        package
        for needed_by, programs, package in _rows("packages.txt")
        if needed_by == command and not any(map(shutil.which, programs.split("|")))
    ]
    if command == "demo" and not (venv / "bin" / "python").exists():
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            major, minor = sys.version_info[:2]
            missing.insert(0, f"python{major}.{minor}-venv")
    return missing


def size_of_packages(packages: list[str]) -> Size:
    """The sizes that apt-get gives for packages and everything that they need."""
    command = ["apt-get", "-o", "Debug::NoLocking=1", "--assume-no"]
    command += ["--no-install-recommends", "install", *packages]
    try:
        said = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            text=True,
            timeout=60,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return Size(None, None)
    pattern = r"Need to get ([\d.,]+) ([kMG]?B).*?After this operation, ([\d.,]+) ([kMG]?B)"
    match = re.search(pattern, said, re.DOTALL)
    if not match:
        return Size(None, None)
    download, download_unit, disk, disk_unit = match.groups()
    return Size(_megabytes(download, download_unit), _megabytes(disk, disk_unit))


def _megabytes(number: str, unit: str) -> int:
    factor = {"B": 1e-6, "kB": 1e-3, "MB": 1, "GB": 1e3}[unit]
    return round(float(number.replace(",", "")) * factor)


def free_megabytes(folder: Path) -> int:
    """The free space on a folder's disk; the folder may not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // 1_000_000


def disk_of(folder: Path) -> int:
    """The number of the disk of a folder; the folder may not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev


def _there(name: str, venv: Path) -> bool:
    """True if an entry of sizes.txt is present already."""
    folders = {
        "packages_of_Python": venv / ".made-from",
        "packages_of_the_documentation": venv / ".docs-made-from",
        "build": venv.parent / "bazel-bin",
    }
    if name == "headers_to_test_against":
        return any(venv.glob("tensorflow-2.*/.made-from"))
    return name in folders and folders[name].exists()


def plan(command: str, venv: Path, cache: Path) -> tuple[list[str], bool]:
    """Lists the things that a command would install.

    Args:
      command: "demo", or "test", which installs what demo does and more.
      venv: The virtual environment.
      cache: The folder in which Bazel and ./run keep their output.

    Returns:
      Lines to print, none if everything is present, and true if the command would fail:
      because this user may not install packages, or because a disk is too small.
    """
    lines: list[str] = []
    fails = False
    takes: dict[int, tuple[Path, int]] = {}

    def take(folder: Path, size: Size) -> None:
        disk = disk_of(folder)
        first, sum_ = takes.get(disk, (folder, 0))
        takes[disk] = (first, sum_ + (size.disk or 0))

    packages = missing_packages(command, venv)
    if packages:
        size = size_of_packages(packages)
        take(Path("/usr"), size)
        lines.append(f"  {'apt-get':24}  {' '.join(packages)}")
        lines.append(f"  {'':24}  {size}")
        if not may_install():
            fails = command == "demo"
            lines.append(
                f"  {'':24}  not as this user: sudo apt-get install"
                f" --no-install-recommends {' '.join(packages)}"
            )
    for needed_by, name, where, download, disk in _rows("sizes.txt"):
        if needed_by != command or _there(name, venv):
            continue
        folder = {"VENV": venv, "CACHE": cache}[where]
        size = Size(int(download), int(disk))
        take(folder, size)
        lines.append(f"  {name.replace('_', ' '):24}  {size}, in {folder}")
    for folder, needed in takes.values():
        free = free_megabytes(folder)
        if free < needed:
            fails = True
        enough = "" if free >= needed else "TOO LITTLE: "
        lines.append(
            f"  {'together':24}  {needed:,} MB on the disk of {folder}; {enough}{free:,} MB free"
        )
    return lines, fails


def report(venv: Path) -> bool:
    """Prints what ./run demo and ./run test would install.

    Args:
      venv: The virtual environment.

    Returns:
      True if ./run demo would fail.
    """
    cache = Path(os.environ.get("CACHE") or Path.home() / ".cache" / "tensorflow_ext")
    here = system()
    tried = "" if here in TRIED else ", which is untested; these are Debian's package names"
    fails = False
    for command, said in (("demo", "./run demo"), ("test", "./run test also")):
        lines, wrong = plan(command, venv, cache)
        fails = fails or wrong
        if lines:
            print(f"\n{said} would install ({here}{tried}):", *lines, sep="\n")
    return fails
