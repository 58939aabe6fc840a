"""The kernels of a library that was built with a sanitizer, as functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from case_files import read_all
from cases import Case
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

Function = Callable[..., Any]


def load(library: str) -> dict[str, Function]:
    """The ops of a library by name, as `function(inputs, attributes)`.

    `inputs` maps the names of arguments to arrays, or to lists of them.
    """
    module = tf.load_op_library(library)
    wrappers = {name.replace("_", ""): getattr(module, name) for name in dir(module)}
    return {op: _function(wrappers[op.replace(">", "").lower()]) for op in _registered()}


def cases_by_op(
    functions: Mapping[str, Function], only: str, suits: Callable[[Case], bool]
) -> dict[str, list[Case]]:
    """The cases that fit a test, of every op whose name contains `only`.

    Raises:
      LookupError: An op of the library has no case.
    """
    by_op: dict[str, list[Case]] = {
        op: [] for op in sorted(functions) if op.startswith("TfExt>") and only in op
    }
    for case in read_all():
        if only in case.op and suits(case):
            by_op[case.op].append(case)
    missing = [op for op, found in by_op.items() if not found]
    if missing:
        raise LookupError(
            f"{', '.join(missing)}: no case that this test can call. Add one to "
            "a file tensorflow_ext/ops/*/*.cases; expected one for every op."
        )
    return by_op


def _registered() -> list[str]:
    """The registered ops of this library."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    pywrap_tf_session.TF_DeleteBuffer(buffer)
    return [op.name for op in ops.op if op.name.startswith("TfExt")]


def _function(wrapper: Function) -> Function:
    def call(
        inputs: Mapping[str, np.ndarray | Sequence[np.ndarray]], attributes: Mapping[str, Any]
    ) -> list[np.ndarray]:
        outputs = tf.nest.flatten(wrapper(**inputs, **attributes))
        return [_array(output) for output in outputs]

    return call


def _array(output: tf.Tensor) -> np.ndarray:
    """An array of the values; an empty one loses its sizes, which NumPy may fail to multiply."""
    if output.shape.num_elements() == 0:
        return np.zeros(0, output.dtype.as_numpy_dtype)
    return np.array(output)
