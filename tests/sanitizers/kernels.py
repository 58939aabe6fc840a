# SPDX-License-Identifier: Apache-2.0
"""The kernels of a library that was built with a sanitizer, as functions."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

CASES = sorted(pathlib.Path(__file__).absolute().parents[1].glob("cases/*.cases"))
_HERE = pathlib.Path(__file__).absolute().parent
_RUNTIMES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
# TensorFlow itself is not instrumented and frees nothing at its end.
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"
    ":max_allocation_size_mb=512",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1",
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
    from tensorflow.python.framework import op_def_registry

    module = tf.load_op_library(library)
    wrappers = {
        name.replace("_", ""): getattr(module, name)
        for name in dir(module)
        if name.startswith("tf_ext")
    }
    functions = {}
    for op_def in module.OP_LIST.op:
        wrapper = wrappers[op_def.name.replace(">", "").lower()]
        assert op_def_registry.get(op_def.name) is not None
        functions[op_def.name] = _function(wrapper)
    return functions


def _function(wrapper: Function) -> Function:
    import tensorflow as tf

    def call(
        inputs: Mapping[str, np.ndarray | Sequence[np.ndarray]],
        attributes: Mapping[str, Any],
    ) -> list[np.ndarray]:
        outputs = tf.nest.flatten(wrapper(**inputs, **attributes))
        return [np.asarray(output) for output in outputs]

    return call
