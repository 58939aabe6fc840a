# SPDX-License-Identifier: Apache-2.0
"""The computed bounds, without nvcc: what reads machine code, the emulator's counts,
and that the page has a row for each that would be measured."""

import pathlib
import re

import computed_bounds
import device_limits
import embedding_bag_checks
import families
import machine_code
import pointwise_checks
import pytest
import traffic
from device import Device

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE.parent / "kernels_alone/libkernels_counted.so"
_PAGE = _HERE.parents[2] / "docs/gpu_bounds.md"
_SIZE = 1 << 16


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(_LIBRARY, guards=False)


@pytest.fixture(scope="module")
def counter(device: Device) -> traffic.Counter:
    del device  # loads the library
    return traffic.Counter(_LIBRARY)


@pytest.fixture(scope="module")
def relu() -> machine_code.Kernel:
    """ElementwiseKernel<Relu, float>."""
    (kernel,) = machine_code.kernels((_HERE / "relu.sass").read_text())
    return kernel


def test_hot_loop(relu: machine_code.Kernel) -> None:
    assert len(relu.loops) == 2  # of packs, and of what lies beside them
    once = relu.once()
    assert (once.accesses, once.bytes) == (2, 32)
    assert once.kinds["memory"] == 2
    assert once.kinds["integer"] >= 4  # FMNMX
    assert not once.kinds["double"]
    assert relu.once(longest=True).instructions == once.instructions
    around = relu.around()
    assert around.accesses == 0
    assert 0 < around.instructions < 60


_ADD = "\n".join(
    [
        "\t\tFunction : _Z9AddKernelPf",
        "        /*0000*/                   S2R R0, SR_TID.X ;",
        "        /*0010*/               @P0 EXIT ;",
        "        /*0020*/                   LDG.E R2, desc[UR4][R2.64] ;",
        "        /*0030*/               @P1 BRA 0x60 ;",
        "        /*0040*/                   MUFU.RCP R4, R2 ;",
        "        /*0050*/                   FFMA R2, R4, R4, R2 ;",
        "        /*0060*/                   BRA.DIV UR4, 0xc0 ;",
        "        /*0070*/                   SHFL.DOWN PT, R4, R2, 0x1, 0x1f ;",
        "        /*0080*/                   REDG.E.ADD.F32 desc[UR4][R6.64], R4 ;",
        "        /*0090*/               @P2 BRA 0x20 ;",
        "        /*00a0*/                   EXIT ;",
        "        /*00b0*/                   BRA 0xb0;",
        "        /*00c0*/                   WARPSYNC.COLLECTIVE R4, 0x70 ;",
        "        /*00d0*/                   BRA 0x70 ;",
    ]
)


@pytest.mark.parametrize(
    ("operator", "size"),
    [
        ("LDG.E", 4),
        ("LDG.E.U16", 2),
        ("STG.E.128", 16),
        ("LDG.E.64.CONSTANT", 0),
        ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", 4),
        ("REDG.E.ADD.F64.RN.STRONG.GPU", 8),
        ("REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU", 16),
        ("FADD", 0),
    ],
)
def test_bytes_of_an_access(operator: str, size: int) -> None:
    assert machine_code.Instruction(0, "", operator, "").bytes == size


def test_ways_through_a_loop() -> None:
    (kernel,) = machine_code.kernels(_ADD)
    assert list(kernel.loops) == [kernel.hot_loop] == [0x20]
    fewest, most = kernel.once(), kernel.once(longest=True)
    assert (fewest.instructions, most.instructions) == (6, 8)
    assert fewest.accesses == most.accesses == 2
    assert (fewest.kinds["special"], most.kinds["special"]) == (0, 1)
    assert fewest.kinds["exchange"] == 1
    assert kernel.around().instructions == 3


