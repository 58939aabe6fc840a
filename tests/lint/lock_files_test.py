"""The lock files, one for each TensorFlow, and the versions in docs/compatibility.md."""

import itertools
import re
import sys
from pathlib import Path

import commands
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
needs_tomllib = pytest.mark.skipif(sys.version_info < (3, 11), reason="write_locks.py needs it")
every_version = pytest.mark.parametrize("version", VERSIONS)


def _with_included(name: str) -> str:
    """A lock file, with the text of each file that it includes in place of its -r line."""
    text = (REQUIREMENTS / name).read_text()
    return re.sub(r"^-r (\S+)\n", lambda found: _with_included(found[1]), text, flags=re.MULTILINE)


def _read(package: str, version: str) -> str:
    minor = version.rpartition(".")[0]
    return _with_included(f"{package}-{minor}.txt")


def _versions(lock: str, package: str) -> list[str]:
    """The versions of a package in a lock file, those for older Pythons first."""
    return re.findall(rf"^{package}==(\S+)", lock, re.MULTILINE)


def _pythons(lock: str) -> list[str]:
    return re.findall(r"^# Pythons: (.*)$", lock, re.MULTILINE)[0].split()


@every_lock
@every_version
def test_lock_file(package: str, version: str) -> None:
    lock = _read(package, version)
    assert _versions(lock, package) == [version]
    assert _pythons(lock)[:3] == ["3.10", "3.11", "3.12"]
    # pip can check everything that it installs.
    blocks = re.split(r"\n(?=\w)", lock)[1:]
    assert len(blocks) > 50
    assert all("--hash=sha256:" in block for block in blocks)


@every_lock
@every_version
def test_tools_are_the_same_for_all(package: str, version: str) -> None:
    tools = re.findall(r"^[a-z]\S*?(?===|$)", (REQUIREMENTS / "tools.in").read_text(), re.M)
    assert "ruff" in tools
    for tool in set(tools) - {"tf_keras"}:
        newest = _versions(_read(PACKAGES[0], VERSIONS[-1]), tool)
        assert newest
        assert _versions(_read(package, version), tool) == newest


@pytest.mark.parametrize("tool", ["clang-format", "ruff"])
def test_pre_commit_has_the_same_tools(tool: str) -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    pinned = set(re.findall(rf"\[{tool}==(\S+)\]", hooks))
    assert pinned == set(_versions(_read(PACKAGES[0], VERSIONS[-1]), tool))


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


def _wheels(name: str, *tags: str) -> str:
    """The wheels of a package in pylock.toml; the hash of each is its tag."""
    wheels = [
        f'{{ url = "https://index/{name}-1.0-{tag}.whl", hashes = {{ sha256 = "{tag}" }} }}'
        for tag in tags
    ]
    return f"wheels = [{', '.join(wheels)}]"


def _write_locks(folder: Path, wheels: str, fails: bool = False) -> str:
    """Runs write_locks.py for locks that have these wheels of a package `shared`."""
    marker = "python_full_version < '3.11' and sys_platform == 'linux'"
    for package, minor in itertools.product(PACKAGES, ("2.1", "2.2")):
        pins = [
            ("shared", "sys_platform == 'linux' and python_full_version < '3.12'", wheels),
            ("older", marker, _wheels("older", "py3-none-any")),
            (f"only_{minor}", "", _wheels("only", "py3-none-any")),
            (package, "", _wheels("tensorflow", "py3-none-any")),
        ]
        lock = "".join(
            f'[[packages]]\nname = "{name}"\nversion = "1.0"\nmarker = "{marker}"\n{files}\n'
            for name, marker, files in pins
        )
        (folder / f"{package}-{minor}.toml").write_text(lock)
        (folder / f"{package}-{minor}.pythons").write_text("3.10 3.11\n")
    program = REQUIREMENTS / "write_locks.py"
    return commands.run(sys.executable, program, folder, cwd=folder, fails=fails)


@needs_tomllib
def test_locks_are_written(tmp_path: Path) -> None:
    """Each pin once, with the hashes of the wheels that fit, in a file that has them all."""
    fit = ["cp310-cp310-manylinux_2_28_x86_64", "cp311-cp311-manylinux2014_x86_64"]
    fit += ["cp39-abi3-linux_x86_64", "py2.py3-none-any", "py3-none-manylinux1_x86_64"]
    others = ["cp311-cp311-musllinux_1_2_x86_64", "cp311-cp311-manylinux2014_aarch64"]
    others += ["cp312-cp312-manylinux2014_x86_64", "cp311-cp311-macosx_11_0_x86_64"]
    others += ["cp312-abi3-linux_x86_64", "pp310-pypy310_pp73-manylinux2014_x86_64"]
    _write_locks(tmp_path, _wheels("shared", *fit, *others))
    common = (tmp_path / "common.txt").read_text()
    assert re.findall("--hash=sha256:(\\S+)", common) == [*sorted(fit), "py3-none-any"]
    pins = re.findall(r"^(\w.*?) --hash", common, re.MULTILINE)
    assert pins == ["shared==1.0", "older==1.0 ; python_full_version < '3.11'"]
    for package, minor in itertools.product(PACKAGES, ("2.1", "2.2")):
        lock, middle = (
            (tmp_path / f"{name}-{minor}.txt").read_text() for name in (package, "common")
        )
        assert _pythons(lock) == ["3.10", "3.11"]
        lines = re.findall(r"^((?:-r|\w).*?)(?: --hash.*)?$", lock + middle, re.MULTILINE)
        assert lines == [
            *(f"-r common-{minor}.txt", f"{package}==1.0"),
            *("-r common.txt", f"only_{minor}==1.0"),
        ]


@needs_tomllib
def test_a_python_without_a_wheel(tmp_path: Path) -> None:
    said = _write_locks(tmp_path, _wheels("shared", "cp310-cp310-linux_x86_64"), fails=True)
    assert "shared 1.0: no wheel for 3.11" in said
    assert not list(tmp_path.glob("*.txt"))
