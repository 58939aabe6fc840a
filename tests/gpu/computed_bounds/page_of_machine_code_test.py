# SPDX-License-Identifier: Apache-2.0
"""The page of the computed bounds is of the present kernels: their registers and
shared memory, where the nvcc that compiles them is that of the page."""

import os
import pathlib
import re
import subprocess

import machine_code
import pytest
import traffic

_OBJECTS = sorted(pathlib.Path("tensorflow_ext").glob("**/*.pic.o"))
_TOOL = os.environ.get("CUOBJDUMP", "")
_PAGE = pathlib.Path("docs/gpu_bounds.md")

pytestmark = [
    pytest.mark.skipif(not _OBJECTS, reason="no GPU kernels: built without nvcc"),
    pytest.mark.skipif(not _TOOL, reason="no cuobjdump beside nvcc or on PATH"),
]


def test_page_is_of_these_kernels() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    by = re.search(r"nvcc ([\d.]+\d)", page)
    assert by, f"no version of nvcc in {_PAGE}"
    if by[1] != os.environ["CUDA_VERSION"]:
        pytest.skip(f"another nvcc than the page's, {by[1]}")
    compiled: dict[str | None, tuple[str, str]] = {}
    for path in _OBJECTS:
        command = [_TOOL, "-res-usage", "-arch", "sm_90", str(path)]
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found = machine_code.resources(text)
        names = map(traffic.kernel_name, traffic.demangled(found))
        for name, usage in zip(names, found.values(), strict=True):
            compiled[name] = str(usage["registers"]), str(usage["shared"])
    rows = re.findall(r"^\| `([^`]+)` \| (\d+) \| (\d+) \|", page, re.M)
    assert rows, f"no kernels in {_PAGE}"
    stale = [row[0] for row in rows if compiled.get(row[0]) != row[1:]]
    assert not stale, (
        "docs/gpu_bounds.md is of other machine code than these kernels': make it "
        "again, tests/gpu/computed_bounds/computed_bounds.py says how"
    )
