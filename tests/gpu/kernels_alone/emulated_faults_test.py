# SPDX-License-Identifier: Apache-2.0
"""The checks fail on the emulator where something is wrong."""

import ctypes
import dataclasses
from collections.abc import Iterator
from typing import Any

import device as device_module
import emulated
import faulty_kernels
import numpy as np
import pointwise_checks
import pointwise_kernels
import pytest
import roi_pool_checks
import roi_pool_kernels
from device import Buffer, Device, DeviceError
from numeric import FLOAT, HALF


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(emulated.LIBRARY)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that even here a large tensor is read in several pieces."""
    monkeypatch.setattr(device_module, "_CHUNK", 2**18)


Argument = tuple[str, int]  # a launcher, and which of its pointers
# Of the first a single element is read; the others are scratch.
_UNSEEN = {
    ("Kernel_ZeroOut", 0),
    ("Kernel_EmbeddingBagParamsGrad", 3),
    ("Kernel_ResamplerAdjoint", 2),
}


class _TruncatingDevice(Device):
    """A device whose kernels lose the upper bits of one argument's indices: what lies
    `BEYOND` elements or more behind its start is read and written in front."""

    def __init__(self) -> None:
        super().__init__(emulated.LIBRARY)
        self.truncated: Argument | None = None
        self.seen: set[Argument] = set()  # the large arguments

    def call(self, name: str, *arguments: Any) -> None:
        large = list(self._large(name, arguments))
        before = [self.download(buffer).reshape(-1) for _, buffer in large]
        for (argument, buffer), values in zip(large, before, strict=True):
            if argument == self.truncated:
                read = values.copy()
                read[emulated.BEYOND :] = read[: values.size - emulated.BEYOND]
                self.restore(buffer, read)
        super().call(name, *arguments)
        for (argument, buffer), values in zip(large, before, strict=True):
            after = self.download(buffer).reshape(-1)
            if argument == self.truncated:
                is_written = np.any(after[: emulated.BEYOND] != values[: emulated.BEYOND])
                if is_written:
                    values[: after.size - emulated.BEYOND] = after[emulated.BEYOND :]
                self.restore(buffer, values)
            elif after.tobytes().strip(b"\xa5"):  # else nobody writes it
                self.seen.add(argument)

    def _large(self, name: str, arguments: tuple[Any, ...]) -> Iterator[tuple[Argument, Buffer]]:
        if not name.startswith("Kernel_"):
            return
        addresses: list[int | None] = []
        for value in arguments:
            if isinstance(value, ctypes.c_void_p):
                addresses.append(value.value)
            elif getattr(value, "_type_", None) is ctypes.c_void_p:
                addresses += value
        for buffer in self._live:
            if buffer.count > emulated.BEYOND and buffer.address in addresses:
                yield (name, addresses.index(buffer.address)), buffer


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", emulated.LARGE)
def test_truncated_index_is_found(name: str) -> None:
    """In every argument that is large."""
    device = _TruncatingDevice()
    emulated.LARGE[name](device)
    assert device.seen
    missed = set()
    for argument in device.seen - _UNSEEN:
        device.truncated = argument
        try:
            emulated.LARGE[name](device)
        except AssertionError:
            continue
        missed.add(argument)
    assert not missed


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
    for kernel in pointwise_kernels.ELEMENTWISE:
        wrong = dataclasses.replace(kernel, function=_one_more(kernel.function))
        with pytest.raises(AssertionError, match="wrong, first at"):
            pointwise_checks._elementwise(device, wrong, FLOAT)
    for kernel in pointwise_kernels.BROADCAST:
        wrong = dataclasses.replace(kernel, function=_one_more(kernel.function))
        with pytest.raises(AssertionError, match="wrong, first at"):
            pointwise_checks._broadcast(device, wrong, HALF)


def _one_more(function: pointwise_kernels.Function) -> pointwise_kernels.Function:
    return lambda *inputs: function(*inputs) + 1


def test_wrong_last_bit_is_found(device: Device) -> None:
    kernel = next(k for k in pointwise_kernels.ELEMENTWISE if k.name == "Relu")
    wrong = dataclasses.replace(kernel, function=lambda x: np.nextafter(kernel.function(x), np.inf))
    double = kernel.types[-1]
    with pytest.raises(AssertionError, match="wrong, first at"):
        pointwise_checks._elementwise(device, wrong, double)


def test_wrong_gradient_is_found(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    right = roi_pool_kernels.roi_pool_grad

    def wrong(gradients: np.ndarray, *rest: Any) -> np.ndarray:
        """Forgets the first of the gradients."""
        gradients = gradients.copy()
        gradients[0] = 0
        return right(gradients, *rest)

    monkeypatch.setattr(roi_pool_kernels, "roi_pool_grad", wrong)
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
