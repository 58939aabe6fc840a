"""Installs a wheel into new virtual environments, one for each Python and each
TensorFlow that it is for, and tries it there (acceptance.py).

Needs a network, minutes and 2 GB of disk for each. The Pythons are python3.10 to
python3.13 of PATH, and those that PYTHONS names; any of them runs this, and needs no
package for it. Exits with 1 where something failed.
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import acceptance

_ROOT = pathlib.Path(__file__).absolute().parents[2]
_NAMES = ("python3.10", "python3.11", "python3.12", "python3.13")
_RESULTS = ("passed", "failed", "not run")
_MINOR = "import sys; print('%d.%d' % sys.version_info[:2])"


# Not hatch_hooks.numbers: this runs in any Python, which may lack hatchling.
def _numbers(minor: str) -> list[int]:
    return [int(number) for number in minor.split(".")]


def pythons() -> dict[str, str]:
    """The available interpreters, by minor version."""
    found: dict[str, str] = {}
    for candidate in [*os.environ.get("PYTHONS", "").split(), *_NAMES]:
        path = shutil.which(candidate)
        if not path:
            continue
        done = subprocess.run([path, "-c", _MINOR], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), path)
    return dict(sorted(found.items(), key=lambda item: _numbers(item[0])))


def minors_of(wheel: pathlib.Path) -> list[str]:
    """The minor versions of TensorFlow that a wheel has libraries for."""
    with zipfile.ZipFile(wheel) as opened:
        names = [name.split("/") for name in opened.namelist()]
    found = {parts[2] for parts in names if parts[:2] == ["tensorflow_ext", "lib"] and parts[3:]}
    return sorted(found, key=_numbers)


def _pythons_of(minor: str) -> list[str]:
    """The Pythons that a TensorFlow has wheels for, according to its lock file."""
    lock = _ROOT / "requirements" / f"tensorflow-cpu-{minor}.txt"
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith("# Pythons: "):
            return line.removeprefix("# Pythons: ").split()
    raise ValueError(f"{lock} does not say for which Pythons it is")


def check(wheel: pathlib.Path, python: str, minor: str) -> list[str]:
    """Checks a wheel in a new environment; returns the failures."""
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        prefix = pathlib.Path(temporary, "environment")
        folder = pathlib.Path(temporary, "folder")
        folder.mkdir()
        subprocess.run([python, "-m", "venv", prefix], check=True)
        pip = [str(prefix / "bin" / "python"), "-m", "pip"]
        pip += ["--disable-pip-version-check"]
        done = subprocess.run(
            [
                *pip,
                "install",
                "--quiet",
                "--no-compile",
                f"{wheel}[tensorflow-cpu,wrappers]",
                f"tensorflow-cpu=={minor}.*",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stdout, done.stderr, file=sys.stderr)
            return ["install"]
        files = acceptance.files_of(prefix)
        before = {name for name in files if "tensorflow_ext" not in name}
        installed = acceptance.Installed(prefix / "bin" / "python", folder, pip, before)
        checks = acceptance.CHECKS | acceptance.LONG_CHECKS | acceptance.LAST_CHECKS
        for name, attempt in checks.items():
            try:
                attempt(installed)
            except acceptance.AcceptanceError as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed.append(name)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--minors", help="versions of TensorFlow, such as 2.20,2.21 (default: all)")
    wheel = (arguments := parser.parse_args()).wheel.absolute()
    try:
        of_wheel = minors_of(wheel)
    except (OSError, zipfile.BadZipFile) as error:
        parser.error(f"{wheel} is not a wheel: {error}; expected one that ./run wheel made")
    if not of_wheel:
        parser.error(f"{wheel} supports no TensorFlow; expected a wheel that ./run wheel made")
    minors = arguments.minors.split(",") if arguments.minors else of_wheel
    if not set(minors) <= set(of_wheel):
        parser.error(
            f"--minors {arguments.minors}: expected some of {','.join(of_wheel)}, the "
            f"versions in {wheel}"
        )
    found = pythons()
    if not found:
        print(f"none of {', '.join(_NAMES)} was found")
        return 1
    results = collections.Counter[str]()
    print(f"{'Python':8}{'TensorFlow':12}result", flush=True)
    for minor in minors:
        for version in _pythons_of(minor):
            if version not in found:
                print(f"{version:8}{minor:12}not run: no python{version}", flush=True)
                results["not run"] += 1
                continue
            start = time.monotonic()
            failed = check(wheel, found[version], minor)
            results["failed" if failed else "passed"] += 1
            result = f"failed: {', '.join(failed)}" if failed else "passed"
            seconds = time.monotonic() - start
            print(f"{version:8}{minor:12}{result}, {seconds:.0f} s", flush=True)
    counts = ", ".join(f"{results[name]} {name}" for name in _RESULTS)
    print(f"{results.total()} environments: {counts}")
    return int(results["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
