"""The machine that numbers are measured on."""

import ctypes
import gc
import os
import pathlib
import platform
import re

import pytorch
import tensorflow as tf

# The instruction sets that simd.h distinguishes, widest first.
_VECTORS = (("avx512f", "AVX-512"), ("avx2", "AVX2"))
# Malloc tunables from glibc's manual: one arena for all threads, because a large tensor does not
# fit in a thread's own; no separate mappings; nothing returned to the system; large pages,
# even from a kernel that gives them only on request.
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
    """Makes malloc keep freed memory, in processes that start from now on.

    Otherwise the system maps and clears a result of 64 MB each time, with 16,384 page faults, which
    take most ops longer than their work. A value of GLIBC_TUNABLES that the caller has set stays.
    """
    os.environ.setdefault("GLIBC_TUNABLES", _KEEP_FREED_MEMORY)


def give_back_freed_memory() -> None:
    """Makes malloc return the memory that it keeps, and Python collect garbage.

    Call it between cases of different sizes: the pieces of smaller tensors hold no larger one, and
    would stay allocated.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def describe() -> dict[str, str]:
    """The processor and the versions of the software, by what they are."""
    cpu_info = pathlib.Path("/proc/cpuinfo")
    lines = cpu_info.read_text() if cpu_info.exists() else ""
    facts = dict(re.findall(r"^(model name|cpu family|model|flags)\s*:\s*(.+)$", lines, re.M))
    flags = facts.get("flags", "").split()
    name = facts.get("model name", platform.machine())
    if "model" in facts:  # Virtual machines often hide the name.
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    parts = [name, f"{os.cpu_count()} cores"]
    parts += [vectors for flag, vectors in _VECTORS if flag in flags][:1]
    described = {"processor": ", ".join(parts), "TensorFlow": tf.__version__}
    if pytorch.torch:
        described["PyTorch"] = pytorch.torch.__version__
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    described["freed memory"] = (
        "kept" if tunables == _KEEP_FREED_MEMORY else tunables or "given back"
    )
    return described
