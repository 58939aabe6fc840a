"""Prints every version and path that a build uses, and what is wrong with them.

Runs in any Python from 3.10 on, with no package installed. Exits 1 when
something that is needed is missing or does not fit.

Environment, of ./run: VENV, the virtual environment; TENSORFLOW, as "2.21"; PYTHONS,
those that it has wheels for.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import doctor_installs
from test_summary import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
VENV = Path(os.environ["VENV"])
TENSORFLOW = os.environ["TENSORFLOW"]
SITE_PACKAGES = next(VENV.glob("lib/python3*/site-packages"), VENV / "site-packages")
LIBRARY = ROOT / f"python/tensorflow_ext/lib/{TENSORFLOW}/libtensorflow_ext.so"
PYTHONS = tuple(os.environ["PYTHONS"].split())

OK, NOTE, LATER, WRONG = "ok", "note", "later", "WRONG"


@dataclass
class Finding:
    """One line of the report.

    Attributes:
      name: The thing that was looked for.
      found: Its version and path.
      state: OK; NOTE, if everything works without it; LATER, if ./run installs it; WRONG.
      fix: How to fix it, if state is not OK.
    """

    name: str
    found: str
    state: str = OK
    fix: str = ""


def output_of(*command: str) -> str:
    """The output of a command, on either stream; '' if it cannot be run."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def version_in(text: str) -> str:
    """The first thing in a text that looks like a version; '' if nothing does."""
    match = re.search(r"\d+\.\d+(\.\d+)?", text)
    return match.group() if match else ""


def sha256(file: str) -> str:
    """The hash of a file of the checkout; '' if there is no such file."""
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def locked_version(package: str) -> str:
    """The version of a package in the lock file of the default wheel."""
    lock = (ROOT / "requirements" / f"tensorflow-cpu-{TENSORFLOW}.txt").read_text()
    match = re.search(rf"^{re.escape(package)}==(\S+)", lock, re.MULTILINE)
    return match.group(1) if match else ""


def check_python() -> Iterator[Finding]:
    python = VENV / "bin" / "python"
    if not python.exists():
        where = f"{sys.version.split()[0]} {sys.executable}"
        yield Finding("Python", where)
        yield Finding(".venv", "none", LATER, "./run build makes it.")
        return
    version = version_in(output_of(str(python), "--version"))
    yield Finding("Python", f"{version} {python.resolve()}")
    if not version.startswith(PYTHONS):
        fix = f"./run build makes a new one, with Python {PYTHONS[0]} to {PYTHONS[-1]}."
        yield Finding(".venv", f"Python {version or 'broken'} {VENV}", WRONG, fix)
        return
    stamp = VENV / ".made-from"
    # The lock file, then the files that it includes.
    made_from = [line.split() for line in stamp.read_text().splitlines()] if stamp.exists() else []
    if made_from and all(sha256(file) == hashed for hashed, file in made_from):
        yield Finding(".venv", f"{VENV}, as {made_from[0][1]} says")
        return
    yield Finding(".venv", f"{VENV}, older than its lock file", LATER, "./run build")


def installed() -> dict[str, str]:
    """The packages of .venv with their versions; a half-made .venv has none."""
    if not SITE_PACKAGES.exists():
        return {}
    found = {}
    for package in distributions(path=[str(SITE_PACKAGES)]):
        name = package.metadata["Name"] if package.metadata else None
        if name:
            found[name.replace("_", "-").lower()] = package.version
    return found


def installed_tensorflow() -> str:
    """The version of TensorFlow in .venv; '' if there is none."""
    packages = installed()
    return packages.get("tensorflow") or packages.get("tensorflow-cpu") or ""


def check_packages() -> Iterator[Finding]:
    packages = installed()
    version = installed_tensorflow()
    wanted = locked_version("tensorflow-cpu")
    where = f"{version} {SITE_PACKAGES / 'tensorflow'}"
    if "tensorflow" in packages and "tensorflow-cpu" in packages:
        fix = "They overwrite each other: rm -rf .venv, then ./run build."
        yield Finding("TensorFlow", "two wheels at once", WRONG, fix)
    elif not version:
        yield Finding("TensorFlow", "none", LATER, "./run build installs it.")
    elif version != wanted:
        fix = f"Only {wanted} is tested; ./run build installs it."
        yield Finding("TensorFlow", where, NOTE, fix)
    else:
        kind = "GPU and CPU" if "tensorflow" in packages else "CPU"
        yield Finding("TensorFlow", f"{where} ({kind})")
    for name in ("numpy", "keras"):
        if name in packages:
            yield Finding(name, f"{packages[name]} {SITE_PACKAGES / name}")
        else:
            yield Finding(name, "none", LATER, "./run build installs it.")


