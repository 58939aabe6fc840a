"""TensorFlow's eager C API through ctypes, with the tapes of this library."""

import ctypes
import dataclasses
import pathlib
import resource
import threading
from collections.abc import Callable, Sequence
from typing import Any

import c_tensors
import numpy as np
import tensorflow as tf
from c_client import Client
from tensorflow.core.framework import attr_value_pb2, function_pb2

DOUBLE = 2
PERSISTENT, NO_VARIABLES = 1, 2
NONE, ZEROS = 0, 1

_POINTERS = (
    "TFE_NewContextOptions TFE_NewContext TFE_NewTensorHandle TFE_TensorHandleResolve TFE_NewOp "
    "TFE_TensorHandleCopyToDevice TFE_TensorHandleBackingDeviceName TfExt_NewTape"
)


class Tensor:
    """Owns a TFE_TensorHandle."""

    def __init__(self, context: "Context", handle: int | None) -> None:
        self._context, self.handle = context, ctypes.c_void_p(handle)

    def numpy(self) -> np.ndarray:
        tensor = self._context.checked("TFE_TensorHandleResolve", self.handle)
        return c_tensors.to_array(self._context.c, tensor)

    def __del__(self) -> None:
        self._context.c.TFE_DeleteTensorHandle(self.handle)


def _attr_value(value: object) -> attr_value_pb2.AttrValue:
    if isinstance(value, attr_value_pb2.AttrValue):
        return value
    if isinstance(value, bool):
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, str):
        return attr_value_pb2.AttrValue(s=value.encode())
    raise TypeError(f"no attribute for {value!r}")


def function(name: str) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(func=attr_value_pb2.NameAttrList(name=name))


def shape(*sizes: int) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(shape=tf.TensorShape(sizes).as_proto())


def types(*numbers: int) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(type=numbers))


def dtype(number: int) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(type=number)


class Context:
    """A TFE_Context.

    Args:
      client: The C API with this library.
      asynchronous: Whether ops are only enqueued.
    """

    def __init__(self, client: Client, asynchronous: bool = False) -> None:
        self.c = client._c
        self._client = client
        self.library = ctypes.CDLL(client._library)
        for name in _POINTERS.split():
            library = self.library if name.startswith("TfExt") else self.c
            getattr(library, name).restype = ctypes.c_void_p
        options = ctypes.c_void_p(self.c.TFE_NewContextOptions())
        self.c.TFE_ContextOptionsSetAsync(options, ctypes.c_ubyte(asynchronous))
        self.context = ctypes.c_void_p(self.checked("TFE_NewContext", options))
        self.c.TFE_DeleteContextOptions(options)

    def __del__(self) -> None:
        self.c.TFE_DeleteContext(self.context)

    def checked(self, name: str, *arguments: object) -> int:
        return self._client._checked(name, *arguments)

    def tensor(self, value: object) -> Tensor:
        tensor = ctypes.c_void_p(c_tensors.to_tensor(self.c, np.asarray(value)))
        try:
            return Tensor(self, self.checked("TFE_NewTensorHandle", tensor))
        finally:
            self.c.TF_DeleteTensor(tensor)

    def run(
        self, op: str, *inputs: Tensor | Sequence[Tensor], outputs: int = 1, **attrs: Any
    ) -> Any:
        """Runs an op; returns its output, or a list if it has another number of them."""
        made = ctypes.c_void_p(self.checked("TFE_NewOp", self.context, op.encode()))
        try:
            for name, value in attrs.items():
                proto = _attr_value(value).SerializeToString()
                self.checked(
                    "TFE_OpSetAttrValueProto",
                    made,
                    name.encode(),
                    proto,
                    ctypes.c_size_t(len(proto)),
                )
            for given in inputs:
                if isinstance(given, Tensor):
                    self.checked("TFE_OpAddInput", made, given.handle)
                else:
                    self.checked("TFE_OpAddInputList", made, _array(given), len(given))
            results: Any = (ctypes.c_void_p * max(outputs, 1))()
            count = ctypes.c_int(outputs)
            self.checked("TFE_Execute", made, results, ctypes.byref(count))
        finally:
            self.c.TFE_DeleteOp(made)
        tensors = [Tensor(self, result) for result in results[: count.value]]
        return tensors[0] if outputs == 1 else tensors

    def variable(self, name: str, value: np.ndarray) -> Tensor:
        """The handle of a variable of doubles."""
        of_value = shape(*value.shape)
        handle = self.run("VarHandleOp", dtype=dtype(DOUBLE), shape=of_value, shared_name=name)
        self.run("AssignVariableOp", handle, self.tensor(value), outputs=0)
        return handle

    def read(self, handle: Tensor) -> Tensor:
        return self.run("ReadVariableOp", handle, dtype=dtype(DOUBLE))

    def add_function(self, definition: function_pb2.FunctionDef) -> None:
        proto = definition.SerializeToString()
        self.checked("TFE_ContextAddFunctionDef", self.context, proto, ctypes.c_size_t(len(proto)))

    def copy(self, x: Tensor, device: str) -> Tensor:
        name = device.encode()
        return Tensor(
            self, self.checked("TFE_TensorHandleCopyToDevice", x.handle, self.context, name)
        )


