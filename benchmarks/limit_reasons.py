# SPDX-License-Identifier: Apache-2.0
"""Why ops take longer than the machine's limit: a section of docs/benchmarks.md, made
from the rows, so that none is passed over."""

import textwrap
from collections.abc import Sequence

from reasons import Reason, explained
from results import LIMIT_BAR, Result

# Of rows that are that short, whatever they are.
SMALL = Reason(
    "Less than 0.1 ms",
    "A node of a graph takes several µs, whatever it does (the smallest tensors of"
    " *cost over bytes of a tensor*), and a second thread has to wake up first: the"
    " copy has neither.",
    ".*",
    shorter_than=1e-4,
)

_ANY_SHAPE = "activations, .*|any shape, .*"

# The first that explains a row is printed with it.
LIMITS = (
    Reason(
        "Regions and points",
        "*needs* counts a pixel once; a bin or a point reads its own anew, from the"
        " caches: RoiAlign of 256 regions, at 4 samples a bin, 206 MB where 23 MB are"
        " counted, Resampler four pixels a point. Where there are 3 channels, to find"
        " them and their weights takes longer than to sum them up. RoiPool keeps with a"
        " maximum where it is.",
        "Roi(Pool|Align)|Resampler|cost over regions|cost over threads",
        "(Roi(Pool|Align)|Resampler|forward).*",
    ),
    Reason(
        "CorrelationCost",
        "The limit is a product of large matrices, which multiplies what it has loaded"
        " dozens of times, and adds in the same instruction. Here a pixel meets only"
        " those at its own displacements, few of which are its neighbours' too; a"
        " product is rounded before it is added, so that all instruction sets have the"
        " same result. The outputs of a displacement lie one apart from the next"
        " one's and have to be transposed.",
        "CorrelationCost|cost over displacement|cost over threads",
        "(CorrelationCost|forward).*",
    ),
    Reason(
        "ZeroOut",
        "It only writes, while half of what a copy moves is read: memset of as many"
        " bytes by as many threads takes as long.",
        "elementwise, .*",
        "ZeroOut",
    ),
    Reason(
        "FloorMod's gradient",
        "The exact quotients take two thirds of the time, also of operands in the cache.",
        "elementwise, .*",
        "FloorModGrad",
    ),
    Reason(
        "FloorMod and MultiplyLeft",
        "The gradient of the row that is broadcast is TensorFlow's Sum over the others,"
        " which reads once more what the op has written. FloorMod's remainder is exact"
        " of every quotient.",
        _ANY_SHAPE,
        "(floor_mod|multiply_left),.*",
    ),
    Reason(
        "ClipByGlobalNorm",
        "The norm is known when all has been read, and what is clipped is read again:"
        " *needs* counts it once. Of 0.6 MB, to hand 200 tensors on takes longer than"
        " the values; eager, Python prepares them.",
        "ClipByGlobalNorm.*|any shape, .*|cost over threads",
        "(clip_by_global_norm.*|forward.*|ClipByGlobalNorm .*)",
    ),
    Reason(
        "ReLU's gradient up to 32 MB",
        "Its result is written through the caches, where the next op may find it: each"
        " line is read first, a quarter of all that is moved. A copy of as many bytes"
        " writes past them.",
        "cost over bytes of a tensor|cost over threads",
        "Relu gradient, .*",
    ),
    Reason(
        "Functions",
        "Arithmetic that *needs* does not count: 20 to 60 operations a value, each"
        " rounded, so that all instruction sets have the same result; of Snake the"
        " reduction of the angle, of RReLU Threefry's random numbers.",
        f"{_ANY_SHAPE}|cost over bytes of a tensor|cost over threads",
        "(?i)(gelu|swiglu|mish|lisht|tanhshrink|snake|rrelu|prune).*",
    ),
    Reason(
        "Normalization",
        "A row is gone over three times, in the nearest cache: for the mean, for the"
        " deviations, for the result; backward twice, with sums over the rows beside"
        " it.",
        "(Layer|Rms)Norm|cost over (bytes of a tensor|threads)",
        "((Layer|Rms)Norm|forward).*",
    ),
    Reason(
        "Sparsemax",
        "A row is gone over several times until no more value falls below its"
        " threshold. Under XLA that is a loop for all rows at once, which ends with the"
        " slowest.",
        "Sparsemax|cost over threads",
        "(Sparsemax|forward).*",
    ),
    Reason(
        "EmbeddingBag",
        "Rows at random places: of a large table each waits for memory. Backward, the"
        " positions are sorted by row first, so that each row is one thread's.",
        "EmbeddingBag( of .*)?|cost over (bags|rows of the table|threads)",
        "(EmbeddingBag|forward).*",
    ),
)


def _reason(result: Result) -> Reason | None:
    reasons = (SMALL, *LIMITS)
    return next((reason for reason in reasons if reason.explains(result)), None)


def section(results: Sequence[Result]) -> list[str]:
    """The lines of the section on all rows of the page."""
    # What is beside several rivals has a row for each.
    ours = {
        (result.group, result.case, result.seconds): result
        for result in results
        if result.of_limit is not None
    }
    below = [result for result in ours.values() if not result.is_at_limit]
    lines = ["## What keeps ops from the limit", ""]
    lines += textwrap.wrap(
        f"Of {len(ours)} cases whose limit is known, {len(ours) - len(below)} reach"
        f" {LIMIT_BAR} of it. The others:",
        88,
    )
    lines.append("")
    return lines + explained(
        below,
        (SMALL, *LIMITS),
        _reason,
        lambda result: result.of_limit or 0.0,
        lambda result: f"{result.of_limit:.2f} of the limit",
    )
