"""The resources that the GPU kernels' machine code uses, as cuobjdump reports them."""

import dataclasses
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator

import op_definitions
import pytest

# Below the directory that Bazel starts a test in.
_OBJECTS = sorted(pathlib.Path("tensorflow_ext").glob("**/*.pic.o"))
_TOOL = os.environ.get("CUOBJDUMP", "")

pytestmark = [
    pytest.mark.skipif(not _OBJECTS, reason="no GPU kernels: built without nvcc"),
    pytest.mark.skipif(not _TOOL, reason="no cuobjdump beside nvcc or on PATH"),
]

_ARCHITECTURES = {"sm_80", "sm_90"}
_PTX = {"sm_90"}  # code for later devices is made from this

# Registers per thread, by kernel. A multiprocessor of sm_80 and sm_90 has 65,536 of them for up to
# 2,048 threads: in blocks of 256, 32 registers keep all threads resident, 40 three quarters, 48
# five eighths.
_REGISTERS = {
    "ElementwiseKernel": 32,
    "BroadcastKernel<true>": 40,
    "BroadcastKernel<false>": 48,
    "BroadcastPacksKernel": 48,
    "BroadcastRowsKernel": 80,  # several packs in flight
    "DifferentiateRowsKernel": 80,
    "NormalizeRowsKernel": 64,
    "SumColumnsKernel": 40,
    "SumPartsKernel": 40,
    "AlignWeightsKernel": 64,
    "AlignKernel": 64,
    "AlignScatterKernel": 64,
    "AlignRowsKernel": 32,
    "ResampleKernel": 48,
    "ResampleScatterKernel": 40,
    "ResampleRowsKernel": 48,
    "ResampleWarpKernel": 64,
    "PoolKernel": 48,
    "ScatterKernel": 32,
    "RoundKernel": 16,
    "ElementsKernel": 32,
    "OrderedSumKernel": 32,
    "GatherKernel": 32,
    "NormSumsKernel": 42,
    "ClipFactorsKernel": 40,
    "ClipOutputsKernel": 40,
    "CorrelationCostKernel": 112,
    "CorrelationCostGradKernel": 112,
    "EmbeddingBagKernel": 40,
    "EmbeddingBagWeightsGradKernel": 48,
    "EmbeddingBagScatterKernel": 40,
    "EmbeddingBagOrderedKernel": 40,
    "RreluKernel": 48,
    "SparsemaxKernel": 80,
    "SparsemaxGradKernel": 64,
}
# The same for functors of ElementwiseKernel that compute longer or hold more. The modules of ops
# have further ones: the entry "registers".
_FUNCTOR_REGISTERS = {
    "GeluExact": 56,
    "GeluExactGrad": 48,
    "GeluTanh": 48,
    "GeluTanhGrad": 48,
    "PruneByMagnitudeGrad": 40,
}
_FUNCTOR_REGISTERS |= {
    op: one.facts["registers"]
    for op, one in op_definitions.definitions().items()
    if "registers" in one.facts
}
# The same for rows where a thread holds at least four packs, and sums as many columns in registers:
# two blocks are resident.
_LONG_ROW_REGISTERS = {"DifferentiateRowsKernel": 128}
# The same for rows where a thread holds eight packs: three blocks are resident, two for the
# gradient.
_LONGER_ROW_REGISTERS = {
    "DifferentiateRowsKernel": 128,
    "NormalizeRowsKernel": 80,
    "SparsemaxGradKernel": 128,
    "SparsemaxKernel": 80,
}
# Bytes per block. sm_90 reserves 1 KiB if there is any.
_SHARED = {
    "AlignRowsKernel": 1056,
    "ClipFactorsKernel": 1408,
    "DifferentiateRowsKernel": 9216,
    "ElementsKernel": 3072,
    "NormSumsKernel": 1408,
    "NormalizeRowsKernel": 1088,
    "ResampleRowsKernel": 1056,
    "SumColumnsKernel": 3072,
    "SumPartsKernel": 3072,
    "EmbeddingBagOrderedKernel": 1056,
    "SparsemaxGradKernel": 1088,
    "SparsemaxKernel": 1216,
}
# Kernels that access memory in packs of 16 bytes. If they do not, no result shows it, only the time
# on a GPU.
_PACKED = ("ElementwiseKernel", "BroadcastPacksKernel")
_PACK = r"{}\.global\S*\.(v2\.\w64|v4\.\w32)"


