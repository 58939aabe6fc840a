"""The table op x client: the distance of gradients from central differences.

Run it, or call `deviations()` and `render()`.
"""

import math
import pathlib
import sys
from collections import Counter
from collections.abc import Callable

import rich.box
import rich.console
import rich.table

_HERE = pathlib.Path(__file__).absolute().parent
CLIENTS = ("eager", "tf.function", "tf.gradients", "SymbolicGradient", "C++", "C")

# By op and client: the largest deviation of any gradient of any case in double, relative for
# gradients larger than 1. Infinite: a check failed.
Deviations = dict[str, dict[str, float]]


def deviations(
    progress: Callable[[str], None] = lambda op: None, of_each: int | None = None
) -> Deviations:
    """Runs cases in double through every client.

    Args:
      progress: Called with the name of each op before its turn.
      of_each: The number of cases of each op, from the first on; all by default.

    Returns:
      The table, with ops and clients in display order.

    Raises:
      FileNotFoundError: The C or the C++ client is not built.
    """
    sys.path.append(str(_HERE / "python"))
    import case_files
    import judge
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")  # Retracing is intended here.
    table: Deviations = {}
    count: Counter[str] = Counter()
    for case in judge.in_one_type(case_files.read_all(), "double"):
        if case.error or count[case.op] == of_each:
            continue
        count[case.op] += 1
        if case.op not in table:
            progress(case.op)
        cells = table.setdefault(case.op, {})
        for client in CLIENTS:
            checks = list(judge.all_checks(case, client, quick=True))
            found = [c.deviation for c in checks if c.what == "gradient"]
            if not all(c.ok for c in checks):
                found = [math.inf]
            if found:
                cells[client] = max(cells.get(client, 0.0), *found)
    return table


def _cell(deviation: float | None) -> str:
    if deviation is None:
        return "-"
    if math.isinf(deviation):
        return "[red]wrong[/red]"
    return f"{deviation:.0e}" if deviation else "0"


def render(table: Deviations) -> rich.table.Table:
    """The table for a terminal."""
    result = rich.table.Table(
        title="Largest deviation of any gradient from central differences (double)",
        caption="0: equal to the last bit, as a linear piece of a function can be",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    result.add_column("op", no_wrap=True)
    for client in CLIENTS:
        # Wrapped for narrow terminals.
        header = client.replace("tf.", "tf.\n").replace("cGradient", "c\nGradient")
        result.add_column(header, justify="right", no_wrap=True)
    for op, cells in table.items():
        name = op.removeprefix("TfExt>")
        result.add_row(name, *(_cell(cells.get(client)) for client in CLIENTS))
    return result


def main() -> int:
    """Prints the table; exit status 1 if something in it is wrong."""
    table = deviations()
    rich.console.Console().print(render(table))
    wrong = any(math.isinf(d) for cells in table.values() for d in cells.values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
