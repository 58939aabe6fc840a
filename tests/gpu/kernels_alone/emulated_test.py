"""The kernels pass their checks on the emulator, and the checks skip no kernel."""

import ctypes
import itertools
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import device as device_module
import emulated
import families
import numpy as np
import pointwise_checks
import pytest
import run
import timing
from commit_sampling import by_turns
from device import Device, NoMemoryError
from numeric import BFLOAT16
from script_process import PYTHON

_HERE = pathlib.Path(__file__).absolute().parent
_passed: set[str] = set()


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(emulated.LIBRARY)


@pytest.mark.parametrize("name", emulated.of_commit("passes"))
def test_passes(device: Device, name: str) -> None:
    emulated.CHECKS[name](device)
    _passed.add(name)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads a large tensor in several pieces, even here."""
    monkeypatch.setattr(device_module, "_CHUNK", 2**18)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", emulated.LARGE)
def test_passes_with_less(device: Device, name: str) -> None:
    emulated.LARGE[name](device)
    _passed.add(name)


@pytest.mark.parametrize("name", emulated.LARGE)
def test_skips_without_memory(device: Device, name: str) -> None:
    really_large = dict(families.large_checks())
    with pytest.raises(NoMemoryError, match=r"takes [\d.]+ GiB of memory, 2.0 are"):
        really_large[name](device)


def _launches_that_never_ran() -> Iterator[str]:
    """The compiler's names of launches: a function that launches, with the types of its
    instantiation."""
    never_run = ctypes.CDLL(str(emulated.LIBRARY)).Emulator_NeverRun
    never_run.restype = ctypes.c_char_p
    for number in itertools.count():
        name = never_run(ctypes.c_int64(number))
        if name is None:
            return
        yield name.decode()


@by_turns(8, "tensorflow_ext/ops/", "tensorflow_ext/kernels/", "tests/gpu/")
def test_every_launch_is_checked(device: Device) -> None:
    """All launches in the kernels' sources, whatever the tables here name."""
    for name, check in (emulated.CHECKS | emulated.LARGE).items():
        if name not in _passed:
            check(device)
    never = [name for name in _launches_that_never_ran() if "LaunchFaulty" not in name]
    assert not never, (
        "no check runs these launches: add one to the family's *_checks.py, a new "
        "functor's reference to the table OPS of its op's module "
        "(tests/gpu/README.md, A new kernel)\n" + "\n".join(never)
    )


class _RecordingDevice(Device):
    """Records the names of the kernels that are launched, or would be."""

    def __init__(self, launches: bool = True) -> None:
        super().__init__(emulated.LIBRARY)
        self.names: set[str] = set()
        self._launches = launches

    def launch(self, name: str, *arguments: Any) -> None:
        self.names.add(name)
        if self._launches:
            super().launch(name, *arguments)


@by_turns(4, "tensorflow_ext/ops/", "tests/gpu/")
def test_every_kernel_is_checked_and_timed() -> None:
    streams, large = (_RecordingDevice() for _ in range(2))
    timed = _RecordingDevice(launches=False)
    for name, check in emulated.CHECKS.items():
        if name.endswith("streams"):
            check(streams)
    for check in emulated.LARGE.values():
        check(large)
    for row in families.timing_rows(timed, 1 << 12):
        row.work()
    assert streams.names == large.names == timed.names


def test_bfloat16_rounds_to_even() -> None:
    values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, -1e39, np.nan, 1e-41])
    rounded = BFLOAT16.round(values)
    np.testing.assert_array_equal(rounded[:5], [1, 1, 1 + 2**-6, -np.inf, np.nan])
    assert abs(rounded[5] - values[5]) <= BFLOAT16.tiniest / 2


@pytest.fixture
def one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips kernels whose rows of the table take the emulator long."""
    monkeypatch.setattr(families, "_FAMILIES", [pointwise_checks])


@pytest.mark.usefixtures("one_family")
def test_times(
    device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "_ROUNDS", 3)
    timing.print_table(device, 1 << 12, only="Mul")
    timing.print_table(device, 1 << 12, only="Prune")
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| MultiplyLeft") for line in lines) == 8
    assert sum(line.startswith("| PruneByMagnitude") for line in lines) == 8


@pytest.mark.usefixtures("one_family")
def test_output(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    def output(*options: str) -> str:
        path = tmp_path / "output"
        fixed = ["--library", str(emulated.LIBRARY), "--output", str(path), "--megabytes", "1"]
        monkeypatch.setattr(sys, "argv", ["run.py", *fixed, *options])
        assert run.main() == 0
        return path.read_text()

    everything = output("--only", "ReluGrad")
    assert "4 passed, 0 failed, 1 skipped, 0 left out in" in everything
    assert everything.count("| ReluGrad |") == 4
    assert "passed" not in output("--only", "Hardshrink", "--no-checks")
    nothing = output("--seconds", "0", "--only", "Mish")
    assert "0 passed, 0 failed, 0 skipped, 8 left out" in nothing
    assert "No time for Mish and" in nothing


def test_a_missing_gpu_is_reported() -> None:
    """The library as it is built here; if there is a GPU, gpu_test runs."""
    options = ["--only", "no such check", "--no-times"]
    finished = subprocess.run(
        [*PYTHON, _HERE / "run.py", *options], stdout=subprocess.PIPE, text=True, check=False
    )
    assert finished.returncode in (0, 77)
    if finished.returncode == 77:
        assert finished.stdout.startswith("skipped: ")
