# SPDX-License-Identifier: Apache-2.0
"""Launches a kernel of emulator/faulty_kernels.cu.cc: of LIBRARY, the kernel NAME.

python3 faulty_kernels.py LIBRARY NAME
"""

import pathlib
import sys

import numpy as np
from arguments import address
from device import Device

INPUT = np.arange(64, dtype=np.float32)


def run(device: Device, name: str) -> np.ndarray:
    """What it makes of INPUT: as many values.

    Raises:
      DeviceError: The launch failed.
    """
    with device.memory():
        source = device.upload(INPUT)
        output = device.empty(INPUT.shape, INPUT.dtype)
        arguments = name.encode(), address(source), address(output), device.stream
        device.call("Kernel_Faulty", *arguments)
        return device.download(output)


if __name__ == "__main__":
    run(Device(pathlib.Path(sys.argv[1]), guards=False), sys.argv[2])
