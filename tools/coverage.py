# SPDX-License-Identifier: Apache-2.0
"""Counts TensorFlow's ops that have a gradient, client by client.

Prints the totals and writes one HTML page with a row for each op and a search
field. Everything is read from the registries of the running TensorFlow; first
and second order of the C and C++ client are asked for by TF_AddGradients.
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

from covered_ops import ONLY_IN_PYTHON  # noqa: E402

PROBE = ROOT / "tools" / "coverage_probe.py"
COLUMNS = {
    "python": "Python",
    "function": "function registry",
    "stock": "C/C++ stock",
    "extended": "C/C++ with tensorflow_ext",
    "stands_in": "stands in for stock",
    "second": "second order",
}


@dataclasses.dataclass
class Row:
    """One op: which client has a gradient of it; see COLUMNS.

    `declared_none`: the client registry says that the op has no gradient.
    `second`: TF_AddGradients differentiates its gradient's graph once more.
    """

    op: str
    python: bool = False
    function: bool = False
    stock: bool = False
    extended: bool = False
    stands_in: bool = False
    second: bool = False
    declared_none: bool = False

    @property
    def is_missing(self) -> bool:
        """Python has a gradient, and C and C++ have neither one nor "none"."""
        return self.python and not self.extended and not self.declared_none

    @property
    def reason(self) -> str:
        """Why it is missing."""
        return ONLY_IN_PYTHON.get(self.op, "") if self.is_missing else ""


def python_gradients() -> set[str]:
    """The ops with a gradient in Python, before this library adds any."""
    registry = python_ops.gradient_registry
    return {op for op in registry.list() if registry.lookup(op) is not None}


def second_orders(ops: Sequence[str], library: str) -> dict[str, bool]:
    """Whether each op can be differentiated twice by TF_AddGradients.

    An op that aborts the process counts as no.
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
    python = python_gradients()
    from tensorflow_ext import _library

    added = python_gradients() - python
    bits = _library.Registries
    rows = []
    for op in [*stock_ops, *sorted(set(_registered_ops()) - set(stock_ops))]:
        found = _library.registries(op)
        rows.append(
            Row(
                op,
                python=op in (added if op.startswith("TfExt>") else python),
                function=bits.FUNCTION_GRADIENT in found,
                stock=bits.CLIENT_STANDS_IN in found
                or (bits.CLIENT_GRADIENT in found and bits.CLIENT_BRIDGED not in found),
                extended=bits.CLIENT_GRADIENT in found,
                stands_in=bits.CLIENT_STANDS_IN in found,
                declared_none=bits.CLIENT_NO_GRADIENT in found,
            )
        )
    asked = [row.op for row in rows if row.extended and row.op[0] != "_"]
    second = second_orders(asked, str(_library.PATH))
    for row in rows:
        row.second = second.get(row.op, False)
    return rows


def _registered_ops() -> list[str]:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    op_list = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return sorted(op.name for op in op_list.op)


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows have each column."""
    listed = list(rows)
    return {name: sum(getattr(row, name) for row in listed) for name in COLUMNS}


def print_totals(console: Console, rows: Sequence[Row]) -> None:
    stock = [row for row in rows if not row.op.startswith("TfExt>")]
    own = [row for row in rows if row.op.startswith("TfExt>")]
    table = Table(title="Ops with a gradient")
    table.add_column("client")
    table.add_column(f"TensorFlow's {len(stock):,} ops", justify="right")
    table.add_column(f"tensorflow_ext's {len(own)} ops", justify="right")
    stock_totals, own_totals = totals(stock), totals(own)
    for name, heading in COLUMNS.items():
        table.add_row(heading, str(stock_totals[name]), str(own_totals[name]))
    console.print(table)
    missing = [row for row in stock if row.is_missing]
    table = Table(title=f"{len(missing)} with a gradient in Python, none in C and C++")
    table.add_column("op")
    table.add_column("why")
    for row in missing:
        table.add_row(row.op, row.reason)
    console.print(table)


PAGE = string.Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>Gradients of TensorFlow's ops, client by client</title>
<style>
  body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem;
         color: #222; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: center; }
  th:first-child, td:first-child { text-align: left; font-family: monospace;
                                   overflow-wrap: anywhere; }
  thead th { position: sticky; top: 0; background: #f6f6f6; }
  .why { font-size: .85em; text-align: left; }
  .yes { color: #0a7d32; } .no { color: #bbb; }
  input { font: inherit; padding: .4rem .6rem; width: 20rem; margin: 1rem 1rem 1rem 0; }
</style></head><body>
<h1>Gradients of TensorFlow's ops, client by client</h1>
<p>TensorFlow $version. Second order: TF_AddGradients differentiates the gradient's
graph once more.</p>
<input id="search" type="search" placeholder="Search an op" autofocus>
<label><input id="gaps" type="checkbox" style="width:auto"> only those that Python has
and C and C++ have not</label>
<table><thead><tr><th>op</th>$headings<th>why not</th></tr>
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


def page(rows: Sequence[Row]) -> str:
    """The HTML page."""

    def cells(row: Row) -> str:
        return "".join(
            '<td class="yes">yes</td>'
            if getattr(row, name)
            else '<td class="no">–</td>'
            for name in COLUMNS
        )

    lines = [
        f"<tr{' data-gap=1' if row.is_missing else ''}>"
        f"<td>{html.escape(row.op)}</td>{cells(row)}"
        f'<td class="why">{html.escape(row.reason)}</td></tr>'
        for row in rows
    ]
    return PAGE.substitute(
        version=tf.__version__,
        headings="".join(f"<th>{heading}</th>" for heading in COLUMNS.values()),
        totals="".join(f"<th>{total}</th>" for total in totals(rows).values()),
        count=len(rows),
        rows="\n".join(lines),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--page", type=pathlib.Path, default=ROOT / "out" / "coverage.html"
    )
    arguments = parser.parse_args()
    console = Console()
    rows = collect()
    arguments.page.parent.mkdir(parents=True, exist_ok=True)
    arguments.page.write_text(page(rows), encoding="utf-8")
    print_totals(console, rows)
    console.print(f"page: {arguments.page}")


if __name__ == "__main__":
    main()
