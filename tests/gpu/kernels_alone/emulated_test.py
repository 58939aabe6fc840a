# SPDX-License-Identifier: Apache-2.0
"""The kernels and their checks on the emulator, which takes the GPU's place.

The checks pass with the kernels' own sources, and they fail where something is
wrong.
"""

import ctypes
import dataclasses
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import device as device_module
import families
import faulty_kernels
import numpy as np
import pointwise_checks
import prune_by_magnitude_checks
import pytest
import references
import roi_pool_checks
import roi_pool_kernel
import run
import timing
from device import Buffer, Device, DeviceError, NoMemoryError
from numeric import BFLOAT16, FLOAT, HALF

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE / "libkernels_emulated.so"
_CHECKS = dict(families.all_checks())
_BEYOND = 2**19  # elements that are many for the emulator
_LARGE = dict(families.large_checks(_BEYOND))


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(_LIBRARY)


@pytest.mark.parametrize("name", _CHECKS)
def test_passes(device: Device, name: str) -> None:
    _CHECKS[name](device)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that even here a large tensor is read in several pieces."""
    monkeypatch.setattr(device_module, "_CHUNK", 2**18)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", _LARGE)
def test_passes_with_less(device: Device, name: str) -> None:
    _LARGE[name](device)


@pytest.mark.parametrize("name", _LARGE)
def test_skips_without_memory(device: Device, name: str) -> None:
    really_large = dict(families.large_checks())
    with pytest.raises(NoMemoryError, match=r"takes [\d.]+ GiB of memory, 2.0 are"):
        really_large[name](device)


Argument = tuple[str, int]  # a launcher, and which of its pointers
# Of the first a single element is read; the others are scratch.
_UNSEEN = {
    ("Kernel_ZeroOut", 0),
    ("Kernel_EmbeddingBagParamsGrad", 3),
    ("Kernel_ResamplerAdjoint", 2),
}


class _TruncatingDevice(Device):
    """A device whose kernels lose the upper bits of one argument's indices: what
    lies `_BEYOND` elements or more behind its start is read and written in front."""

    def __init__(self) -> None:
        super().__init__(_LIBRARY)
        self.truncated: Argument | None = None
        self.seen: set[Argument] = set()  # the large arguments

    def call(self, name: str, *arguments: Any) -> None:
        large = list(self._large(name, arguments))
        before = [self.download(buffer).reshape(-1) for _, buffer in large]
        for (argument, buffer), values in zip(large, before, strict=True):
            if argument == self.truncated:
                read = values.copy()
                read[_BEYOND:] = read[: values.size - _BEYOND]
                self.restore(buffer, read)
        super().call(name, *arguments)
        for (argument, buffer), values in zip(large, before, strict=True):
            after = self.download(buffer).reshape(-1)
            if argument == self.truncated:
                is_written = np.any(after[:_BEYOND] != values[:_BEYOND])
                if is_written:
                    values[: after.size - _BEYOND] = after[_BEYOND:]
                self.restore(buffer, values)
            elif after.tobytes().strip(b"\xa5"):  # else nobody writes it
                self.seen.add(argument)

    def _large(
        self, name: str, arguments: tuple[Any, ...]
    ) -> Iterator[tuple[Argument, Buffer]]:
        if not name.startswith("Kernel_"):
            return
        addresses: list[int | None] = []
        for value in arguments:
            if isinstance(value, ctypes.c_void_p):
                addresses.append(value.value)
            elif getattr(value, "_type_", None) is ctypes.c_void_p:
                addresses += value
        for buffer in self._live:
            if buffer.count > _BEYOND and buffer.address in addresses:
                yield (name, addresses.index(buffer.address)), buffer


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", _LARGE)
def test_truncated_index_is_found(name: str) -> None:
    """In every argument that is large."""
    device = _TruncatingDevice()
    _LARGE[name](device)
    assert device.seen
    missed = set()
    for argument in device.seen - _UNSEEN:
        device.truncated = argument
        try:
            _LARGE[name](device)
        except AssertionError:
            continue
        missed.add(argument)
    assert not missed


class _RecordingDevice(Device):
    """Keeps the names of the kernels that are launched, or would be."""

    def __init__(self, launches: bool = True) -> None:
        super().__init__(_LIBRARY)
        self.names: set[str] = set()
        self._launches = launches

    def call(self, name: str, *arguments: Any) -> None:
        if name.startswith("Kernel_") and "Scratch" not in name:
            self.names.add(name)
            if not self._launches:
                return
        super().call(name, *arguments)


def test_every_kernel_is_checked_and_timed() -> None:
    streams, large = (_RecordingDevice() for _ in range(2))
    timed = _RecordingDevice(launches=False)
    for name, check in _CHECKS.items():
        if name.endswith("streams"):
            check(streams)
    for check in _LARGE.values():
        check(large)
    for row in families.timing_rows(timed, 1 << 12):
        row.work()
    assert streams.names == large.names == timed.names


def test_barrier_is_waited_for(device: Device) -> None:
    output = faulty_kernels.run(device, "Reverse")
    np.testing.assert_array_equal(output, faulty_kernels.INPUT[::-1])


def test_missing_barrier_shows(device: Device) -> None:
    output = faulty_kernels.run(device, "ForgetsBarrier")
    assert np.isnan(output[:32]).all()  # nobody had written what these read


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("LeavesBeforeBarrier", r"thread 0 waits at .*:\d+ for its block, thread 7"),
        ("WaitsElsewhere", r"thread 0 waits .* for its block, thread 32 waits at"),
        ("LeavesBeforeExchange", r"for its warp, thread 40 has ended"),
        ("ExchangesInHalfAWarp", "a warp exchange values, which has 16 threads"),
        ("NamesFewerLanes", "a part of a warp exchanges .* the mask is 0xffff$"),
        ("TooManyThreads", "invalid configuration argument"),
    ],
)
def test_fault_is_found(device: Device, fault: str, found: str) -> None:
    with pytest.raises(DeviceError, match=found):
        faulty_kernels.run(device, fault)
    faulty_kernels.run(device, "Reverse")  # It ends that launch only.


def test_work_on_the_default_stream_is_found(device: Device) -> None:
    stream = device.stream

    def launch() -> None:
        device.stream = ctypes.c_void_p()
        try:
            faulty_kernels.run(device, "Reverse")
        finally:
            device.stream = stream

    with pytest.raises(DeviceError, match="work on the default stream"):
        device.recorded(launch)


def test_wrong_value_is_found(device: Device) -> None:
    for kernel in references.ELEMENTWISE:
        wrong = dataclasses.replace(kernel, function=_one_more(kernel.function))
        with pytest.raises(AssertionError, match="wrong, first at"):
            pointwise_checks._elementwise(device, wrong, FLOAT)
    for kernel in references.BROADCAST:
        wrong = dataclasses.replace(kernel, function=_one_more(kernel.function))
        with pytest.raises(AssertionError, match="wrong, first at"):
            pointwise_checks._broadcast(device, wrong, HALF)


def _one_more(function: references.Function) -> references.Function:
    return lambda *inputs: function(*inputs) + 1


def test_wrong_last_bit_is_found(device: Device) -> None:
    kernel = next(k for k in references.ELEMENTWISE if k.name == "Relu")
    wrong = dataclasses.replace(
        kernel, function=lambda x: np.nextafter(kernel.function(x), np.inf)
    )
    double = kernel.types[-1]
    with pytest.raises(AssertionError, match="wrong, first at"):
        pointwise_checks._elementwise(device, wrong, double)


def test_wrong_gradient_is_found(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = roi_pool_kernel.roi_pool_grad

    def wrong(gradients: np.ndarray, *rest: Any) -> np.ndarray:
        """Forgets the first of the gradients."""
        gradients = gradients.copy()
        gradients[0] = 0
        return right(gradients, *rest)

    monkeypatch.setattr(roi_pool_kernel, "roi_pool_grad", wrong)
    with pytest.raises(AssertionError, match="deterministic gradient"):
        roi_pool_checks._check(device, roi_pool_checks._PROBLEMS[1], FLOAT)


@pytest.mark.parametrize("where", ["in front of", "behind"])
def test_write_beside_a_buffer_is_found(device: Device, where: str) -> None:
    def write_beside() -> None:
        with device.memory():
            buffer = device.empty(10, np.uint8, offset=3)
            device.restore(buffer, np.arange(10))
            beside = -1 if where == "in front of" else buffer.size
            device.copy_async(buffer.address + beside, buffer.address, 1)

    with pytest.raises(AssertionError, match=f"a kernel wrote {where} a buffer"):
        write_beside()


def test_bfloat16_rounds_to_even() -> None:
    values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, -1e39, np.nan, 1e-41])
    rounded = BFLOAT16.round(values)
    np.testing.assert_array_equal(rounded[:5], [1, 1, 1 + 2**-6, -np.inf, np.nan])
    assert abs(rounded[5] - values[5]) <= BFLOAT16.tiniest / 2


@pytest.fixture
def few_families(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without those whose rows of the table take the emulator long."""
    few = pointwise_checks, prune_by_magnitude_checks
    monkeypatch.setattr(families, "_FAMILIES", few)


