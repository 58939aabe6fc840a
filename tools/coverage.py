"""Counts TensorFlow's ops that have a gradient, client by client.

Prints the totals and writes one HTML page with a row for each op and a search
field. First order is read from the registries of the running TensorFlow. Second
order is that which the tests compare, and where they compare none (TensorFlow's own
gradients, this library's ops) TF_AddGradients is asked for it.
"""

import argparse
import dataclasses
import html
import pathlib
import string
import subprocess
import sys
from collections.abc import Iterable, Sequence

import tensorflow as tf
from rich.console import Console
from rich.table import Table
from tensorflow.python.framework import ops as python_ops

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "stock_gradients"))

from covered_ops import NO_SECOND_ORDER, ONLY_IN_CLIENTS, ONLY_IN_PYTHON, WITHOUT_CASES  # noqa: E402
from parity import HERE, load_cases  # noqa: E402
from without_gradient import reason as reason_of_none  # noqa: E402

PROBE = ROOT / "tools" / "coverage_probe.py"
# The fields of a row that are counted, by registry.
_STOCK, _EXTENDED = "TensorFlow's", "with tensorflow_ext"
GROUPS = {
    "Python": {"python_stock": _STOCK, "python": _EXTENDED, "fixed": "changed by fix()"},
    "function registry": {"function_stock": _STOCK, "function": _EXTENDED},
    "C and C++": {
        "client_stock": _STOCK,
        "client": _EXTENDED,
        "stands_in": "in place of TensorFlow's",
        "second": "second order",
        "beyond": "not in Python",
    },
}
COLUMNS = {
    name: f"{group}: {label}" for group, labels in GROUPS.items() for name, label in labels.items()
}
# The tests compare the second order of these ops with differences or with Python's.
COMPARED = {
    case.op
    for case in load_cases(sorted(path.stem for path in HERE.glob("cases_*.py")))
    if case.second_order and not case.error
} - NO_SECOND_ORDER.keys()


@dataclasses.dataclass
class Row:
    """One op, and the registries that have its gradient; see COLUMNS.

    `declared_none`: a registry declares that the op has no gradient.
    `second`: a client can differentiate the gradient once more.
    """

    op: str
    python_stock: bool = False
    python: bool = False
    fixed: bool = False
    function_stock: bool = False
    function: bool = False
    client_stock: bool = False
    client: bool = False
    stands_in: bool = False
    second: bool = False
    declared_none: bool = False

    @property
    def beyond(self) -> bool:
        return self.client and not self.python_stock and "TfExt>" not in self.op

    @property
    def reasons(self) -> list[str]:
        """The reasons why a gradient is missing somewhere."""
        if self.declared_none and not self.client:
            return []
        if not (self.client or self.python_stock or self.function):
            why = reason_of_none(self.op)
            return [why] if why else []
        found = []
        if self.python_stock and not self.client:
            found.append(f"C and C++: {ONLY_IN_PYTHON[self.op]}")
        if self.client and not self.function:
            found.append(f"function registry: {ONLY_IN_CLIENTS[self.op]}")
        if self.client and not self.second:
            found.append(f"second order: {second_order_reason(self.op)}")
        return found


def second_order_reason(op: str) -> str:
    if op in NO_SECOND_ORDER:
        return NO_SECOND_ORDER[op]
    why = WITHOUT_CASES.get(op, "no case compares it")
    if " " in why:
        return why
    return f"the second order of {why} uses it, but no case goes further"


def python_gradients() -> set[str]:
    """The ops with a gradient in Python, before this library adds any."""
    registry = python_ops.gradient_registry
    return {op for op in registry.list() if registry.lookup(op) is not None}


