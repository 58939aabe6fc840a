# SPDX-License-Identifier: Apache-2.0
"""The steps of a release check: one table, each row an ordinary command line.

A person may run any of these in a checkout. What a step needs is asked before it runs;
where it is not there, the step is listed as not run, and why.
"""

import pathlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from release_check import needs

# Says why a step cannot be run here; nothing where it can.
Need = Callable[[], str]

LINES = r"^\d+ out/.*"
TESTS = r"^\d+ passed.*"


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
      name: What --only takes.
      command: The line that a shell runs in the root of the checkout.
      what: What it shows.
      minutes: On two cores, until it has been run and says itself.
      gigabytes: What it adds to the disk until its cleaning.
      needs: What has to be there.
      may_fail: Whether it is no fault of this tree where it fails.
      shown: What of its output goes into the table, of each line that has it.
      clean: A line for the shell, run when it has passed.
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


def _known_differences(minor: str, arguments: str, output: str) -> str:
    """The line that writes a version's page of known differences into out/."""
    built = f"{output}/bazel-bin" if output else "bazel-bin"
    python = f"{output or '.venv'}/bin/python"
    page = f"out/known_differences-{minor}.md"
    return (
        f"./run build {arguments} //tests/stock_gradients:libcsr_kernels.so && "
        f"mkdir -p out && {python} tests/stock_gradients/known_differences.py "
        f"--library {built}/tensorflow_ext/libtensorflow_ext.so "
        f"--kernels {built}/tests/stock_gradients/libcsr_kernels.so >{page} && "
        f"wc -l {page}"
    )


def _every_tensorflow(root: pathlib.Path) -> list[Step]:
    """The default version with the kernels for GPUs, as CI runs it, then the others."""
    default, *others = tensorflow_versions(root)
    steps = [
        Step(
            f"tensorflow-{default}",
            "./run test --cuda=yes --languages=all",
            f"everything, with TensorFlow {default}",
            45,
            8,
        ),
        Step(
            f"known-differences-{default}",
            _known_differences(default, "--cuda=no", ""),
            f"where gradients differ, with TensorFlow {default}",
            10,
            shown=LINES,
        ),
    ]
    for minor in others:
        arguments = f"--tf {minor} --cuda=no"
        steps += [
            Step(
                f"old-files-{minor}",
                f"./run test {arguments} //tests/compat/...",
                f"what older versions wrote, with TensorFlow {minor}",
                20,
                4,
            ),
            Step(
                f"tensorflow-{minor}",
                f"./run test {arguments}",
                f"everything, with TensorFlow {minor}",
                60,
                4,
            ),
            Step(
                f"known-differences-{minor}",
                _known_differences(minor, arguments, f".venv-{minor}"),
                f"where gradients differ, with TensorFlow {minor}",
                10,
                shown=LINES,
                clean=f"tools/release_check/clean.sh {minor}",
            ),
        ]
    return steps


def _every_python() -> list[Step]:
    return [
        Step(
            f"python-{version}",
            f"PYTHON=python{version} ./run test --cuda=no",
            f"everything, with Python {version}",
            45,
            3,
            (needs.program(f"python{version}"),),
        )
        for version in needs.PYTHONS
    ]


def _machines() -> list[Step]:
    """What a machine may lack: everything but Python, or what a build needs."""
    return [
        Step(
            f"bare-{suite}",
            f"tools/release_check/bare_machine.sh --suite={suite}",
            f"./run demo and ./run test on {name} with Python and nothing else",
            150,
            15,
            (needs.root, needs.program("debootstrap")),
            shown=r"^ *\d+ s  exit .*",
        )
        for suite, name in (("bookworm", "Debian 12"), ("trixie", "Debian 13"))
    ] + [
        Step(
            "failing-machine",
            "tools/release_check/failing_machine.sh",
            "a full disk, no network, builds that are ended: one sentence each",
            30,
            6,
            (needs.root,),
            shown=r"^(ok|FAILED) .*",
        )
    ]


def _wheel(root: pathlib.Path) -> Step:
    minors = ",".join(reversed(tensorflow_versions(root)))
    return Step(
        "wheel",
        f"./run wheel --tf {minors} --cuda=no --out out/wheel && "
        ".venv/bin/python tools/wheel/check_wheel.py out/wheel/*.whl",
        "the wheel, installed into every Python with every TensorFlow",
        90,
        10,
        shown=r"^\d+ environments: .*",
        clean="rm -rf out/wheel",
    )


def steps(root: pathlib.Path) -> list[Step]:
    """All of them, in the order in which they run: the quick ones first."""
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
            "old-files",
            "./run test --cuda=no //tests/compat/...",
            "what older versions wrote",
            3,
        ),
        Step(
            "fuzz",
            "./run test --cuda=no //tests/sanitizers:fuzz_test "
            "--test_env=FUZZ_CALLS=1000000 --test_timeout=21600 --test_output=all",
            "a million calls with wrong and right inputs, under AddressSanitizer",
            60,
            1,
            shown=r"\d+ ops, \d+ calls: .*",
        ),
        Step(
            "threads",
            "./run test --cuda=no //tests/threads:loading_test "
            "--test_env=LOADING_RUNS=1000 --test_timeout=21600 --test_output=all",
            "the library loaded 1,000 times while others differentiate",
            30,
            shown=r"\d+ runs, \d+ failed.*",
        ),
        Step(
            "memory",
            "./run test --cuda=no //tests/threads:memory_test "
            "--test_env=MEMORY_ROUNDS=10000 --test_timeout=21600",
            "10,000 rounds of differentiating in the same memory",
            30,
        ),
        Step(
            "races",
            "./run test --cuda=no //tests/sanitizers:races_test "
            "//tests/sanitizers:gradient_races_test --runs_per_test=10 "
            "--test_timeout=21600",
            "every op and gradient under ThreadSanitizer, ten times",
            40,
        ),
        _wheel(root),
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
        *_every_python(),
        *_machines(),
    ]


def disk_left(folder: pathlib.Path) -> float:
    """Gigabytes that are free where a folder lies."""
    return shutil.disk_usage(folder).free / 1e9
