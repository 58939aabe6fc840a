"""./run release: packs the current commit for every language, into out/release.

It writes the wheel, the source archive, a Go module in the layout of a module proxy (go), a crate,
a Maven repository with the jar (maven), a bill of materials in CycloneDX's form, and SHA256SUMS.
Then it installs each package into an empty folder and runs a first gradient there. Nothing is
published. Exit status: 0, every package passed; 1, one failed, or was not checked because
something is missing here; 2, wrong arguments.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence

from release import checks, packages
from release.checks import NotChecked, Place
from release.packages import Package, Release, ReleaseError, run

_ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSED, FAILED, NOT_CHECKED = "passed", "failed", "not checked"


def check_clean(root: pathlib.Path) -> None:
    """Raises a ReleaseError if the packages would not be those of a commit."""
    changed = run("git", "status", "--porcelain", cwd=root).decode().splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:5])
        raise ReleaseError(
            f"{root} has changes that are in no commit: {names}{', ...' * (len(changed) > 5)}; "
            "commit or stash them, because a release packs a commit"
        )


def _commit_time(root: pathlib.Path) -> str:
    command = ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"]
    return run(*command, cwd=root, TZ="UTC").decode().strip()


def _jar(release: Release, flags: Sequence[str]) -> Package:
    """Builds the jar.

    Raises:
      NotChecked: A tool is missing, or this TensorFlow has no TensorFlow Java.
    """
    missing = [program for program in ("javac", "mvn") if not shutil.which(program)]
    if missing:
        raise NotChecked(f"not made: no {' and no '.join(missing)} on PATH")
    _show(release.root, "jar", *flags)
    return packages.maven(release, release.root / "out" / "tensorflow-ext-linux-x86_64.jar")


def _crate(release: Release) -> Package:
    if not shutil.which("cargo"):
        raise NotChecked("not made: no cargo on PATH")
    return packages.crate(release, checks.vendored(release))


def _show(root: pathlib.Path, *arguments: str) -> None:
    """Runs ./run, which prints what it does."""
    status = subprocess.run([root / "run", *arguments], check=False).returncode
    if status:
        raise ReleaseError(f"./run {' '.join(arguments)} failed, as the lines above say")


def pack(release: Release, minors: Sequence[str], cuda: str) -> dict[str, str]:
    """Writes the packages; returns the reasons why some are not made."""
    from release import bill_of_materials  # Its packages are those of requirements/release.txt.

    with tempfile.TemporaryDirectory() as temporary:
        wheel = ["--tf", ",".join(minors), f"--cuda={cuda}", "--out", temporary]
        _show(release.root, "wheel", *wheel)
        shutil.rmtree(release.out, ignore_errors=True)
        shutil.copytree(temporary, release.out)
    makers: dict[str, Callable[[], Package]] = {
        "wheel": lambda: packages.wheel(release),
        "sdist": lambda: packages.sdist(release),
        "go": lambda: packages.go(release),
        "rust": lambda: _crate(release),
        "java": lambda: _jar(release, ["--tf", minors[-1], f"--cuda={cuda}"]),
    }
    made, reasons = [], {}
    for name, maker in makers.items():
        try:
            made.append(maker())
        except NotChecked as reason:
            reasons[name] = str(reason)
    bill_of_materials.write(release, made, minors)
    files = sorted(path for path in release.out.rglob("*") if path.is_file())
    lines = [f"{packages.sha256(path)}  {path.relative_to(release.out)}\n" for path in files]
    (release.out / "SHA256SUMS").write_text("".join(lines))
    return reasons


def check(
    release: Release, all_checks: Mapping[str, Callable[[Place], None]], reasons: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Checks the packages that were made; returns a word and an explanation for each."""
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, attempt in all_checks.items():
            result = (PASSED, "")
            try:
                if name in reasons:
                    raise NotChecked(reasons[name])
                print(f"release: {name}: {attempt.__doc__}", file=sys.stderr, flush=True)
                attempt(Place(release, folder / name, folder / "environment/bin/python"))
            except NotChecked as reason:
                result = (NOT_CHECKED, str(reason))
            except ReleaseError as error:
                result = (FAILED, str(error))
            results[name] = result
            print(f"release: {name}: {': '.join(filter(None, result))}", file=sys.stderr)
    return results


def summary(results: Mapping[str, tuple[str, str]], allow_unchecked: bool) -> tuple[str, int]:
    """The last line, and the exit status."""
    words = [word for word, _ in results.values()]
    text = ", ".join(f"{words.count(word)} {word}" for word in (PASSED, FAILED, NOT_CHECKED))
    unchecked = [name for name, (word, _) in results.items() if word == NOT_CHECKED]
    if unchecked and not allow_unchecked:
        text += f" ({', '.join(unchecked)}; --allow-unchecked accepts that)"
    bad = FAILED in words or (unchecked and not allow_unchecked)
    return f"{len(words)} packages: {text}", int(bool(bad))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./run release",
        usage="./run release [--tf VERSION,...] [--cuda=auto|yes|no] [--allow-unchecked]",
        description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tf", required=True, help="versions of TensorFlow, as for ./run wheel")
    parser.add_argument("--cuda", required=True, choices=("auto", "yes", "no"))
    parser.add_argument(
        "--allow-unchecked",
        action="store_true",
        help="exit with 0 if packages are not checked because a tool or a registry is missing",
    )
    options = parser.parse_args(arguments)
    try:
        check_clean(_ROOT)
        release = Release(_ROOT, _ROOT / "out" / "release", _commit_time(_ROOT))
        reasons = pack(release, options.tf.split(","), options.cuda)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    results = check(release, checks.CHECKS, reasons)
    for path in sorted(release.out.rglob("*")):
        if path.is_file():
            print(f"{path.stat().st_size:12,}  {os.path.relpath(path)}")
    text, status = summary(results, options.allow_unchecked)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
