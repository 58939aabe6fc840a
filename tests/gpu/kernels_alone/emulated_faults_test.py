"""The checks fail on the emulator if something is wrong."""

import ctypes
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import device as device_module
import emulated
import faulty_kernels
import numpy as np
import pointwise_checks
import pointwise_kernels
import pytest
import roi_pool_checks
from commit_sampling import is_turn_of_commit
from device import Buffer, Device, DeviceError
from numeric import DOUBLE, FLOAT, HALF, NumericType
from pointwise_kernels import PointwiseKernel


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(emulated.LIBRARY)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads a large tensor in several pieces, even here."""
    monkeypatch.setattr(device_module, "_CHUNK", 2**18)


Argument = tuple[str, int]  # a launcher, and the number of its pointer
# Only one element of the first is read; the others are scratch.
_UNSEEN = {("ZeroOut", 0), ("EmbeddingBagParamsGrad", 3), ("ResamplerAdjoint", 2)}


def _large(name: str, arguments: Sequence[Any]) -> Iterator[tuple[Argument, Buffer]]:
    """The large tensors, each once."""
    pointers: list[Buffer | None] = []
    for value in arguments:
        if value is None or isinstance(value, Buffer):
            pointers.append(value)
        elif isinstance(value, list):
            pointers += value
    for number, buffer in enumerate(pointers):
        if buffer and buffer.count > emulated.BEYOND and buffer not in pointers[:number]:
            yield (name, number), buffer


class _TruncatingDevice(Device):
    """A device whose kernels lose the upper bits of one argument's indices: they access the
    beginning instead of elements at `BEYOND` or later."""

    def __init__(self) -> None:
        super().__init__(emulated.LIBRARY)
        self.truncated: Argument | None = None
        self.seen: set[Argument] = set()  # the large arguments

    def launch(self, name: str, *arguments: Any) -> None:
        large = list(_large(name, arguments))
        before = [self.download(buffer).reshape(-1) for _, buffer in large]
        for (argument, buffer), values in zip(large, before, strict=True):
            if argument == self.truncated:
                read = values.copy()
                read[emulated.BEYOND :] = read[: values.size - emulated.BEYOND]
                self.restore(buffer, read)
        super().launch(name, *arguments)
        for (argument, buffer), values in zip(large, before, strict=True):
            after = self.download(buffer).reshape(-1)
            if argument == self.truncated:
                is_written = np.any(after[: emulated.BEYOND] != values[: emulated.BEYOND])
                if is_written:
                    values[: after.size - emulated.BEYOND] = after[emulated.BEYOND :]
                self.restore(buffer, values)
            elif after.tobytes().strip(b"\xa5"):  # otherwise nobody writes it
                self.seen.add(argument)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "name", [name for name in emulated.LARGE if is_turn_of_commit(name, 4, "tests/gpu/")]
)
def test_truncated_index_is_found(name: str) -> None:
    """Finds the fault in every large argument."""
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
    assert np.isnan(output[:32]).all()  # these were read before anything was written


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
    faulty_kernels.run(device, "Reverse")  # it ends only that launch


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


@pytest.mark.parametrize(
    ("kernels", "check", "dtype"),
    [
        (pointwise_kernels.ELEMENTWISE, pointwise_checks.check_elementwise, FLOAT),
        (pointwise_kernels.BROADCAST, pointwise_checks.check_broadcast, HALF),
    ],
    ids=["elementwise", "broadcast"],
)
def test_wrong_value_is_found(
    device: Device,
    kernels: Sequence[PointwiseKernel],
    check: Callable[..., None],
    dtype: NumericType,
) -> None:
    for kernel in kernels:
        wrong = dataclasses.replace(kernel, function=lambda *x, f=kernel.function: f(*x) + 1)
        with pytest.raises(AssertionError, match="wrong, first at"):
            check(device, wrong, dtype)


def test_wrong_last_bit_is_found(device: Device) -> None:
    kernel = next(k for k in pointwise_kernels.ELEMENTWISE if k.name == "Relu")
    wrong = dataclasses.replace(kernel, function=lambda x: np.nextafter(kernel.function(x), np.inf))
    with pytest.raises(AssertionError, match="wrong, first at"):
        pointwise_checks.check_elementwise(device, wrong, DOUBLE)


def test_wrong_gradient_is_found(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    right = roi_pool_checks._roi_pool_grad

    def wrong(gradients: np.ndarray, *rest: Any) -> np.ndarray:
        """Ignores the first of the gradients."""
        gradients = gradients.copy()
        gradients[0] = 0
        return right(gradients, *rest)

    monkeypatch.setattr(roi_pool_checks, "_roi_pool_grad", wrong)
    with pytest.raises(AssertionError, match="deterministic gradient"):
        roi_pool_checks._check(device, roi_pool_checks._PROBLEMS[1], FLOAT)


@pytest.mark.parametrize("where", ["in front of", "behind"])
def test_write_outside_a_buffer_is_found(device: Device, where: str) -> None:
    def write_beside() -> None:
        with device.memory():
            buffer = device.empty(10, np.uint8, offset=3)
            device.restore(buffer, np.arange(10))
            beside = -1 if where == "in front of" else buffer.size
            device.copy_async(buffer.address + beside, buffer.address, 1)

    with pytest.raises(AssertionError, match=f"a kernel wrote {where} a buffer"):
        write_beside()
