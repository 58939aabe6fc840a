"""Device memory, streams, events and launches through ctypes (device.cc, launchers.h)."""

import contextlib
import ctypes
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from check_program import SkippedError
from numeric import NumericType

_GUARD = 512  # bytes before and after every buffer
_SPARE = 1 << 30  # bytes of memory that large buffers leave free
_GUARD_BYTE = 0xA5
_HERE = pathlib.Path(__file__).absolute().parent
_CHUNK = 1 << 26  # bytes read at a time from a large buffer


class DeviceError(RuntimeError):
    """A call of the CUDA runtime or a launch failed."""


class NoMemoryError(SkippedError):
    """The device has too little memory; the message has the size of the buffer."""


def find_library() -> pathlib.Path:
    """libkernels.so, in this folder or else where Bazel builds it.

    Raises:
      SkippedError: It is in neither place.
    """
    built = _HERE.parents[2] / "bazel-bin" / "tests" / "gpu" / "kernels_alone"
    for folder in (_HERE, built):
        if (folder / "libkernels.so").is_file():
            return folder / "libkernels.so"
    raise SkippedError(
        f"no libkernels.so in {_HERE} or {built}: "
        "bazel build //tests/gpu/kernels_alone:libkernels.so"
    )


class Buffer:
    """`count` elements in device memory; `address` is the address of the first."""

    def __init__(self, allocation: int, address: int, shape: Any, dtype: Any) -> None:
        """See Device.empty."""
        self.allocation = allocation
        self.address = address
        self.shape = tuple(np.atleast_1d(np.array(shape, np.int64)).tolist())
        self.dtype = np.dtype(dtype)
        self.count = math.prod(self.shape)
        self.size = self.count * self.dtype.itemsize


def _c_argument(value: Any) -> Any:
    """A Python value as an argument of a C++ function."""
    match value:
        case Buffer():
            return ctypes.c_void_p(value.address)
        case list():  # buffers
            return (ctypes.c_void_p * len(value))(*[b and b.address for b in value])
        case NumericType():
            return ctypes.c_int32(value.code)
        case bool():
            return ctypes.c_bool(value)
        case int():  # also for narrower types, because each takes a whole register
            return ctypes.c_int64(value)
        case float():
            return ctypes.c_float(value)
        case _:
            return value