def _to_install(name: str, package: str) -> Finding:
    """Says what a missing system package is for."""
    if doctor_installs.may_install():
        return Finding(name, "none", LATER, f"./run build installs {package}.")
    return Finding(name, "none", WRONG, f"sudo apt-get install {package}")


def check_bazel() -> Finding:
    """The first Bazel that fits, chosen like choose_bazel in tools/run/bazel.sh."""
    paths = [path for path in map(shutil.which, ("bazel", "bazelisk")) if path]
    if not paths:
        return _to_install("Bazel", "bazel-bootstrap (or bazelisk)")
    others = []
    for path in paths:
        said = output_of(path, "--version").strip()
        version = version_in(said) or "of Debian"
        major = version.split(".")[0]
        if said and (not major.isdigit() or 4 <= int(major) <= 8):
            return Finding("Bazel", f"{version} {path}")
        others.append(f"{version if said else 'failing'} {path}")
    fix = "Expected 4 to 8; bazelisk downloads any of them, and USE_BAZEL_VERSION selects one."
    return Finding("Bazel", ", ".join(others), WRONG, fix)


def check_compiler() -> Finding:
    path = shutil.which(os.environ.get("CC", "") or "g++")
    if not path:
        return _to_install("C++ compiler", "g++")
    version = output_of(path, "-dumpfullversion", "-dumpversion").strip()
    if not version:
        return Finding("C++ compiler", path, WRONG, f"{path} does not run.")
    if version.split(".")[0].isdigit() and int(version.split(".")[0]) < 9:
        fix = "TensorFlow's headers need GCC 9 or newer."
        return Finding("C++ compiler", f"{version} {path}", WRONG, fix)
    return Finding("C++ compiler", f"{version} {path}")


def find_nvcc() -> Path | None:
    """Looks for nvcc in the places where ./run looks, in the same order."""
    environ = os.environ
    places = [environ.get("NVCC", "")]
    if environ.get("CUDA_HOME"):
        places.append(environ["CUDA_HOME"] + "/bin/nvcc")
    places += ["/usr/local/cuda/bin/nvcc", shutil.which("nvcc") or ""]
    places += map(str, SITE_PACKAGES.glob("nvidia/cu[0-9]*/bin/nvcc"))
    for place in places:
        if place and os.access(place, os.X_OK):
            return Path(place)
    return None


def check_cuda() -> Iterator[Finding]:
    nvcc = find_nvcc()
    if nvcc is None:
        fix = "The build is for the CPU only; --cuda=yes installs nvcc into .venv."
        yield Finding("nvcc", "none", NOTE, fix)
    else:
        match = re.search(r"V(\d+\.\d+\.\d+)", output_of(str(nvcc), "--version"))
        if match:
            yield Finding("nvcc", f"{match.group(1)} {nvcc}")
        else:
            fix = "It does not run: set NVCC or CUDA_HOME to another, or use --cuda=no."
            yield Finding("nvcc", str(nvcc), WRONG, fix)
    beside = str(nvcc.parent / "cuobjdump") if nvcc else ""
    tool = beside if os.access(beside, os.X_OK) else shutil.which("cuobjdump")
    if tool:
        said = re.search(r"V(\d+\.\d+\.\d+)", output_of(tool, "--version"))
        yield Finding("cuobjdump", f"{said.group(1) if said else ''} {tool}")
    else:
        fix = "The test of the kernels' registers and memory is skipped."
        yield Finding("cuobjdump", "none", NOTE, fix)


def check_gpu() -> Finding:
    query = "--query-gpu=name,driver_version,compute_cap"
    said = output_of("nvidia-smi", query, "--format=csv,noheader").strip()
    if not said:
        return Finding("GPU", "none", NOTE, "Tests that need a GPU are skipped.")
    return Finding("GPU", "; ".join(said.splitlines()))