@pytest.mark.usefixtures("few_families")
def test_times(
    device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "_ROUNDS", 3)
    timing.print_table(device, 1 << 12, only="Mul")
    timing.print_table(device, 1 << 12, only="Prune")
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| MultiplyLeft") for line in lines) == 8
    assert sum(line.startswith("| PruneByMagnitude") for line in lines) == 8


@pytest.mark.usefixtures("few_families")
def test_output(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    def output(*options: str) -> str:
        path = tmp_path / "output"
        fixed = ["--library", str(_LIBRARY), "--output", str(path), "--megabytes", "1"]
        monkeypatch.setattr(sys, "argv", ["run.py", *fixed, *options])
        assert run.main() == 0
        return path.read_text()

    everything = output("--only", "PruneByMagnitudeGrad")
    assert "4 passed, 0 failed, 1 skipped, 0 left out in" in everything
    assert everything.count("| PruneByMagnitudeGrad |") == 4
    assert "passed" not in output("--only", "PruneByMagnitude", "--no-checks")
    nothing = output("--seconds", "0", "--only", "Mish")
    assert "0 passed, 0 failed, 0 skipped, 8 left out" in nothing
    assert "No time for Mish and" in nothing


def test_without_gpu_it_says_so() -> None:
    """On the library as it is built here; where there is a GPU, gpu_test runs."""
    options = ["--only", "no such check", "--no-times"]
    finished = subprocess.run(
        [sys.executable, "-P", _HERE / "run.py", *options],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert finished.returncode in (0, 77)
    if finished.returncode == 77:
        assert finished.stdout.startswith("skipped: ")