@dataclasses.dataclass
class Usage:
    """One kernel in the code of one architecture."""

    function: str
    architecture: str
    resources: dict[str, int]

    @property
    def kernel(self) -> str:
        """The kernel's name in the source, as in the budgets."""
        match = re.search(r"\d([A-Z][a-z]\w*?Kernel)(?:ILb([01]))?", self.function)
        assert match, f"not a kernel's name: {self.function}"
        flag = {None: "", "0": "<false>", "1": "<true>"}[match[2]]
        return match[1] + flag

    @property
    def registers(self) -> int:
        """The number of registers that a thread may take."""
        if re.search(r"RowShapeILi256ELi\dELi8E", self.function):
            return _LONGER_ROW_REGISTERS[self.kernel]
        if re.search(r"RowShapeILi\d+ELi\dELi[48]E", self.function):
            return _LONG_ROW_REGISTERS.get(self.kernel, _REGISTERS[self.kernel])
        return _FUNCTOR_REGISTERS.get(self.functor, _REGISTERS[self.kernel])

    @property
    def functor(self) -> str:
        """The functor of an ElementwiseKernel; empty for others."""
        match = re.search(r"ElementwiseKernelINS_(\d+)(\w+)", self.function)
        return match[2][: int(match[1])] if match else ""


def _cuobjdump(option: str, path: pathlib.Path) -> str:
    command = [_TOOL, option, str(path)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _usages() -> Iterator[Usage]:
    for path in _OBJECTS:
        architecture = function = ""
        for line in _cuobjdump("-res-usage", path).splitlines():
            words = line.replace("=", " ").split()
            if words[:1] == ["arch"]:
                architecture = words[1]
            elif words[:1] == ["Function"]:
                function = words[1].rstrip(":")
            elif line.strip().startswith("REG:"):
                pairs = (word.rsplit(":", 1) for word in words)
                yield Usage(function, architecture, {k: int(v) for k, v in pairs})


@pytest.fixture(scope="module")
def usages() -> list[Usage]:
    found = list(_usages())
    assert found, "cuobjdump -res-usage names no kernel"
    return found


def test_every_kernel_has_a_budget(usages: list[Usage]) -> None:
    kernels = {usage.kernel: usage.resources["REG"] for usage in usages}
    missing = [f"{k} ({n} registers)" for k, n in kernels.items() if k not in _REGISTERS]
    assert not missing, f"no budget: add a row to _REGISTERS in {__file__}"


def test_every_budget_has_a_kernel(usages: list[Usage]) -> None:
    kernels = {usage.kernel for usage in usages}
    for budgets in (_REGISTERS, _LONG_ROW_REGISTERS, _LONGER_ROW_REGISTERS, _SHARED):
        assert set(budgets) <= kernels, "a row names no kernel"
    functors = {usage.functor for usage in usages}
    assert set(_FUNCTOR_REGISTERS) <= functors, "a row names no functor"


def test_nothing_is_in_local_memory(usages: list[Usage]) -> None:
    spilled = [u for u in usages if u.resources["STACK"] or u.resources["LOCAL"]]
    assert not spilled


def test_registers(usages: list[Usage]) -> None:
    over = [u for u in usages if u.resources["REG"] > u.registers]
    assert not over


def test_shared_memory(usages: list[Usage]) -> None:
    over = [u for u in usages if u.resources["SHARED"] > _SHARED.get(u.kernel, 0)]
    assert not over


def test_packs_are_read_and_written_whole() -> None:
    """Reads PTX, because cuobjdump needs nvdisasm to show machine code."""
    found = set()
    for path in _OBJECTS:
        for entry in _cuobjdump("-ptx", path).split(".entry ")[1:]:
            kernel = Usage(entry.split("(")[0], "", {}).kernel
            if kernel in _PACKED:
                found.add(kernel)
                for access in ("ld", "st"):
                    assert re.search(_PACK.format(access), entry), entry.split("(")[0]
    assert found == set(_PACKED)


@pytest.mark.parametrize(("option", "expected"), [("-lelf", _ARCHITECTURES), ("-lptx", _PTX)])
@pytest.mark.parametrize("path", _OBJECTS, ids=lambda path: path.name)
def test_architectures(path: pathlib.Path, option: str, expected: set[str]) -> None:
    assert set(re.findall(r"\.(sm_\w+)\.", _cuobjdump(option, path))) == expected
