"""Every op of this library has a kernel for every type it admits, on CPU and GPU."""

import itertools
import os
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework import kernel_def_pb2
from tensorflow.python.framework import kernels, op_def_registry

import tensorflow_ext
from tensorflow_ext import addons

_OPS = sorted(
    {*tensorflow_ext.raw_ops.OPS.values(), *addons.OPS} - tensorflow_ext.raw_ops.CLIENT_OPS
)
# Inputs that a kernel reads on the host.
_HOST_MEMORY = {
    "TfExt>CheckGradientShape": ["expected"],
    "TfExt>ClipByGlobalNorm": ["clip_norm"],
    "TfExt>ClipByGlobalNormGrad": ["clip_norm"],
    "TfExt>PruneByMagnitude": ["threshold"],
    "TfExt>PruneByMagnitudeGrad": ["threshold"],
    "TfExt>ResamplerAdjoint": ["data_shape"],
    "TfExt>RoiAlignGrad": ["data_shape"],
    "TfExt>RoiPoolGrad": ["data_shape"],
    "TfExt>Rrelu": ["seed"],
    "TfExt>RreluGrad": ["seed"],
}
# The types that an attribute without a list admits on the GPU: all that have gradients.
_DIFFERENTIABLE = {tf.half, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128}


def _kernels(op: str, device: str) -> list[kernel_def_pb2.KernelDef]:
    registered = kernels.get_registered_kernels_for_op(op).kernel
    return [kernel for kernel in registered if kernel.device_type == device]


def _admitted(op: str) -> dict[str, set]:
    """The values of each attribute that a kernel may be registered for."""
    admitted: dict[str, set] = {}
    for attribute in op_def_registry.get(op).attr:
        if attribute.type in ("type", "list(type)"):
            listed = attribute.allowed_values.list.type
            types = {tf.as_dtype(dtype) for dtype in listed}
            admitted[attribute.name] = types or _DIFFERENTIABLE
        elif attribute.type == "bool":
            admitted[attribute.name] = {False, True}
    return admitted


def _taken(kernel: kernel_def_pb2.KernelDef) -> dict[str, set]:
    """The values that a kernel accepts for the attributes that it constrains."""
    return {
        constraint.name: {
            *map(tf.as_dtype, constraint.allowed_values.list.type),
            *constraint.allowed_values.list.b,
        }
        for constraint in kernel.constraint
    }


def _missing(op: str, device: str) -> list[dict[str, Any]]:
    """The combinations of values that no kernel accepts."""
    admitted = _admitted(op)
    taken = [_taken(kernel) for kernel in _kernels(op, device)]
    combinations = (
        dict(zip(admitted, values, strict=True)) for values in itertools.product(*admitted.values())
    )
    return [
        combination
        for combination in combinations
        if not any(all(combination[name] in kernel[name] for name in kernel) for kernel in taken)
    ]


def _skip_without(device: str) -> None:
    if device == "GPU" and not os.environ["BUILT_WITH_CUDA"]:
        pytest.skip("no GPU kernels: built without nvcc")


@pytest.mark.parametrize("op", _OPS)
@pytest.mark.parametrize("device", ["CPU", "GPU"])
def test_every_type_has_a_kernel(device: str, op: str) -> None:
    _skip_without(device)
    missing = _missing(op, device)
    assert not missing, f"{op} admits these and has no {device} kernel for them"


@pytest.mark.parametrize("op", _OPS)
def test_host_memory(op: str) -> None:
    _skip_without("GPU")
    expected = _HOST_MEMORY.get(op, [])
    for kernel in _kernels(op, "GPU"):
        found = list(kernel.host_memory_arg)
        assert found == expected, (
            f"{op}: a GPU kernel reads {found} on the host, expected {expected}. "
            f"If that is meant, write it to _HOST_MEMORY in {__file__}"
        )


def test_host_memory_is_of_ops() -> None:
    assert set(_HOST_MEMORY) <= set(_OPS), "a row of _HOST_MEMORY names no op"
