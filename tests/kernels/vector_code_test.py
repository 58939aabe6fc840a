"""Loops over every elementary function are vector code.

A call or a branch in a loop makes the compiler leave it scalar without a warning, which is several
times slower. So this test reads the machine code.
"""

import pathlib
import re
from collections.abc import Iterator

import machine_code
import pytest

# Below the directory that Bazel starts a test in.
_HEADERS = pathlib.Path("tensorflow_ext/kernels")
_ELEMENTARY = ("arithmetic", "error_function", "exponential", "logarithm", "power", "trigonometric")
_LOOPS = next(pathlib.Path("tests/kernels").glob("libvector_loops*.a"))
_OPS = sorted(pathlib.Path("tensorflow_ext/ops").glob("lib*_cpu*.a"))

# Functions that no vector loop computes, and why.
_SCALAR_FUNCTIONS = {"Remainder": "exact of every quotient: it takes a bit of it at a time"}
# SSE2 cannot select from vectors of 64-bit numbers by a comparison.
_SCALAR_IN_BASELINE = {"Pow_float", "_double"}

# Loops of ops, by folder and a part of their name, that are scalar, call the C library or have
# smaller vectors, and why.
_SCALAR_LOOPS = {
    (
        "clip_by_global_norm",
        "RunAvx512<(anonymous namespace)::SumLoop<double",
    ): "vectors of AVX2, see SumIsa",
    ("correlation_cost", "TransposeRows<"): "squares of 16 bytes by as many rows",
    ("embedding_bag", "FindWrong<"): "ends at the first index that is out of range",
    ("floor_mod", "<FloorMod, double>"): "the remainder is exact of every quotient",
    ("floor_mod", "<FloorMod"): "vectors, but not where a quotient is beyond 2^28",
    ("resampler", "AddBlock<"): "vectors as large as a pixel of few channels",
    ("resampler", "SampleBlock<"): "vectors as large as a pixel of few channels",
    ("resampler", "StoreRow<"): "vectors as large as a pixel of few channels",
    ("roi_align", "MakeWeights<"): "a few numbers for each region",
    ("roi_pool", "PoolRows<"): "rounds four numbers for each region",
}

# Functions that no vector loop calls: the C library's mathematics.
_MATHEMATICS = re.compile(
    r"(sqrt|exp2?|expm1|log|log2|log10|log1p|pow|sin|cos|sincos|tan|atan2?|tanh|erfc?|"
    r"fmod|floor|ceil|rint|nearbyint|round|trunc|fma|hypot|cbrt)f?$"
)


def _functions_in_headers() -> Iterator[str]:
    """The names of the functions that functors may call: templates of a number's type."""
    for name in _ELEMENTARY:
        text = (_HEADERS / f"{name}.h").read_text(encoding="utf-8")
        text = re.sub(
            r"^namespace internal \{\n.*?^\}  // namespace internal\n",
            "",
            text,
            flags=re.DOTALL | re.MULTILINE,
        )
        declaration = r"^TENSORFLOW_EXT_HOST_DEVICE [\w<>]+ (\w+)\((?:bool|T)\b"
        yield from re.findall(declaration, text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def all_loops() -> dict[str, machine_code.Function]:
    """The loops of vector_loops.cc, by name."""
    named = re.compile(r"\w+_(float|double)_(baseline|avx2|avx512)$")
    found = machine_code.functions(str(_LOOPS))
    return {name: loop for name, loop in found.items() if named.match(name)}


@pytest.fixture(scope="module")
def loops(all_loops: dict[str, machine_code.Function]) -> dict[str, machine_code.Function]:
    """The loops that must be vector code."""
    return {k: v for k, v in all_loops.items() if not k.startswith("Faulty")}


def test_every_function_has_a_loop(loops: dict[str, machine_code.Function]) -> None:
    functions = set(_functions_in_headers())
    assert {"Sqrt", "Pow", "Sin", "Where", "Polynomial"} <= functions
    missing = functions - {name.split("_")[0] for name in loops}
    assert not missing, "no row in tests/kernels/elementary_functors.h"
    assert len(loops) == 6 * len(functions), "a row of another function, or none"


def test_no_loop_calls_the_c_library(loops: dict[str, machine_code.Function]) -> None:
    calls = {
        name: sorted(called)
        for name, loop in loops.items()
        if name.split("_")[0] not in _SCALAR_FUNCTIONS
        and (called := set(filter(_MATHEMATICS.match, loop.calls)))
    }
    assert not calls


def test_every_loop_is_vector_code(loops: dict[str, machine_code.Function]) -> None:
    scalar = set()
    for name, loop in loops.items():
        function, isa = name.rsplit("_", 1)
        excepted = isa == "baseline" and function.endswith(tuple(_SCALAR_IN_BASELINE))
        if not excepted and loop.vector_loops(isa) == 0:
            scalar.add(name.split("_")[0])
    assert scalar == set(_SCALAR_FUNCTIONS)


def _op_loops() -> Iterator[tuple[str, str, machine_code.Function]]:
    """The folder, the instruction set and the code of each loop that RunBest runs."""
    for path in _OPS:
        folder = path.name.removeprefix("lib").rpartition("_cpu")[0]
        for name, loop in machine_code.functions(str(path), demangle=True).items():
            if match := re.search(r"\bRun(?:Shared)?(Avx2|Avx512)<", name):
                loop.name = re.sub(r"tensorflow_ext::(internal::)?", "", name)
                yield folder, match[1].lower(), loop


def test_loops_of_ops_are_vector_code() -> None:
    scalar, excused, count = [], set(), 0
    for op, isa, loop in _op_loops():
        count += 1
        called = set(filter(_MATHEMATICS.match, loop.calls))
        shares = any("RunShared" in called for called in loop.calls)
        if (loop.has_vector_arithmetic(isa) or shares) and not called:
            continue
        reasons = {
            (folder, part) for folder, part in _SCALAR_LOOPS if folder == op and part in loop.name
        }
        excused |= reasons
        if not reasons:
            scalar.append((op, loop.name, called))
    assert count > 400, "no loops: is the op library among the test's data?"
    assert not scalar
    assert excused == set(_SCALAR_LOOPS), "a row of _SCALAR_LOOPS names no scalar loop"


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize(
    ("function", "calls"),
    [
        ("FaultySqrt_float", {"sqrtf"}),
        ("FaultyExp_float", {"expf"}),
        ("FaultyExp_double", {"exp"}),
        ("FaultySin_float", set()),
        ("FaultySin_double", set()),
    ],
)
def test_scalar_loops_are_found(
    all_loops: dict[str, machine_code.Function], function: str, calls: set[str], isa: str
) -> None:
    loop = all_loops[f"{function}_{isa}"]
    assert loop.loops
    assert loop.vector_loops(isa) == 0
    assert loop.calls == calls
