"""Launches the kernel NAME of emulator/faulty_kernels.cu.cc, from LIBRARY.

python3 faulty_kernels.py LIBRARY NAME
"""

import pathlib
import sys

import numpy as np
from device import Device

INPUT = np.arange(64, dtype=np.float32)


def run(device: Device, name: str) -> np.ndarray:
    """The kernel's output for INPUT, with as many values.

    Raises:
      DeviceError: The launch failed.
    """
    with device.memory():
        source = device.upload(INPUT)
        output = device.empty(INPUT.shape, INPUT.dtype)
        device.launch("Faulty", name.encode(), source, output)
        return device.download(output)


if __name__ == "__main__":
    run(Device(pathlib.Path(sys.argv[1]), guards=False), sys.argv[2])
