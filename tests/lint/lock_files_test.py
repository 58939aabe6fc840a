# SPDX-License-Identifier: Apache-2.0
"""The lock files, one for each TensorFlow, and what docs/compatibility.md says."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
VERSIONS = [
    line
    for line in (REQUIREMENTS / "tensorflow_versions.txt").read_text().splitlines()
    if not line.startswith("#")
]
PACKAGES = ("tensorflow-cpu", "tensorflow")

every_lock = pytest.mark.parametrize("package", PACKAGES)
every_version = pytest.mark.parametrize("version", VERSIONS)


def _read(package: str, version: str) -> str:
    minor = version.rpartition(".")[0]
    return (REQUIREMENTS / f"{package}-{minor}.txt").read_text()


def _versions(lock: str, package: str) -> list[str]:
    """Of a package in a lock file, those for older Pythons first."""
    return re.findall(rf"^{package}==(\S+)", lock, re.MULTILINE)


def _pythons(lock: str) -> list[str]:
    return re.findall(r"^# Pythons: (.*)$", lock, re.MULTILINE)[0].split()


@every_lock
@every_version
def test_lock_file(package: str, version: str) -> None:
    lock = _read(package, version)
    assert _versions(lock, package) == [version]
    assert _pythons(lock)[:3] == ["3.10", "3.11", "3.12"]
    # Whatever is to be installed can be checked, and is for this system alone.
    for block in re.split(r"\n(?=\w)", lock)[1:]:
        assert "--hash=sha256:" in block
        assert "sys_platform == 'linux'" in block


@every_lock
@every_version
def test_tools_are_the_same_for_all(package: str, version: str) -> None:
    tools = re.findall(r"^[a-z]\S*?(?===|$)", (REQUIREMENTS / "tools.in").read_text(), re.M)
    assert "ruff" in tools
    for tool in set(tools) - {"tf_keras"}:
        newest = _versions(_read(PACKAGES[0], VERSIONS[-1]), tool)
        assert newest
        assert _versions(_read(package, version), tool) == newest


@every_version
def test_documented_versions(version: str) -> None:
    lock = _read(PACKAGES[0], version)
    text = (ROOT / "docs" / "compatibility.md").read_text()
    (row,) = re.findall(rf"^\| {re.escape(version)} \| (.*) \|$", text, re.MULTILINE)
    found = [
        _pythons(lock),
        *(_versions(lock, name) for name in ("keras", "tf-keras", "numpy", "protobuf")),
    ]
    assert row.split(" | ")[:5] == [", ".join(versions) for versions in found]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
