"""Results as pictures: all ratios, and the cost of each op as its work grows."""

import itertools
import pathlib
from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from results import Result, by_group

# The prefix of the groups whose rows have a size; the kind of size follows.
COST_OVER = "cost over "

_PANELS_A_ROW = 4
# Up to this many sizes, each has its own tick.
_FEW = 5


def draw_ratios(results: Sequence[Result], file: pathlib.Path) -> None:
    """Draws a bar for each result: its ratio on a logarithmic axis, and a mark for its target."""
    lines: list[tuple[str, Result | None]] = []
    for group, members in by_group(results):
        lines.append((group, None))
        lines += [(f"{r.case}  |  {r.rival}", r) for r in members]
    figure, axes = plt.subplots(figsize=(12, 1.2 + 0.2 * len(lines)), layout="constrained")
    for row, (_, result) in enumerate(lines):
        if result is None:
            continue
        color = "tab:green" if result.reached else "tab:red"
        if result.bar is None:
            color = "tab:gray"
        else:
            axes.plot([result.bar] * 2, [row - 0.4, row + 0.4], "k", linewidth=1.5)
        axes.barh(row, result.ratio - 1, left=1, color=color, height=0.75)
        # Places the number outside the bar and the mark.
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
        "our time divided by the rival's: left of 1 is faster; black: the bar; gray: no bar"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def draw_growth(results: Sequence[Result], file: pathlib.Path) -> list[str]:
    """Draws a picture for each group whose rows have sizes: time over size, for ours and each
    rival, with logarithmic axes.

    Args:
      results: Rows; those without a size are skipped.
      file: The pictures are written to its folder, each with its group in its name.

    Returns:
      The names of the pictures.
    """
    names = []
    for group, rows in by_group([row for row in results if row.size is not None]):
        name = f"{file.stem}_{'_'.join(group.replace(',', '').split())}.png"
        _draw_curves(group, rows, file.with_name(name))
        names.append(name)
    return names


def _draw_curves(group: str, rows: Sequence[Result], file: pathlib.Path) -> None:
    """Draws a panel for each op; the case names the op before its first comma."""
    ops = {op: list(of) for op, of in itertools.groupby(rows, op_of)}
    columns = min(_PANELS_A_ROW, len(ops))
    lines = -(-len(ops) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(5 * columns, 4 * lines), layout="constrained", squeeze=False
    )
    for axes in panels.flat[len(ops) :]:
        axes.remove()
    for axes, (op, of_op) in zip(panels.flat, ops.items(), strict=False):
        seconds = {row.size: row.seconds for row in of_op}
        axes.plot(*_points(seconds), "k.-", label="ours")
        limit = {row.size: row.seconds * row.of_limit for row in of_op if row.of_limit}
        if limit:
            axes.plot(*_points(limit), "k:", label="the limit")
        for rival in dict.fromkeys(row.rival for row in of_op):
            of_rival = [row for row in of_op if row.rival == rival]
            axes.plot(
                [row.size for row in of_rival],
                [row.seconds / row.ratio for row in of_rival],
                ".-",
                label=rival,
            )
        axes.set(xscale="log", yscale="log", title=op)
        if len(seconds) < _FEW:
            sizes = sorted(seconds)
            axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
            axes.minorticks_off()
        axes.set_xlabel(group.removeprefix(COST_OVER))
        axes.grid(which="both", color="0.92")
        axes.legend(fontsize=7)
    for axes in panels[:, 0]:
        axes.set_ylabel("seconds a call")
    figure.suptitle(group)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=90)
    plt.close(figure)


def op_of(row: Result) -> str:
    """The panel of a row: its op and phase."""
    return row.case.split(",")[0]


def _points(values: dict[float, float]) -> tuple[list[float], list[float]]:
    """The axes of a curve: its sorted arguments and their values."""
    arguments = sorted(values)
    return arguments, [values[argument] for argument in arguments]
