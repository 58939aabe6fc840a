"""The steps of a release check: one table, each row an ordinary command line.

You can run any of these in a checkout. The requirements of a step are checked before it runs; if
one is missing, the report lists the step as not run, with the reason.
"""

import pathlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from release_check import needs

# Returns the reason why a step cannot be run here; empty if it can.
Need = Callable[[], str]

COMMANDS = r"^ *\d+ s  exit .*"
TESTS = r"^\d+ passed.*"


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
      name: Its name for --only.
      command: The command line, for a shell in the root of the checkout.
      what: The property that it checks.
      minutes: The estimate on two cores, until a run has measured it.
      gigabytes: The disk space that it uses until its cleaning.
      needs: Its requirements.
      may_fail: True if a failure is not the fault of this tree.
      shown: A pattern for the part of each output line that goes into the table.
      clean: A command line that runs after the step has passed.
    """

    name: str
    command: str
    what: str
    minutes: int
    gigabytes: float = 0.5
    needs: tuple[Need, ...] = ()
    may_fail: bool = False
    shown: str = TESTS
    clean: str = ""


def tensorflow_versions(root: pathlib.Path) -> list[str]:
    """The minor versions that requirements/ lists, the default one first."""
    lines = (root / "requirements" / "tensorflow_versions.txt").read_text().splitlines()
    versions = [line.strip() for line in lines if line.strip() and line[0] != "#"]
    return [".".join(version.split(".")[:2]) for version in reversed(versions)]


# Each TensorFlow is tested with one Python, so that everything runs with each version of both. For
# the other pairs, the wheel is installed.
PYTHON_OF = {"2.21": "3.11", "2.20": "3.13", "2.19": "3.12", "2.18": "3.10"}


def _known_differences(run: str, arguments: str, output: str, minor: str) -> str:
    """The command line that writes a version's known differences into out/."""
    built = f"{output}/bazel-bin" if output else "bazel-bin"
    python = f"{output or '.venv'}/bin/python"
    return (
        f"{run} build {arguments} //tests/stock_gradients:libcsr_kernels.so && "
        f"mkdir -p out && {python} tests/stock_gradients/known_differences.py "
        f"--library {built}/tensorflow_ext/libtensorflow_ext.so "
        f"--kernels {built}/tests/stock_gradients/libcsr_kernels.so "
        f"--output out/known_differences-{minor}.json"
    )


def _tensorflow(minor: str, default: bool) -> list[Step]:
    """The steps of one version; the default one also compiles the GPU kernels, as CI does."""
    python = f"python{PYTHON_OF[minor]}"
    run = f"PYTHON={python} ./run"
    needed = (needs.program(python),)
    versions = f"TensorFlow {minor} and Python {PYTHON_OF[minor]}"
    arguments = "--cuda=no" if default else f"--tf {minor} --cuda=no"
    tested = "--cuda=yes --languages=all" if default else arguments
    old_files = Step(
        "old-files" if default else f"old-files-{minor}",
        f"{run} test {arguments} //tests/compat/...",
        f"files of older versions, with {versions}",
        3 if default else 20,
        0.5 if default else 4,
        needed,
    )
    everything = Step(
        f"tensorflow-{minor}",
        f"{run} test {tested} --test_env=EVERY_CASE=1",
        f"everything, with {versions}",
        60,
        8 if default else 4,
        needed,
    )
    known_differences = Step(
        f"known-differences-{minor}",
        _known_differences(run, arguments, "" if default else f".venv-{minor}", minor),
        f"where gradients differ, with {versions}",
        10,
        needs=needed,
        shown=r"^\d+ differences.*",
        clean="" if default else f"tools/release_check/clean.sh {minor}",
    )
    return [old_files, everything, known_differences]


def _every_tensorflow(root: pathlib.Path) -> list[Step]:
    """The steps of every version, the default version first."""
    return [
        step
        for number, minor in enumerate(tensorflow_versions(root))
        for step in _tensorflow(minor, default=number == 0)
    ]


def _machines() -> list[Step]:
    """Machines that lack everything but Python, or something that a build needs."""
    return [
        Step(
            f"bare-{suite}",
            f"tools/release_check/bare_machine.sh --suite={suite}",
            f"./run demo and ./run test on {name} with nothing but Python",
            150,
            15,
            (needs.root, needs.program("debootstrap")),
            shown=COMMANDS,
        )
        for suite, name in (
            ("bookworm", "Debian 12"),
            ("trixie", "Debian 13"),
            ("noble", "Ubuntu 24.04"),
        )
    ] + [
        Step(
            "failing-machine",
            "tools/release_check/failing_machine.sh",
            "a full disk, no network, killed builds: one clear message each",
            30,
            6,
            (needs.root,),
            shown=r"^(ok|FAILED) .*",
        )
    ]


