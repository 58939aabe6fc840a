# SPDX-License-Identifier: Apache-2.0
"""The kernels of a library that was built with a sanitizer, as functions."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

_HERE = pathlib.Path(__file__).absolute().parent
CASES = sorted(_HERE.parent.glob("clients/cases/*.cases"))
_RUNTIMES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
# TensorFlow itself is not instrumented and frees nothing at its end.
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"
    ":max_allocation_size_mb=512",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1",
    # With oneDNN, TensorFlow keeps tensors in regions of its own, which hide from
    # a sanitizer where one ends and that another takes its place.
    "TF_ENABLE_ONEDNN_OPTS": "0",
}

Function = Callable[..., Any]


def run(
    sanitizer: str, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program of this folder with libkernels_<sanitizer>.so.

    A sanitizer's runtime has to be the first library of its process, hence the
    preloading; the compiler knows where its runtimes are.
    """
    runtimes = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        for name in _RUNTIMES[sanitizer]
    ]
    library = _HERE / f"libkernels_{sanitizer}.so"
    return subprocess.run(
        [sys.executable, "-P", _HERE / program, library, *arguments],
        env={**os.environ, **_OPTIONS, "LD_PRELOAD": ":".join(runtimes)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def load(library: str) -> dict[str, Function]:
    """The ops of a library by their names, as `function(inputs, attributes)`.

    `inputs` maps the names of arguments to arrays, or to lists of them.
    """
    import tensorflow as tf  # not in the process that only starts others

    module = tf.load_op_library(library)
    wrappers = {name.replace("_", ""): getattr(module, name) for name in dir(module)}
    return {
        op: _function(wrappers[op.replace(">", "").lower()]) for op in _registered()
    }


def _registered() -> list[str]:
    """The ops of this project that the process knows."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    pywrap_tf_session.TF_DeleteBuffer(buffer)
    return [op.name for op in ops.op if op.name.startswith("TfExt")]


def _function(wrapper: Function) -> Function:
    import tensorflow as tf

    def call(
        inputs: Mapping[str, np.ndarray | Sequence[np.ndarray]],
        attributes: Mapping[str, Any],
    ) -> list[np.ndarray]:
        outputs = tf.nest.flatten(wrapper(**inputs, **attributes))
        return [np.array(output) for output in outputs]

    return call