def _tool(name: str, *arguments: str, oldest: str = "0") -> tuple[str, bool]:
    """The version of a program on PATH, and true if it is new enough."""
    path = shutil.which(name)
    version = version_in(output_of(path, *arguments)) if path else ""
    numbers, least = ([int(n) for n in v.split(".")] for v in (version or "-1", oldest))
    return f"{version} {path}" if version else f"no {name}", numbers >= least


def _language(name: str, language: str, *tools: tuple[str, bool]) -> Finding:
    found = ", ".join(tool for tool, _ in tools)
    if all(usable for _, usable in tools):
        return Finding(name, found)
    fix = f"Its tests are skipped: they need {LANGUAGES[language]}."
    return Finding(name, found, NOTE, fix)


def _downloaded(name: str, lock: str, folder: str) -> Iterator[Finding]:
    """The things that `./run test` puts into .venv, if they do not match the lock file."""
    stamp = VENV / folder / ".made-from"
    made_from = stamp.read_text().split() if stamp.exists() else [""]
    if made_from[0] != sha256(lock):
        where = f"{VENV / folder} does not match {lock}"
        yield Finding(name, where, NOTE, "./run test downloads them.")


def oldest_rust() -> str:
    """The oldest compiler that builds the Rust programs."""
    manifest = (ROOT / "Cargo.toml").read_text()
    match = re.search(r'^rust-version = "([\d.]+)"$', manifest, re.MULTILINE)
    return match.group(1) if match else "0"


def check_languages() -> Iterator[Finding]:
    """The languages; their tests are skipped if there is no toolchain."""
    go = _tool("go", "version", oldest="1.19")
    yield _language("Go", "go", go)
    if go[1]:
        yield from _downloaded("modules", "bindings/go/go.sum", "go")
    cargo = _tool("cargo", "--version")
    rustc = _tool("rustc", "--version", oldest=oldest_rust())
    yield _language("Rust", "rust", cargo, rustc)
    if cargo[1] and rustc[1]:
        yield from _downloaded("crates", "Cargo.lock", "rust")
        clippy, usable = _tool("cargo-clippy", "--version")
        if not usable:
            yield Finding("clippy", clippy, NOTE, "Rust is built without clippy's warnings.")
    javac = _tool("javac", "-version", oldest="17")
    yield _language("Java", "java", javac, _tool("mvn", "--version"))
    if javac[1]:
        lock = f"requirements/java-{TENSORFLOW}.txt"
        if (ROOT / lock).exists():
            yield from _downloaded("jars", lock, "java")
        else:
            found = f"no release for TensorFlow {TENSORFLOW}"
            yield Finding("TensorFlow Java", found, NOTE, "Its tests are skipped.")


def check_library() -> Finding:
    if not LIBRARY.exists():
        return Finding("Library", "not built", NOTE, "./run build")
    stated = re.search(rb"tensorflow_ext ([\w.]+) for TensorFlow ([\w.]+)", LIBRARY.read_bytes())
    if not stated:
        fix = f"rm {LIBRARY}; ./run build"
        return Finding("Library", f"{LIBRARY} states no version", WRONG, fix)
    version, built_for = (group.decode() for group in stated.groups())
    found = f"{version} for TensorFlow {built_for} {LIBRARY}"
    present = installed_tensorflow()
    if present and present.split(".")[:2] != built_for.split(".")[:2]:
        fix = f".venv has TensorFlow {present}: ./run build"
        return Finding("Library", found, WRONG, fix)
    return Finding("Library", found)


def main() -> int:
    findings = [
        *check_python(),
        *check_packages(),
        check_bazel(),
        check_compiler(),
        *check_cuda(),
        check_gpu(),
        *check_languages(),
        check_library(),
    ]
    for finding in findings:
        print(f"{finding.state:5}  {finding.name:12}  {finding.found}")
        if finding.fix:
            print(f"{'':21}{finding.fix}")
    wrong = [finding.name for finding in findings if finding.state == WRONG]
    if doctor_installs.report(VENV):
        wrong.append("what ./run demo would install")
    if wrong:
        print("\nWrong: " + ", ".join(wrong))
    elif any(finding.state == LATER for finding in findings):
        print("\n./run demo can run.")
    else:
        print("\nEverything that is needed is installed.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