def _array(tensors: Sequence[Tensor | None]) -> ctypes.Array:
    handles = [None if tensor is None else tensor.handle.value for tensor in tensors]
    return (ctypes.c_void_p * len(handles))(*handles)


@dataclasses.dataclass
class Slices:
    """A gradient: the rows that were gathered, or all of it (TfExt_TapeGradientSlices)."""

    values: Tensor | None
    indices: Tensor | None
    shape: Tensor | None
    dense: Tensor | None
    reason: str


class Tape:
    """Owns a TfExt_Tape."""

    def __init__(self, context: Context, *watched: Tensor, options: int = 0) -> None:
        self._context, self._c = context, context.library
        with context._client.status() as status:
            self.tape = ctypes.c_void_p(self._c.TfExt_NewTape(context.context, options, status))
        for tensor in watched:
            self.watch(tensor)

    def delete(self) -> None:
        self._c.TfExt_DeleteTape(self.tape)
        self.tape = ctypes.c_void_p()

    __del__ = delete

    def watch(self, x: Tensor) -> None:
        self._call("TfExt_TapeWatch", x.handle)

    def stop(self) -> None:
        self._call("TfExt_TapeStop")

    def resume(self) -> None:
        self._call("TfExt_TapeResume")

    def reset(self) -> None:
        self._call("TfExt_TapeReset")

    def gradients(
        self,
        y: Sequence[Tensor],
        x: Sequence[Tensor],
        dy: Sequence[Tensor | None] | None = None,
        unconnected: int = NONE,
    ) -> list[Tensor | None]:
        ys = _array(y), len(y)
        dys = None if dy is None else _array(dy)
        return self._tensors("TfExt_TapeGradient", len(x), *ys, _array(x), len(x), dys, unconnected)

    def gradient(self, y: Tensor, x: Tensor, dy: Tensor | None = None) -> Tensor:
        (gradient,) = self.gradients([y], [x], [dy])
        assert gradient is not None
        return gradient

    def slices(
        self,
        y: Sequence[Tensor],
        x: Sequence[Tensor],
        dy: Sequence[Tensor | None] | None = None,
        unconnected: int = NONE,
        summed: int = 0,
    ) -> list[Slices]:
        n = len(x)
        given = _array(y), len(y), _array(x), n, None if dy is None else _array(dy)
        dense, rows = (ctypes.c_void_p * n)(), (ctypes.c_void_p * (3 * n))()

        def fill(reasons: ctypes.c_void_p) -> None:
            modes = unconnected, summed
            with self._context._client.status() as status:
                self._c.TfExt_TapeGradientSlices(
                    self.tape, *given, *modes, status, dense, rows, reasons
                )

        reasons = self._context._client.filled(fill).decode().split("\n")
        parts, whole = self._owned(rows), self._owned(dense)
        each = zip(parts[::3], parts[1::3], parts[2::3], whole, reasons, strict=True)
        return [Slices(*fields) for fields in each]

    def jacobian(self, y: Tensor, x: Sequence[Tensor]) -> list[Tensor | None]:
        xs = _array(x), len(x)
        return self._tensors("TfExt_TapeJacobian", len(x), y.handle, *xs, NONE)

    def jvp(
        self, y: Sequence[Tensor], x: Sequence[Tensor], tangents: Sequence[Tensor]
    ) -> list[Tensor | None]:
        ys, xs = (_array(y), len(y)), (_array(x), len(x))
        return self._tensors("TfExt_TapeJvp", len(y), *ys, *xs, _array(tangents), NONE)

    def _tensors(self, name: str, count: int, *arguments: object) -> list[Tensor | None]:
        results = (ctypes.c_void_p * count)()
        with self._context._client.status() as status:
            getattr(self._c, name)(self.tape, *arguments, status, results)
        return self._owned(results)

    def _owned(self, handles: ctypes.Array) -> list[Tensor | None]:
        return [None if handle is None else Tensor(self._context, handle) for handle in handles]

    def _call(self, name: str, *arguments: object) -> None:
        with self._context._client.status() as status:
            getattr(self._c, name)(self.tape, *arguments, status)


def check_two_orders(
    context: Context,
    run: Callable[[Tensor], Tensor],
    function: Callable[[tf.Tensor], tf.Tensor],
    value: np.ndarray,
) -> None:
    """Compares y = run(x), its gradient, and the gradient of that with Python's tapes."""
    x = context.tensor(value)
    second, first = Tape(context, x), Tape(context, x)
    y = run(x)
    gradient = first.gradient(y, x, context.tensor(value + 1))
    of_gradient = second.gradient(gradient, x)

    expected_x = tf.constant(value)
    with tf.GradientTape() as outer:
        outer.watch(expected_x)
        with tf.GradientTape() as inner:
            inner.watch(expected_x)
            expected_y = function(expected_x)
        expected = inner.gradient(expected_y, expected_x, tf.constant(value + 1))
    np.testing.assert_allclose(y.numpy(), expected_y, rtol=1e-14)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-13)
    expected = outer.gradient(expected, expected_x)
    np.testing.assert_allclose(of_gradient.numpy(), expected, rtol=1e-12)


def tensors_in_memory(size: int) -> float:
    """This process' memory, in vectors of so many doubles."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (8 * size)


def in_thread(body: Any) -> Any:
    """The result of `body` in another thread."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(body()))
    thread.start()
    thread.join()
    return results[0]