def test_resources() -> None:
    text = " Function _Z9AddKernelPf:\n  REG:30 STACK:0 SHARED:1056 LOCAL:0 CONSTANT[0]:576\n"
    expected = {"_Z9AddKernelPf": {"registers": 30, "shared": 1056}}
    assert machine_code.resources(text) == expected


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (
            "void tensorflow_ext::(anonymous namespace)::GradKernel<"
            "tensorflow_ext::Half, 4, (tensorflow_ext::Argument)0>("
            "tensorflow_ext::Dims, int*)",
            "GradKernel<Half, 4, Argument 0>",
        ),
        ("void tensorflow_ext::RoundKernel<float>(float const*)", "RoundKernel<float>"),
        ("void f::AddKernel<float>(int)::{lambda()#1}::operator()() const", None),
        ("emulator::Launch<f::LaunchKernel(int)>(emulator::Stream*)", None),
    ],
)
def test_kernel_name(function: str, name: str | None) -> None:
    assert traffic.kernel_name(function) == name


@pytest.mark.parametrize(
    ("registers", "shared", "threads"),
    [
        (32, 0, 2048),
        (33, 0, 1536),
        (40, 0, 1536),
        (48, 0, 1280),
        (128, 0, 512),
        (16, 100 << 10, 512),
    ],
)
def test_resident_threads(registers: int, shared: int, threads: int) -> None:
    assert device_limits.resident_threads(registers, shared, 256) == threads


def test_counts(device: Device, counter: traffic.Counter, relu: machine_code.Kernel) -> None:
    rows = pointwise_checks.timing_rows(device, _SIZE)
    row = next(r for r in rows if (r.name, r.dtype) == ("Relu", "float"))
    (launch,) = counter.count(row.work, most_blocks=3)
    assert launch.kernel == "ElementwiseKernel<Relu, float>"
    packs = _SIZE // 16
    assert launch.blocks * launch.threads == packs
    # All blocks are alike: the three that ran stand for all.
    for kind, requests in {"read": packs / 32, "write": packs / 32, "add": 0}.items():
        found = launch.traffic[kind]
        assert found.requests == pytest.approx(requests)
        assert found.bytes == pytest.approx(512 * requests)
        assert found.sectors == pytest.approx(16 * requests)
    demand = computed_bounds.demand(relu, launch)
    turns = relu.once().instructions + relu.around().instructions
    assert sum(demand.kinds.values()) == pytest.approx(turns * packs / 32)
    assert demand.sectors == pytest.approx(2 * _SIZE / 32)


def test_counts_what_is_apart(device: Device, counter: traffic.Counter) -> None:
    """A gradient that adds up: additions are told from writes, and threads that read
    what is not side by side touch more sectors than they need."""
    rows = embedding_bag_checks.timing_rows(device, _SIZE)
    row = next(r for r in rows if r.name == "EmbeddingBagWeightsGrad")
    (launch,) = counter.count(row.work, most_blocks=4)
    read = launch.traffic["read"]
    assert read.sectors > read.bytes / 32
    row = next(r for r in rows if r.name == "EmbeddingBagParamsGrad")
    added = counter.count(row.work, most_blocks=4)[0].traffic["add"]
    assert added.requests > 0
    assert added.bytes == 16 * 32 * added.requests  # four numbers a thread


def _rows_of_page() -> set[tuple[str, str]]:
    text = _PAGE.read_text(encoding="utf-8").split("## The kernels")[0]
    cells = re.findall(r"^\| ([\w ,]+) \| (half|float)\b[^|]*\| [\d.]+ \|", text, re.M)
    return set(cells)


def test_page_has_every_row() -> None:
    device = computed_bounds.RowsDevice(_LIBRARY)
    expected = {
        (row.name, row.dtype.split(",")[0])
        for row in families.timing_rows(device, 1 << 12)
        if row.dtype.split(",")[0] in computed_bounds.TYPES and row.name != "ZeroOut"
    }
    assert _rows_of_page() == expected, (
        "docs/gpu_bounds.md is of other kernels than these: make it again, "
        "tests/gpu/computed_bounds/computed_bounds.py says how"
    )
