"""Runs programs with libraries that were built with a sanitizer."""

import os
import pathlib
import subprocess

from script_process import PYTHON

_RUNTIMES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
_OPTIONS = {
    # Neither Python nor TensorFlow is instrumented, or frees all memory at exit.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=512",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1",
    # With oneDNN, TensorFlow keeps tensors in its own regions, which hide the end and the reuse of
    # a tensor's memory from a sanitizer.
    "TF_ENABLE_ONEDNN_OPTS": "0",
}


def run(
    sanitizer: str, program: pathlib.Path, *arguments: object, **options: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program; its output and its errors are the result's stdout.

    Args:
      sanitizer: "address" or "thread".
      program: The program.
      *arguments: Its arguments.
      **options: Environment variables, such as LSAN_OPTIONS.

    The program is a Python file (*.py) or an executable. A sanitizer's runtime must be the first
    library of its process, so it is preloaded; the compiler knows where its runtimes are.
    """
    runtimes = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.strip()
        for name in _RUNTIMES[sanitizer]
    ]
    python = PYTHON if program.suffix == ".py" else []
    return subprocess.run(
        [*python, program, *map(str, arguments)],
        env={**os.environ, **_OPTIONS, **options, "LD_PRELOAD": ":".join(runtimes)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
