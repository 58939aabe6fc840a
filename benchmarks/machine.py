# SPDX-License-Identifier: Apache-2.0
"""What numbers are measured on."""

import ctypes
import gc
import os
import pathlib
import platform
import re

import pytorch
import tensorflow as tf

# What simd.h tells apart, the widest first.
_VECTORS = (("avx512f", "AVX-512"), ("avx2", "AVX2"))
# What glibc's manual calls tunables of malloc: one arena for all threads, for in a
# thread's own a large tensor has no place; nothing mapped for itself; nothing given
# back; large pages, also of a kernel that gives them to those alone that ask.
_KEEP_FREED_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {
        "arena_max": 1,
        "hugetlb": 1,
        "mmap_max": 0,
        "trim_threshold": 9_999_999_999,
    }.items()
)


def keep_freed_memory() -> None:
    """Has malloc keep what is freed, in processes that begin from now on.

    Else a result of 64 MB is memory that the system maps and clears anew, 16,384 page
    faults, in which most ops spend more time than in their work. A caller who has set
    GLIBC_TUNABLES has decided otherwise.
    """
    os.environ.setdefault("GLIBC_TUNABLES", _KEEP_FREED_MEMORY)


def give_back_freed_memory() -> None:
    """Has malloc give back what it keeps, and Python find what is free.

    Between cases of different sizes: the pieces of smaller tensors hold no larger one,
    and would be kept beside it.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def describe() -> dict[str, str]:
    """The processor and the versions of what runs there, by what they are."""
    cpu_info = pathlib.Path("/proc/cpuinfo")
    lines = cpu_info.read_text() if cpu_info.exists() else ""
    facts = dict(re.findall(r"^(model name|flags)\s*:\s*(.+)$", lines, re.M))
    flags = facts.get("flags", "").split()
    parts = [facts.get("model name", platform.machine()), f"{os.cpu_count()} cores"]
    parts += [vectors for flag, vectors in _VECTORS if flag in flags][:1]
    described = {"processor": ", ".join(parts), "TensorFlow": tf.__version__}
    if pytorch.torch:
        described["PyTorch"] = pytorch.torch.__version__
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    described["freed memory"] = (
        "kept" if tunables == _KEEP_FREED_MEMORY else tunables or "given back"
    )
    return described
