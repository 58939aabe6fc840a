# SPDX-License-Identifier: Apache-2.0
"""Why rows are above their bars: a section of docs/benchmarks.md, made from the rows,
so that none is passed over."""

import dataclasses
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from results import Result, by_group


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why some rows are above their bars.

    Attributes:
      title: What has it.
      text: The reason, in sentences.
      group: A regular expression that fits the rows' whole group; as are
      case: of their case and
      rival: of their rival.
      shorter_than: What a call takes less than, in seconds.
    """

    title: str
    text: str
    group: str
    case: str = ".*"
    rival: str = ".*"
    shorter_than: float = math.inf

    def explains(self, result: Result) -> bool:
        return (result.seconds or 0.0) < self.shorter_than and all(
            re.fullmatch(pattern, text)
            for pattern, text in (
                (self.group, result.group),
                (self.case, result.case),
                (self.rival, result.rival),
            )
        )


_COMPILED = "lowerings, jit_compile"

# Of rows that are at the machine's limit, whatever they are.
AT_LIMIT = Reason(
    "At the limit",
    "What these must move or compute takes, alone, as much of their time as it is to"
    " take: the rival is as near to it.",
    ".*",
)

# The first that explains a row is printed with it.
REASONS = (
    Reason(
        "The first gradient",
        "The definition is made a graph in C++, read in Python and interpreted node by"
        " node, here for the first time, when no cache holds what runs; `python -m"
        " tensorflow_ext explain 'TfExt>Snake'` lists eight. It is the mean of two"
        " types.",
        "the first gradient of an op in a type",
    ),
    Reason(
        "Nodes that run",
        "The gradients by the input, scale and offset of a normalization are outputs of"
        " one node, and each gets an Identity of its own: without it"
        " AddSymbolicGradients is wrong where they are differentiated once more."
        " TensorFlow keeps the Identities of what is fetched, here of all gradients.",
        "TF_AddGradients on (networks|models of Keras)",
        ".*: (nodes that run|a step)",
    ),
    Reason(
        "Nodes added",
        "What passes an upstream gradient on that another node takes too does so"
        " through an Identity, here and in TensorFlow's own gradient of BiasAdd: else"
        " second-order gradients by the two would be one. Those that are not fetched do"
        " not run.",
        "TF_AddGradients on (networks|models of Keras)",
        ".*: nodes added",
    ),
    Reason(
        "Chains of ReverseGradient",
        "Its gradient is a function with an attribute, Neg's is one node that"
        " TensorFlow's own C++ code adds.",
        "TF_AddGradients",
        ".*ReverseGradient",
    ),
    Reason(
        "Exact Gelu",
        "Bound by arithmetic, 28 multiplications and a division for 16 values: results"
        " that agree to the last bit between instruction sets allow no fused"
        " multiply-add. Under XLA the rival by erf, half as much arithmetic, has no"
        " relative accuracy in the tail; by erfc, tf.nn.gelu has it.",
        f"activations, .*|{_COMPILED}",
        "Gelu(Grad)?, exact.*|gelu, exact, .*",
    ),
    Reason(
        "RoiAlign beside crop_and_resize",
        "Both wait for pixels that the last cache has, which on a virtual machine"
        " others share: the same row was 0.41 and 0.61 in runs one after the other. Of"
        " 4 samples a bin the rival reads and weights as many pixels as this op; what"
        " it does more is to write the samples and to read them again.",
        "RoiAlign",
        "forward.*sampling_ratio 2.*",
        "crop_and_resize.*",
    ),
    Reason(
        "Tanhshrink and LiSHT under XLA",
        "x - tanh(x) of the rival has no correct digit for small x; ours has all of"
        " them, from a polynomial of its own. LiSHT shares it.",
        f"activations, .*|{_COMPILED}",
        "(Tanhshrink|Lisht)(Grad)?|(tanhshrink|lisht), .*",
        ".*jit_compile|TensorFlow's ops",
    ),
    Reason(
        "ClipByGlobalNorm of 0.6 MB under XLA",
        "XLA makes one program of all calls of a step. Between two of ours TensorFlow"
        " hands on 200 tensors, 134 of them of 16 values, which takes longer than to"
        " sum them up and to scale them.",
        "ClipByGlobalNorm.*",
        ".*, 0.6 MB, .*",
        ".*jit_compile",
    ),
    Reason(
        "ClipByGlobalNorm",
        "Clipped, both sides read each value twice and write it once: where the values"
        " exceed the caches, that is the limit of both. Ours computes in double,"
        " TensorFlow's in float: with AVX2 the conversions take half as long as the"
        " memory. A partition over threads that is the same in both passes changed"
        " nothing: what a thread has read it finds in its own cache only while its part"
        " fits.",
        "ClipByGlobalNorm.*",
    ),
    Reason(
        "CorrelationCost under XLA",
        "A loop over displacements: what is compiled does not grow with their number,"
        " and a NaN stays with the pixels that it meets. The rivals are unrolled, or"
        " products of matrices of which most is not needed.",
        _COMPILED,
        "CorrelationCost, .*",
    ),
    Reason(
        "Resampler under XLA",
        "A pixel without weight does not count, even if it is infinite, as in the"
        " kernels: a comparison and a selection for each value of a corner. The rival"
        " multiplies it by 0.",
        f"Resampler|{_COMPILED}",
        "(Resampler, )?.*forward.*",
        ".*gather_nd of 4 corners.*",
    ),
    Reason(
        "EmbeddingBag beside PyTorch",
        "PyTorch multiplies and adds in one instruction. Ours rounds the product, so"
        " that all instruction sets have the same result: where there is no such"
        " instruction, to compute what it gives takes tens of times as long.",
        "EmbeddingBag",
        "forward.*",
        "PyTorch .*",
    ),
    Reason(
        "FloorMod's gradient",
        "The quotient is the exact one, rounded down, for which a remainder is found."
        " The rival's floor(x / y) is one too large where the division rounds up to a"
        " whole number.",
        "elementwise, .*",
        "FloorModGrad",
        ".*jit_compile",
    ),
    Reason(
        "Small steps beside PyTorch",
        "A node of a graph costs more than a call of PyTorch (the smallest tensors of"
        " *cost over bytes of a tensor*), and TensorFlow's threads sleep between parts"
        " of the work where OpenMP's spin.",
        "LayerNorm|RmsNorm|Resampler",
        ".*",
        "PyTorch .*",
        shorter_than=1e-3,
    ),
)


def _reason(result: Result) -> Reason | None:
    if result.is_at_limit:
        return AT_LIMIT
    return next((reason for reason in REASONS if reason.explains(result)), None)


def section(results: Sequence[Result]) -> list[str]:
    """The lines of the section on all rows of the page."""
    with_bar = [result for result in results if result.bar is not None]
    above = [result for result in with_bar if not result.reached]
    clearly = [row for row in above if row.bar and row.is_clearly_above(row.bar)]
    lines = ["## What keeps ratios above their bars", ""]
    lines += textwrap.wrap(
        f"Of {len(with_bar)} rows with a bar, {len(above)} are above it,"
        f" {len(clearly)} of them by more than twice their spread, which is half the"
        " distance between the quartiles of their rounds. These are:",
        88,
    )
    lines.append("")
    return lines + explained(
        clearly,
        (AT_LIMIT, *REASONS),
        _reason,
        lambda result: result.ratio,
        lambda result: f"beside {result.rival}, {result.ratio:.2f}",
    )


def item(text: str) -> list[str]:
    """The lines of an item of a list."""
    return textwrap.wrap(f"- {text}", 88, subsequent_indent="  ")


def explained(
    results: Iterable[Result],
    reasons: Sequence[Reason],
    reason_of: Callable[[Result], Reason | None],
    number: Callable[[Result], float],
    describe: Callable[[Result], str],
) -> list[str]:
    """The lines of a list of reasons and, after it, of the rows that have none.

    Args:
      results: The rows.
      reasons: In the order of the list.
      reason_of: One of them.
      number: What is told of a reason's rows: from which to which it is.
      describe: What is to be said of a row without a reason.
    """
    of_reason: dict[Reason | None, list[Result]] = {}
    for result in results:
        of_reason.setdefault(reason_of(result), []).append(result)
    lines = []
    for reason in reasons:
        if reason in of_reason:
            numbers = [number(result) for result in of_reason[reason]]
            lines += item(f"**{reason.title}** ({_rows_and_range(numbers)}). {reason.text}")
    if unknown := of_reason.get(None):
        lines += ["", "Not understood yet:", "", *_listed(unknown, describe)]
    return lines


def _rows_and_range(numbers: Sequence[float]) -> str:
    """How many rows have them, and from which to which they are."""
    lowest, highest = (f"{f(numbers):.2f}" for f in (min, max))
    if len(numbers) == 1:
        return f"one row, {lowest}"
    return f"{len(numbers)} rows, {lowest} to {highest}"


def _listed(results: Sequence[Result], describe: Callable[[Result], str]) -> Iterator[str]:
    """The lines of a list of rows, each with what is to be said of it."""
    for group, members in by_group(results):
        for result in members:
            text = f"{group}: {result.case}, {describe(result)}"
            yield from item(text.replace("*", "\\*"))
