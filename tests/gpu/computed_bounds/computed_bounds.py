# SPDX-License-Identifier: Apache-2.0
"""Computes how fast the kernels can be on an H100, without one, into a page.

tests/gpu/README.md says what it needs. page.py explains what is computed and how.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import device_limits
import machine_code
import page
import traffic
from machine_code import Kernel

_HERE = pathlib.Path(__file__).absolute().parent
_ROOT = _HERE.parents[2]
_KERNELS_ALONE = _HERE.parent / "kernels_alone"
sys.path.insert(0, str(_KERNELS_ALONE))

import families  # noqa: E402
from device import Device  # noqa: E402

TYPES = ("float", "half")
_BUILT = _ROOT / "bazel-bin/tests/gpu/kernels_alone"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--built", type=pathlib.Path, default=_BUILT)
    parser.add_argument("--tools", default="", help="folders, as in PATH")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--megabytes", type=int, default=4, help="a tensor's (4)")
    parser.add_argument("--blocks", type=int, default=8, help="of a launch that run (8)")
    parser.add_argument("--output", type=pathlib.Path, default=_ROOT / "docs/gpu_bounds.md")
    return parser.parse_args()


def _output(tools: str, *command: str) -> str:
    """What a tool prints."""
    path = os.pathsep.join(filter(None, (tools, os.environ["PATH"])))
    return subprocess.run(
        ["env", *command],  # looks for it along the new PATH
        stdout=subprocess.PIPE,
        env={**os.environ, "PATH": path},
        text=True,
        check=True,
    ).stdout


def _compiled(library: pathlib.Path, tools: str) -> dict[str, page.Compiled]:
    """The kernels of sm_90 in a library, by name."""

    def cuobjdump(option: str) -> str:
        return _output(tools, "cuobjdump", option, "-arch", "sm_90", str(library))

    kernels = list(machine_code.kernels(cuobjdump("-sass")))
    resources = machine_code.resources(cuobjdump("-res-usage"))
    names = map(traffic.kernel_name, traffic.demangled(k.name for k in kernels))
    return {
        name: page.Compiled(kernel, **resources[kernel.name])
        for name, kernel in zip(names, kernels, strict=True)
        if name is not None
    }


def demand(
    kernel: Kernel, launch: traffic.Launch, *, longest: bool = False
) -> device_limits.Demand:
    """What a launch wants: each warp goes once by the shortest way around the kernel's
    hot loop, and through this as often as its requests tell."""
    around = kernel.around()
    kinds = {k: float(n * launch.warps) for k, n in around.kinds.items()}
    if kernel.hot_loop is not None:
        once = kernel.once(longest=longest)
        requests = sum(t.requests for t in launch.traffic.values())
        times = max(0.0, requests - around.accesses * launch.warps) / once.accesses
        for kind, number in once.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + number * times
    sectors = sum(t.sectors for t in launch.traffic.values())
    return device_limits.Demand(kinds, sectors)


def _part(compiled: dict[str, page.Compiled], launch: traffic.Launch) -> page.Part:
    code = compiled[launch.kernel]
    return page.Part(
        launch, code, demand(code.kernel, launch), demand(code.kernel, launch, longest=True)
    )


class RowsDevice(Device):
    """Launches nothing until it is told to, but what later rows need the results of."""

    _NEEDED = ("Kernel_RoiPool", "Kernel_Sparsemax")  # where maxima and supports are

    def __init__(self, library: pathlib.Path) -> None:
        """Takes libkernels_counted.so."""
        super().__init__(library, guards=False)
        self.launches = False

    def call(self, name: str, *arguments: Any) -> None:
        """See Device.call."""
        is_launch = name.startswith("Kernel_") and "Scratch" not in name
        if not is_launch or self.launches or name.startswith(self._NEEDED):
            super().call(name, *arguments)


def _rows(arguments: argparse.Namespace, compiled: dict[str, page.Compiled]) -> Iterator[page.Row]:
    library = arguments.built / "libkernels_counted.so"
    device = RowsDevice(library)
    counter = traffic.Counter(library)
    for row in families.timing_rows(device, arguments.megabytes << 20):
        if row.dtype.split(",")[0] not in TYPES or arguments.only not in row.name:
            continue
        device.launches = True
        launches = counter.count(row.work, arguments.blocks)
        device.launches = False
        if not launches:  # a copy of the CUDA runtime's
            continue
        yield page.Row(
            row.name, row.dtype, row.size, [_part(compiled, launch) for launch in launches]
        )


def main() -> None:
    """Writes the page."""
    arguments = _arguments()
    compiled = _compiled(arguments.built / "libkernels.so", arguments.tools)
    rows = []
    for row in _rows(arguments, compiled):
        print(row.name, row.type, flush=True)
        rows.append(row)
    said = _output(arguments.tools, "nvcc", "--version")
    version = re.search(r"V([\d.]+)", said)
    assert version, f"nvcc --version says no version: {said}"
    text = page.page(rows, arguments.megabytes, version[1])
    arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
