"""Results as a table, in the terminal and as Markdown."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence

import limits
import summary
from results import Move, Result, Suite, by_group
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_HEADINGS = (
    "case",
    "ours",
    "needs",
    "of limit",
    "memory",
    "rival",
    "its memory",
    "ratio",
    "bar",
    "note",
)
_OF_LIMIT, _RATIO = _HEADINGS.index("of limit"), _HEADINGS.index("ratio")
_IS_NUMBER = tuple(heading not in ("case", "rival", "note") for heading in _HEADINGS)

_HOW_TO_READ = """\
Each case and its rivals are measured alternately in one process. *ours* is the median
time of our side. *ratio* is that time divided by the rival's: below 1 we are faster. It
is the median of the rounds' ratios, so a machine that drifts does not change it. *bar*
is the target ratio; a ratio in bold misses it. *memory* is the peak of TensorFlow's
allocators during a step, without its inputs; it is unknown for XLA and PyTorch. PyTorch
computes the same results, which are checked first, with as many threads, and eagerly
unless the row says otherwise. *Freed memory* is *kept* if malloc does not return it to
the system; otherwise each large result of either side would be mapped and cleared
again, and most of these ops would spend half of their time on that.

*needs* is the minimum work of a call: the bytes of each input and each result (a table
row counts each time it is used), and additions, multiplications and comparisons unless
they are few compared with the bytes. *of limit* is the share of our time that this
minimum takes: a copy of as many bytes, measured alternately with us and past the caches
if that is faster, or as many operations at the rate of a product of large matrices,
whichever takes longer. The goal is 0.85; less is in bold. Values above 1 are possible,
because a copy writes half of its bytes, and an op often fewer.

If a call takes less than 4 ms, a step runs several calls on different tensors, and
*ours* is the time of one op. The rows *one call* run a single call in eager mode, with
its full overhead in TensorFlow or PyTorch.

*64 threads, simulated* is computed on this machine: the work is split as for 64 threads,
the shards run one after the other, and the memory shows which cache lines each shard
wrote. *ours* is the least time of the threads: the longest shard or an equal part,
compared with all shards on one thread. If the work is split evenly, the ratio is 0.016;
less work than 0.03 ms per thread is not worth a thread. Contention for shared memory is
not included."""


def _cells(results: Sequence[Result]) -> Iterator[list[str]]:
    """The texts of each row; a cell equal to the one above is omitted."""
    case = side = note = None
    for result in results:
        is_case = case != result.case
        is_side = is_case or side != result.seconds
        yield [
            result.case if is_case else "",
            _in_units(result.seconds) if is_side else "",
            _needs(result.needs) if is_side else "",
            _fraction(result.of_limit) if is_side else "",
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


def _needs(needs: limits.Needs | None) -> str:
    if needs is None:
        return ""
    if not needs.operations:
        return _in_megabytes(needs.bytes)
    return f"{_in_megabytes(needs.bytes)}, {needs.operations / 1e6:.0f} Mop"


def _fraction(part: float | None) -> str:
    return "" if part is None else f"{part:.2f}"


def _in_megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.1f} MB"


def print_table(console: Console, results: Sequence[Result]) -> None:
    """Prints the table; ratios are green or red where they have a bar."""
    table = Table(title="Our time divided by the rival's; below 1 is faster")
    for heading, is_number in zip(_HEADINGS, _IS_NUMBER, strict=True):
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number)
    for group, members in by_group(results):
        table.add_section()
        table.add_row(f"[bold]{escape(group)}[/]")
        for result, cells in zip(members, _cells(members), strict=True):
            cells = [escape(cell) for cell in cells]
            if cells[_OF_LIMIT]:
                color = "green" if result.is_at_limit else "red"
                cells[_OF_LIMIT] = f"[{color}]{cells[_OF_LIMIT]}[/]"
            if result.bar is not None:
                color = "green" if result.reached else "red"
                cells[_RATIO] = f"[{color}]{cells[_RATIO]}[/]"
            table.add_row(*cells)
    console.print(table)


def write_markdown(
    record: Mapping[str, Suite], pictures: Sequence[str], file: pathlib.Path
) -> None:
    """Writes the tables and the machine as Markdown.

    Args:
      record: The suites, in their order.
      pictures: Names of files in the folder of `file`.
      file: The file to write.
    """
    newest = max(record.values(), key=lambda suite: suite.date)
    lines = ["# Benchmarks", ""]
    lines += []
    facts = newest.machine | {"date": newest.date}
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    rows = [result for suite in record.values() for result in suite.results]
    table, said = summary.text(rows)
    lines += ["", table, "", said, "", _HOW_TO_READ]
    for picture in pictures:
        name = picture.removesuffix(".png").replace("_", " ")
        lines += ["", f"![{name}]({picture})"]
    for suite in record.values():
        for group, members in by_group(suite.results):
            lines += ["", f"## {group}", "", *_when(suite, newest)]
            lines += _markdown_rows(members)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _when(suite: Suite, newest: Suite) -> list[str]:
    """The date of a suite and its machine, if they differ from the newest suite's."""
    other = [
        f"{name} {value}"
        for name, value in suite.machine.items()
        if newest.machine.get(name) != value
    ]
    if suite.date == newest.date and not other:
        return []
    return [f"Measured on {', '.join([suite.date, *other])}.", ""]


def _markdown_rows(results: Sequence[Result]) -> Iterator[str]:
    rule = "|".join("--:" if is_number else "---" for is_number in _IS_NUMBER)
    yield from (f"| {' | '.join(_HEADINGS)} |", f"|{rule}|")
    for result, cells in zip(results, _cells(results), strict=True):
        cells = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
        if cells[_OF_LIMIT] and not result.is_at_limit:
            cells[_OF_LIMIT] = f"**{cells[_OF_LIMIT]}**"
        if not result.reached:
            cells[_RATIO] = f"**{cells[_RATIO]}**"
        yield f"| {' | '.join(cells)} |"


def print_moves(
    console: Console, moves: Sequence[Move], against: pathlib.Path, machines: Sequence[str] = ()
) -> None:
    """Prints the rows that changed by more than the noise since the run that wrote `against`, and
    how that run's machine differed."""
    if machines:
        console.print(f"{against} is from another machine, which alone can change a ratio:")
        for line in machines:
            console.print(f"  {line}", markup=False, highlight=False)
    if not moves:
        console.print(f"nothing changed by more than the noise since {against}")
        return
    table = Table(title=f"changed by more than the noise since {against}")
    for heading in ("group", "case", "rival"):
        table.add_column(heading)
    for heading in ("was", "is"):
        table.add_column(heading, justify="right")
    for move in moves:
        color = "red" if move.is_slower else "green"
        texts = (move.row.group, move.row.case, move.row.rival)
        table.add_row(*map(escape, texts), f"{move.was:.2f}", f"[{color}]{move.now:.2f}[/]")
    console.print(table)
