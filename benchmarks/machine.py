# SPDX-License-Identifier: Apache-2.0
"""What numbers are measured on."""

import os
import pathlib
import platform
import re

import pytorch
import tensorflow as tf

# What simd.h tells apart, the widest first.
_VECTORS = (("avx512f", "AVX-512"), ("avx2", "AVX2"))


def describe() -> dict[str, str]:
    """The processor and the versions of what runs there, by what they are."""
    cpu_info = pathlib.Path("/proc/cpuinfo")
    lines = cpu_info.read_text() if cpu_info.exists() else ""
    facts = dict(re.findall(r"^(model name|flags)\s*:\s*(.+)$", lines, re.M))
    flags = facts.get("flags", "").split()
    parts = [facts.get("model name", platform.machine()), f"{os.cpu_count()} cores"]
    parts += [vectors for flag, vectors in _VECTORS if flag in flags][:1]
    described = {
        "processor": ", ".join(parts),
        "TensorFlow": tf.__version__,
    }
    if pytorch.torch:
        described["PyTorch"] = pytorch.torch.__version__
    # Where the kernel gives large pages to those alone that ask, as some do,
    # `glibc.malloc.hugetlb=1` asks: else new tensors of 64 MB cost 16,384 page faults.
    if tunables := os.environ.get("GLIBC_TUNABLES"):
        described["GLIBC_TUNABLES"] = tunables
    return described