def second_orders(ops: Sequence[str], library: str) -> dict[str, bool]:
    """For each op, true if TF_AddGradients can differentiate it twice.

    An op that aborts the process counts as false.
    """
    results: dict[str, bool] = {}
    remaining = list(ops)
    while remaining:
        process = subprocess.run(
            [sys.executable, str(PROBE), library],
            input="\n".join(remaining),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        done = [line.split("\t") for line in process.stdout.splitlines()]
        for op, first, second in done:
            results[op] = first == "yes" and second in ("yes", "none")
        if process.returncode == 0:
            break
        results[remaining[len(done)]] = False
        remaining = remaining[len(done) + 1 :]
    return results


def collect() -> list[Row]:
    """A row for each of TensorFlow's ops, then for each of this library's."""
    stock_ops = _registered_ops()
    python_stock = python_gradients()
    from tensorflow_ext._runtime import _fixing, _library

    python = python_gradients()
    bits = _library.Registries
    rows = []
    for op in [*stock_ops, *sorted(set(_registered_ops()) - set(stock_ops))]:
        found = _library.registries(op)
        function = bits.FUNCTION_GRADIENT in found
        bridged = bits.CLIENT_BRIDGED in found
        rows.append(
            Row(
                op,
                python_stock=op in python_stock,
                python=op in python,
                fixed=op in _fixing.FIXED,
                function_stock=bits.FUNCTION_STANDS_IN in found
                or (function and bits.FUNCTION_OWN not in found),
                function=function,
                client_stock=bits.CLIENT_STANDS_IN in found
                or (bits.CLIENT_GRADIENT in found and not bridged),
                client=bits.CLIENT_GRADIENT in found,
                stands_in=bits.CLIENT_STANDS_IN in found,
                declared_none=bool(found & (bits.CLIENT_NO_GRADIENT | bits.FUNCTION_NO_GRADIENT)),
            )
        )
    asked = [row.op for row in rows if row.client and row.op[0] != "_" and row.op not in COMPARED]
    second = second_orders(asked, str(_library.PATH))
    for row in rows:
        row.second = row.op in COMPARED or second.get(row.op, False)
    return rows


def _registered_ops() -> list[str]:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    op_list = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return sorted(op.name for op in op_list.op)


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """The number of rows that have each column."""
    listed = list(rows)
    return {name: sum(getattr(row, name) for row in listed) for name in COLUMNS}


def print_totals(console: Console, rows: Sequence[Row]) -> None:
    stock = [row for row in rows if not row.op.startswith("TfExt>")]
    own = [row for row in rows if row.op.startswith("TfExt>")]
    table = Table(title="Ops with a gradient")
    table.add_column("registry", no_wrap=True)
    table.add_column(f"TensorFlow's {len(stock):,} ops", justify="right")
    table.add_column(f"tensorflow_ext's {len(own)} ops", justify="right")
    stock_totals, own_totals = totals(stock), totals(own)
    for name, heading in COLUMNS.items():
        table.add_row(heading, str(stock_totals[name]), str(own_totals[name]))
    console.print(table)
    table = Table(title="Ops with a gradient in some places but not in others")
    table.add_column("op")
    table.add_column("where it is missing, and why")
    for row in filter(is_gap, rows):
        table.add_row(row.op, "; ".join(row.reasons))
    console.print(table)


PAGE = string.Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>Gradients of TensorFlow's ops, client by client</title>
<style>
  body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 88rem;
         color: #222; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { padding: .2rem .35rem; border-bottom: 1px solid #ddd; text-align: center; }
  th:first-child, td:first-child { text-align: left; font-family: monospace;
                                   min-width: 15rem; overflow-wrap: anywhere; }
  thead th { background: #f6f6f6; }
  thead tr:nth-child(2) th { position: sticky; top: 0; }
  th { font-weight: 600; font-size: .9em; }
  td.why { font-size: .85em; text-align: left; min-width: 16rem; }
  .yes { color: #0a7d32; } .no { color: #bbb; }
  input { font: inherit; padding: .4rem .6rem; width: 20rem; margin: 1rem 1rem 1rem 0; }
</style></head><body>
<h1>Gradients of TensorFlow's ops, client by client</h1>
<p>TensorFlow $version. Second order: the tests compare the second gradient, or
TF_AddGradients can differentiate the gradient's graph again.</p>
<input id="search" type="search" placeholder="Search an op" autofocus>
<label><input id="gaps" type="checkbox" style="width:auto"> only ops with a gradient
in some places but not in others</label>
<table><thead><tr><th></th>$groups<th></th></tr>
<tr><th>op</th>$headings<th>why it is missing</th></tr>
<tr><th>total of $count</th>$totals<th></th></tr></thead>
<tbody>
$rows
</tbody></table>
<script>
  const search = document.getElementById("search");
  const gaps = document.getElementById("gaps");
  const rows = [...document.querySelectorAll("tbody tr")];
  function filter() {
    const text = search.value.toLowerCase();
    for (const row of rows) {
      const found = row.cells[0].textContent.toLowerCase().includes(text);
      row.hidden = !found || (gaps.checked && !row.dataset.gap);
    }
  }
  search.addEventListener("input", filter);
  gaps.addEventListener("change", filter);
</script></body></html>
""")


def is_gap(row: Row) -> bool:
    return bool(row.reasons) and (row.client or row.python_stock or row.function)


def page(rows: Sequence[Row]) -> str:
    """The HTML page."""

    def cells(row: Row) -> str:
        return "".join(
            '<td class="yes">yes</td>' if getattr(row, name) else '<td class="no">–</td>'
            for name in COLUMNS
        )

    lines = [
        f"<tr{' data-gap=1' if is_gap(row) else ''}>"
        f"<td>{html.escape(row.op)}</td>{cells(row)}"
        f'<td class="why">{html.escape("; ".join(row.reasons))}</td></tr>'
        for row in rows
    ]
    return PAGE.substitute(
        version=tf.__version__,
        groups="".join(
            f'<th colspan="{len(labels)}">{group}</th>' for group, labels in GROUPS.items()
        ),
        headings="".join(
            f"<th>{label}</th>" for labels in GROUPS.values() for label in labels.values()
        ),
        totals="".join(f"<th>{total}</th>" for total in totals(rows).values()),
        count=len(rows),
        rows="\n".join(lines),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "out" / "coverage.html")
    arguments = parser.parse_args()
    console = Console()
    rows = collect()
    arguments.page.parent.mkdir(parents=True, exist_ok=True)
    arguments.page.write_text(page(rows), encoding="utf-8")
    print_totals(console, rows)
    console.print(f"page: {arguments.page}")


if __name__ == "__main__":
    main()
