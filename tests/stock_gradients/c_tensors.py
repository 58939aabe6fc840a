"""NumPy's arrays as TF_Tensors and back. Half types are those of `ml_dtypes` and NumPy.

Strings are arrays of objects of type `str` or `bytes`; a client only sends them.
"""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

# TF_DataType of c/tf_datatype.h.
TYPES = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    4: np.uint8,
    5: np.int16,
    6: np.int8,
    8: np.complex64,
    9: np.int64,
    10: np.bool_,
    14: ml_dtypes.bfloat16,
    17: np.uint16,
    18: np.complex128,
    19: np.float16,
    22: np.uint32,
    23: np.uint64,
}
_ENUMS = {np.dtype(dtype): enum for enum, dtype in TYPES.items()}
_STRING = 7
_STRING_SIZE = 24  # sizeof(TF_TString)


def to_tensor(c: Any, value: np.ndarray) -> int:
    """The address of a new TF_Tensor; `c` is the C API."""
    if value.dtype == object:
        return _strings(c, value)
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    tensor = _allocate(c, _ENUMS[array.dtype], array.shape, array.nbytes)
    data = c.TF_TensorData(ctypes.c_void_p(tensor))
    ctypes.memmove(data, array.ctypes.data, array.nbytes)
    return tensor


def to_array(c: Any, tensor: int) -> np.ndarray:
    """The array in the TF_Tensor at this address; deletes the tensor."""
    handle = ctypes.c_void_p(tensor)
    shape = [c.TF_Dim(handle, i) for i in range(c.TF_NumDims(handle))]
    array = np.empty(shape, TYPES[c.TF_TensorType(handle)])
    if array.nbytes:
        data = c.TF_TensorData(handle)
        ctypes.memmove(array.ctypes.data, data, array.nbytes)
    c.TF_DeleteTensor(handle)
    return array


def _allocate(c: Any, enum: int, shape: tuple[int, ...], size: int) -> int:
    dims = (ctypes.c_int64 * len(shape))(*shape)
    return c.TF_AllocateTensor(enum, dims, len(shape), ctypes.c_size_t(size))


def _strings(c: Any, values: np.ndarray) -> int:
    tensor = _allocate(c, _STRING, values.shape, _STRING_SIZE * values.size)
    address = c.TF_TensorData(ctypes.c_void_p(tensor))
    for k, value in enumerate(values.flat):
        content = value.encode() if isinstance(value, str) else value
        string = ctypes.c_void_p(address + k * _STRING_SIZE)
        c.TF_StringInit(string)
        c.TF_StringCopy(string, content, ctypes.c_size_t(len(content)))
    return tensor