def _wheel(root: pathlib.Path) -> list[Step]:
    """Every language's package; the wheel in every Python, and in that of the oldest system."""
    minors = ",".join(reversed(tensorflow_versions(root)))
    flags = f"--tf {minors} --cuda=no"
    shown = r"^\d+ (packages|environments): .*"
    return [
        Step(
            "release",
            f"./run release {flags} && "
            ".venv/bin/python tools/wheel/check_wheel.py out/release/*.whl",
            "each language's package, installed; the wheel, in every Python with every TensorFlow",
            110,
            12,
            shown=shown,
            clean="rm -rf out/release",
        ),
        Step(
            "wheel-jammy",
            f"./run wheel {flags} --out out/wheel && "
            "tools/release_check/bare_machine.sh --suite=jammy "
            "--with=$(echo out/wheel/*.whl) 'apt-get update && apt-get install -y "
            "--no-install-recommends python3-venv g++ graphviz' "
            "'python3 tools/wheel/check_wheel.py ../*.whl'",
            "the wheel, installed into Ubuntu 22.04's Python with every TensorFlow",
            40,
            10,
            (needs.root, needs.program("debootstrap")),
            shown=shown,
            clean="rm -rf out/wheel",
        ),
    ]


def steps(root: pathlib.Path) -> list[Step]:
    """All steps in the order in which they run: the quick ones first."""
    return [
        Step(
            "demo",
            "./run demo --cuda=no",
            "the README's first command",
            10,
            4,
            shown=r"^test accuracy.*",
        ),
        Step(
            "fuzz",
            "./run test --cuda=no //tests/sanitizers:fuzz_test "
            "--test_env=FUZZ_CALLS=1000000 --test_timeout=21600 --test_output=all",
            "a million calls with wrong and right inputs, under AddressSanitizer",
            15,
            1,
            shown=r"\d+ ops, \d+ calls: .*",
        ),
        Step(
            "threads",
            "./run test --cuda=no //tests/threads:loading_test "
            "--test_env=LOADING_RUNS=1000 --test_timeout=21600 --test_output=all",
            "the library loaded 1,000 times while others differentiate",
            5,
            shown=r"\d+ runs, \d+ failed.*",
        ),
        Step(
            "memory",
            "./run test --cuda=no //tests/threads:memory_test //tests/tape:tape_test "
            "--test_env=MEMORY_ROUNDS=10000 --test_env=TAPE_STEPS=10000 --test_timeout=21600",
            "10,000 rounds of differentiating, and steps with tapes, in the same memory",
            10,
        ),
        Step(
            "races",
            "./run test --cuda=no //tests/sanitizers:races_test "
            "//tests/sanitizers:gradient_races_test //tests/sanitizers:tapes_test "
            "--runs_per_test=10 --test_env=EVERY_CASE=1 --test_env=TAPE_STEPS=2000 "
            "--test_timeout=21600",
            "every op, gradient and tape under ThreadSanitizer, ten times",
            10,
        ),
        Step(
            "mutations",
            "./run build --cuda=no && PYTHONPATH=tools .venv/bin/python -m release_check.mutations",
            "mistakes planted one at a time, each noticed by an everyday test",
            120,
            4,
            shown=r"^(\d+ of \d+ mutations noticed|\S+: \*\*.*)",
        ),
        *_wheel(root),
        Step(
            "candidate",
            "tools/release_check/candidate.sh",
            "a release candidate of TensorFlow, or a nightly build",
            30,
            4,
            (needs.candidate(tensorflow_versions(root)[0]),),
            may_fail=True,
            shown=r"^candidate: .*",
            clean="tools/release_check/clean.sh candidate",
        ),
        Step(
            "gpu",
            "./run build --cuda=yes && PYTHONPATH=python:tests/clients/python "
            ".venv/bin/python tests/gpu/tensorflow_level.py",
            "every op on a GPU, by TensorFlow",
            30,
            8,
            (needs.gpu,),
            shown=r".*(checks|passed).*",
        ),
        *_every_tensorflow(root),
        *_machines(),
    ]


def disk_left(folder: pathlib.Path) -> float:
    """The free gigabytes on a folder's disk."""
    return shutil.disk_usage(folder).free / 1e9