class Device:
    """Device 0 through one library; buffers live inside `memory()`."""

    def __init__(self, library: pathlib.Path, guards: bool = True) -> None:
        """Loads the library.

        Args:
          library: libkernels.so.
          guards: True for memory on both sides of every buffer, which detects kernels that write
            there. Without it, a tool that knows the end of memory also detects reads.

        Raises:
          SkippedError: The library was built without CUDA, or there is no GPU.
        """
        self._guard = _GUARD if guards else 0
        self._library = ctypes.CDLL(str(library.absolute()))
        self._live: list[Buffer] = []
        if not hasattr(self._library, "Device_Count"):
            raise SkippedError(f"{library.name} was built without CUDA: no nvcc")
        self._library.Device_ErrorString.restype = ctypes.c_char_p
        count = ctypes.c_int()
        error = self._library.Device_Count(ctypes.byref(count))
        if error or count.value == 0:
            text = self._library.Device_ErrorString(error).decode()
            raise SkippedError(f"no GPU: {text}")
        self.stream = self._made("Device_CreateStream")

    def launch(self, name: str, *arguments: Any) -> None:
        """Calls the launcher that launchers.h exports by this name, on the stream.

        Args:
          name: The launcher's name.
          *arguments: Its arguments before the stream. A NumericType, a number, a buffer or a list
            of buffers becomes its C++ counterpart; a struct comes from struct.pack.

        Raises:
          DeviceError: The launcher returns an error.
        """
        launcher = ctypes.CFUNCTYPE(ctypes.c_int).in_dll(self._library, f"Kernel_{name}")
        self._require_success(name, launcher(*map(_c_argument, arguments), self.stream))

    def scratch(self, name: str, *arguments: Any) -> Buffer:
        """A buffer with the number of bytes that the exported function Kernel_<name> returns."""
        function = ctypes.CFUNCTYPE(ctypes.c_int64).in_dll(self._library, f"Kernel_{name}")
        return self.empty(function(*map(_c_argument, arguments)), np.uint8)

    def sums(self, dtype: NumericType, shape: Any) -> Buffer | None:
        """The buffer in which a launcher sums if the type of its output of this shape is too
        short; None if it sums in the output."""
        return None if dtype.storage == dtype.compute else self.empty(shape, dtype.compute)

    def _call(self, name: str, *arguments: Any) -> None:
        """Calls a function of device.cc; an address is a number."""
        self._require_success(name, getattr(self._library, name)(*map(_c_argument, arguments)))

    def _require_success(self, name: str, error: int) -> None:
        if error:
            text = self._library.Device_ErrorString(error).decode()
            raise DeviceError(f"{name} returned {error}: {text}")

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        result = ctypes.c_void_p()
        self._call(name, *arguments, ctypes.byref(result))
        return result

    @property
    def description(self) -> str:
        """The device's name and further details."""
        text = ctypes.create_string_buffer(512)
        self._call("Device_Describe", text, len(text))
        return text.value.decode()

    @property
    def free_memory(self) -> int:
        """The number of bytes that could be allocated."""
        free = ctypes.c_int64()
        self._call("Device_FreeMemory", ctypes.byref(free))
        return free.value

    def synchronize(self) -> None:
        """Waits for the stream; errors of its kernels appear here."""
        self._call("Device_Synchronize", self.stream)

    @contextlib.contextmanager
    def memory(self) -> Iterator[None]:
        """Frees at the end all allocations made inside.

        Raises:
          AssertionError: A kernel wrote outside a buffer.
        """
        before = len(self._live)
        try:
            yield
            self.synchronize()
            for buffer in self._live[before:]:
                self._check_guards(buffer)
        finally:
            for buffer in self._live[before:]:
                self._call("Device_Free", buffer.allocation)
            del self._live[before:]

    def empty(self, shape: Any, dtype: Any, offset: int = 0) -> Buffer:
        """A buffer filled with a pattern that is not a result; inside `memory()`.

        Args:
          shape: Its shape, or its number of elements.
          dtype: NumPy's type.
          offset: The number of elements by which it is off the alignment of an allocation.

        Raises:
          NoMemoryError: It is large, and does not fit.
        """
        buffer = Buffer(0, 0, shape, dtype)
        start = self._guard + offset * buffer.dtype.itemsize
        size = max(1, start + buffer.size + self._guard)
        if size > _SPARE and size > (free := self.free_memory) - _SPARE:
            gibibytes = f"{size / 2**30:.1f} GiB of memory, {free / 2**30:.1f} are free"
            raise NoMemoryError(f"a tensor takes {gibibytes}")
        allocation = self._made("Device_Allocate", size).value
        assert allocation is not None
        buffer.allocation, buffer.address = allocation, allocation + start
        self._live.append(buffer)
        self._fill(allocation, _GUARD_BYTE, size)
        return buffer

    def upload(self, array: np.ndarray, offset: int = 0) -> Buffer:
        """A buffer with the values of an array; see `empty`."""
        buffer = self.empty(array.shape, array.dtype, offset)
        self.restore(buffer, array)
        return buffer

    def download(self, buffer: Buffer) -> np.ndarray:
        """The values of a buffer, after the stream's work."""
        self.synchronize()
        return self._read(buffer.address, buffer.dtype, buffer.count).reshape(buffer.shape)

    def restore(self, buffer: Buffer, array: np.ndarray) -> None:
        """Writes other values into a buffer."""
        array = np.ascontiguousarray(array, buffer.dtype)
        self._copy(buffer.address, array.ctypes.data, buffer.size)

    def part(self, buffer: Buffer, start: int, shape: Any) -> Buffer:
        """The elements of a buffer from `start` on, as many as `shape` has."""
        address = buffer.address + start * buffer.dtype.itemsize
        return Buffer(buffer.allocation, address, shape, buffer.dtype)

    def tile(self, pattern: np.ndarray, shape: Any, offset: int = 0) -> Buffer:
        """A buffer that repeats a pattern; see `empty`."""
        buffer = self.empty(shape, pattern.dtype, offset)
        first = min(pattern.nbytes, buffer.size)
        pattern = np.ascontiguousarray(pattern)
        self._copy(buffer.address, pattern.ctypes.data, first)
        done = first
        while done < buffer.size:  # doubling
            part = min(done, buffer.size - done)
            self.copy_async(buffer.address + done, buffer.address, part)
            done += part
        self.synchronize()
        return buffer

    def repeat(self, array: np.ndarray, copies: int, offset: int = 0) -> Buffer:
        """Consecutive copies of an array; see `empty`."""
        return self.tile(array, (copies * array.shape[0], *array.shape[1:]), offset)

    def last_of(self, array: np.ndarray, copies: int, offset: int = 0) -> Buffer:
        """The same with zeros for all copies but the last."""
        buffer = self.repeat(np.zeros_like(array), copies, offset)
        self.restore(self.part(buffer, buffer.count - array.size, array.shape), array)
        return buffer

    def chunks(self, buffer: Buffer, period: int) -> Iterator[tuple[int, np.ndarray]]:
        """(start, values) of a large buffer, in pieces of whole periods; the values
        are valid until the next piece."""
        self.synchronize()
        itemsize = buffer.dtype.itemsize
        step = max(1, _CHUNK // (period * itemsize)) * period
        values = np.empty(min(step, buffer.count), buffer.dtype)  # new pages cost time
        for start in range(0, buffer.count, step):
            part = values[: buffer.count - start]
            address = buffer.address + start * itemsize
            self._copy(part.ctypes.data, address, part.nbytes)
            yield start, part

    def copy_async(self, to: int, origin: int, size: int) -> None:
        """Copies within the device, in order on the stream."""
        self._call("Device_CopyAsync", to, origin, size, self.stream)

    def milliseconds(self, work: Callable[[], None], repeats: int) -> float:
        """The average time of the work on the device."""
        first = self._made("Device_CreateEvent")
        last = self._made("Device_CreateEvent")
        self._call("Device_RecordEvent", first, self.stream)
        for _ in range(repeats):
            work()
        self._call("Device_RecordEvent", last, self.stream)
        result = ctypes.c_float()
        self._call("Device_Milliseconds", first, last, ctypes.byref(result))
        self._call("Device_DestroyEvent", first)
        self._call("Device_DestroyEvent", last)
        return result.value / repeats

    def recorded(self, work: Callable[[], None]) -> int:
        """Pieces of work put on the stream, recorded after one run.

        Raises:
          DeviceError: Work was put on the default stream.
        """
        work()  # loads the code, which is not allowed while recording
        self.synchronize()
        nodes = ctypes.c_int64()
        self._call("Device_BeginCapture", self.stream)
        try:
            work()
        finally:
            self._call("Device_EndCapture", self.stream, ctypes.byref(nodes))
        return nodes.value

    def _fill(self, address: int, byte: int, size: int) -> None:
        self._call("Device_FillAsync", address, byte, size, self.stream)
        self.synchronize()

    def _copy(self, to: int, origin: int, size: int) -> None:
        if size:
            self._call("Device_Copy", to, origin, size)

    def _read(self, address: int, dtype: Any, count: int) -> np.ndarray:
        result = np.empty(count, dtype)
        self._copy(result.ctypes.data, address, result.nbytes)
        return result

    def _check_guards(self, buffer: Buffer) -> None:
        ends = (buffer.address - self._guard, buffer.address + buffer.size)
        for where, start in zip(("in front of", "behind"), ends, strict=True):
            guard = self._read(start, np.uint8, self._guard)
            assert np.all(guard == _GUARD_BYTE), (
                f"a kernel wrote {where} a buffer of {buffer.count} {buffer.dtype}"
            )
