# SPDX-License-Identifier: Apache-2.0
"""The checks themselves, on a host that stands in for the GPU.

They pass with the CPU's loops behind the same interface, and they fail where
something is wrong.
"""

import dataclasses
import pathlib
import subprocess
import sys

import device as device_module
import families
import large_checks
import numpy as np
import pointwise_checks
import pytest
import references
import roi_pool_checks
import roi_pool_kernel
import timing
from device import Device
from numeric import BFLOAT16, FLOAT, HALF

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE / "libkernels_host.so"
_CHECKS = dict(families.all_checks())
_LARGE = dict(large_checks.all_checks())


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(_LIBRARY)


@pytest.mark.parametrize("name", _CHECKS)
def test_passes(device: Device, name: str) -> None:
    _CHECKS[name](device)


@pytest.mark.parametrize("name", _LARGE)
def test_passes_with_less(
    device: Device, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(large_checks, "_BEYOND", 2**19)
    monkeypatch.setattr(large_checks, "_PERIOD", 2**16 - 15)
    monkeypatch.setattr(device_module, "_CHUNK", 2**18)
    _LARGE[name](device)


@pytest.mark.parametrize("name", _LARGE)
def test_skips_without_memory(device: Device, name: str) -> None:
    with pytest.raises(large_checks.SkippedError, match=r"needs \d+ GiB"):
        _LARGE[name](device)


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

    def wrong(gradients: np.ndarray, *rest: object) -> np.ndarray:
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


def test_times(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    timing.print_table(device, 1 << 12, only="Roi")
    timing.print_table(device, 1 << 12, only="Mul")
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| RoiPool") for line in lines) == 16
    assert sum(line.startswith("| MultiplyLeft") for line in lines) == 8


def test_without_gpu_it_says_so() -> None:
    """On the library as it is built here; where there is a GPU, gpu_test runs."""
    options = ["--only", "no such check", "--no-times"]
    run = subprocess.run(
        [sys.executable, "-P", _HERE / "run.py", *options],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 77)
    if run.returncode == 77:
        assert run.stdout.startswith("skipped: ")
