# SPDX-License-Identifier: Apache-2.0
"""What numbers are measured on."""

import os
import pathlib
import platform
import re

import pytorch
import tensorflow as tf


def describe() -> dict[str, str]:
    """The processor and the versions of what runs there, by what they are."""
    name = platform.machine()
    cpu_info = pathlib.Path("/proc/cpuinfo")
    if cpu_info.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpu_info.read_text(), re.M)
        name = found[1] if found else name
    described = {
        "processor": f"{name}, {os.cpu_count()} cores",
        "TensorFlow": tf.__version__,
    }
    if pytorch.torch:
        described["PyTorch"] = pytorch.torch.__version__
    return described
