# SPDX-License-Identifier: Apache-2.0
"""Results as a table in the terminal, as Markdown and as a picture."""

import datetime
import itertools
import os
import pathlib
import platform
import re
from collections.abc import Iterator, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import measure
import pytorch
import tensorflow as tf
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_HEADINGS = ("case", "ours", "memory", "rival", "its memory", "ratio", "bar", "note")
_RATIO = _HEADINGS.index("ratio")
_IS_NUMBER = tuple(heading not in ("case", "rival", "note") for heading in _HEADINGS)

_HOW_TO_READ = """\
Each case is measured beside its rivals, in turns, in one process. *ours* is the median
time of our side, *ratio* that time over the rival's: below 1 we are faster. It is the
median of the rounds' ratios, which a machine that drifts does not disturb. *bar* is
the ratio that is to be reached; a ratio in bold does not reach it. *memory* is what
TensorFlow's allocators held at the peak of a step, its inputs aside; for what XLA or
PyTorch runs it is not known. The rival *a copy of as many bytes* only moves memory: no
kernel can be much faster. PyTorch computes the same, checked before it is measured,
eagerly unless the row says otherwise, with as many threads."""

_LIMITS = """\
## What keeps ratios above their bars

- **ResNet-18, nodes that run.** The gradients by the input, scale and offset of a batch
  normalization are outputs of one node, and each gets an Identity of its own: without
  it AddSymbolicGradients is wrong where they are differentiated once more. TensorFlow
  keeps the Identities of what is fetched, here of all gradients.
- **LSTM with CTC, a step.** What runs differs in 39 SplitV where Python has 39 Slice:
  the gradient of ConcatV2 makes both parts, of which nobody asks for one here.
- **GeluGrad, exact.** Bound by arithmetic, 0.74 ns an element and core: results that
  agree to the last bit between instruction sets allow no fused multiply-add.
- **ClipByGlobalNorm, clipped, 9.4 MB.** Both sides read each value twice and write it
  once, 28 MB. At a copy's bandwidth between two such buffers, 59 GB/s, that takes
  0.48 ms, 0.65 of the rival's time: the bar is the limit itself. Our loops alone reach
  it on threads that keep to their part of the values, which TensorFlow's do not.
- **PyTorch, small tensors.** To call a tf.function takes 0.1 ms and more; our eager
  rows show the op.
- **PyTorch, Resampler with 3 channels.** PyTorch computes many points at a time, we
  many channels, of which there are few here."""


def _cells(results: Sequence[measure.Result]) -> Iterator[list[str]]:
    """The texts of each row; what is as in the row above is left out."""
    case = side = note = None
    for result in results:
        is_case = case != result.case
        is_side = is_case or side != result.seconds
        yield [
            result.case if is_case else "",
            _in_units(result.seconds) if is_side else "",
            _in_megabytes(result.memory[0]) if is_side else "",
            result.rival,
            _in_megabytes(result.memory[1]),
            f"{result.ratio:.2f}",
            "" if result.bar is None else f"{result.bar:.2f}",
            result.note if is_side or note != result.note else "",
        ]
        case, side, note = result.case, result.seconds, result.note


def _in_units(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


def _in_megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.1f} MB"


def _by_group(
    results: Sequence[measure.Result],
) -> Iterator[tuple[str, list[measure.Result]]]:
    for group, members in itertools.groupby(results, lambda result: result.group):
        yield group, list(members)


def print_table(console: Console, results: Sequence[measure.Result]) -> None:
    """Prints the table; ratios are green or red where they have a bar."""
    table = Table(title="Our time over the rival's; below 1 is faster")
    for heading, is_number in zip(_HEADINGS, _IS_NUMBER, strict=True):
        table.add_column(
            heading, justify="right" if is_number else "left", no_wrap=is_number
        )
    for group, members in _by_group(results):
        table.add_section()
        table.add_row(f"[bold]{escape(group)}[/]")
        for result, cells in zip(members, _cells(members), strict=True):
            cells = [escape(cell) for cell in cells]
            if result.bar is not None:
                color = "green" if result.reached else "red"
                cells[_RATIO] = f"[{color}]{cells[_RATIO]}[/]"
            table.add_row(*cells)
    console.print(table)


def _machine() -> list[tuple[str, str]]:
    """What the numbers were measured on."""
    name = platform.machine()
    cpu_info = pathlib.Path("/proc/cpuinfo")
    if cpu_info.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpu_info.read_text(), re.M)
        name = found[1] if found else name
    torch = pytorch.torch
    return [
        ("processor", f"{name}, {os.cpu_count()} cores"),
        ("date", datetime.date.today().isoformat()),
        ("TensorFlow", tf.__version__),
        ("PyTorch", torch.__version__ if torch else "not installed"),
    ]


def write_markdown(results: Sequence[measure.Result], file: pathlib.Path) -> None:
    """Writes the table, and on what it was measured, as Markdown."""
    lines = ["# Benchmarks", ""]
    lines += [
        "`./run bench --torch --markdown docs/benchmarks.md` writes this page.",
        "",
    ]
    lines += [f"- {name}: {value}" for name, value in _machine()]
    lines += ["", _HOW_TO_READ]
    rule = "|".join("--:" if is_number else "---" for is_number in _IS_NUMBER)
    for group, members in _by_group(results):
        lines += ["", f"## {group}", "", f"| {' | '.join(_HEADINGS)} |", f"|{rule}|"]
        for result, cells in zip(members, _cells(members), strict=True):
            cells = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
            if not result.reached:
                cells[_RATIO] = f"**{cells[_RATIO]}**"
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", _LIMITS]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def draw(results: Sequence[measure.Result], file: pathlib.Path) -> None:
    """A bar a result: the ratio, on a logarithmic axis, with its bar marked."""
    lines: list[tuple[str, measure.Result | None]] = []
    for group, members in _by_group(results):
        lines.append((group, None))
        lines += [(f"{r.case}  |  {r.rival}", r) for r in members]
    figure, axes = plt.subplots(
        figsize=(12, 1.2 + 0.2 * len(lines)), layout="constrained"
    )
    for row, (_, result) in enumerate(lines):
        if result is None:
            continue
        color = "tab:green" if result.reached else "tab:red"
        if result.bar is None:
            color = "tab:gray"
        else:
            axes.plot([result.bar] * 2, [row - 0.4, row + 0.4], "k", linewidth=1.5)
        axes.barh(row, result.ratio - 1, left=1, color=color, height=0.75)
        # The number stands where neither the bar nor its mark is.
        is_faster = result.ratio < 1
        end = result.ratio if is_faster else max(result.ratio, result.bar or 0)
        axes.annotate(
            f"{result.ratio:.2f}",
            (end, row),
            xytext=(-3 if is_faster else 3, 0),
            textcoords="offset points",
            ha="right" if is_faster else "left",
            va="center",
            fontsize=7,
        )
    axes.set_yticks(range(len(lines)), [text for text, _ in lines], fontsize=7)
    for label, (_, result) in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if result is None else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", which="both", color="0.92")
    axes.set_axisbelow(True)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(len(lines) - 0.3, -0.7)
    axes.margins(x=0.08)
    axes.set_xlabel(
        "our time over the rival's: left of 1 is faster; black: the bar; gray: no bar"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)
