"""The page of TensorFlow's own ops and the gradients that each client has."""

import html
import json

import coverage
import tensorflow as tf

from tensorflow_ext._runtime import _fixing, _library

_BITS = _library.Registries
# The columns of _cells().
_COLUMNS = ("Python", "C and C++", "function runtime", "second order in C")


def files() -> dict[str, str | bytes]:
    """The page, and the rows that a script puts into it."""
    rows = [row for row in coverage.collect() if not row.op.startswith(("TfExt>", "_"))]
    shown = [row for row in rows if row.python or row.client or row.function]
    own = [row for row in shown if _BITS.FUNCTION_OWN in _library.registries(row.op)]
    return {"stock_ops.md": _page(shown, len(own))}


def _cells(row: coverage.Row) -> list[str]:
    """The source of each client's gradient: this library, TensorFlow or none."""
    bits = _library.registries(row.op)
    if row.python_stock:
        python = "TensorFlow's"
        if row.op in _fixing.FIXED:
            python = "TensorFlow's, ours after fix()"
    else:
        python = "ours" if row.python else "none"
    client, function = "none", "none"
    if row.client:
        client = "ours" if _BITS.CLIENT_BRIDGED in bits else "TensorFlow's"
        if row.stands_in:
            client = "ours, replaces TensorFlow's"
    if row.function:
        function = "ours" if _BITS.FUNCTION_OWN in bits else "TensorFlow's"
        if _BITS.FUNCTION_STANDS_IN in bits:
            function = "ours, replaces TensorFlow's"
    return [python, client, function, "yes" if row.second else "no"]


def _page(rows: list[coverage.Row], own: int) -> str:
    lines = []
    for row in rows:
        cells = "".join(
            f'<td data-kind="{_kind(cell)}">{html.escape(cell)}</td>' for cell in _cells(row)
        )
        reasons = html.escape("; ".join(row.reasons))
        lines.append(f"<tr><td><code>{row.op}</code></td>{cells}<td>{reasons}</td></tr>")
    headings = "".join(f"<th>{name}</th>" for name in (*_COLUMNS, "why it is missing"))
    body = "\n".join(lines)
    return (
        "---\nhide: [navigation, toc]\n---\n\n# TensorFlow's ops\n\n"
        f"In TensorFlow {tf.__version__}, {len(rows)} ops have a gradient in some client. "
        f"This library provides one for {own} of them: C, C++ and the function runtime now "
        "differentiate ops that only Python could, and wrong gradients are fixed "
        "([known differences](known_differences.md)). "
        "`./run coverage` counts them.\n\n"
        '<div class="filter" data-filter="ops" data-choices='
        f"'{json.dumps({'ours somewhere': 'ours', 'none somewhere': 'none'})}'>\n"
        f"<table><thead><tr><th>op</th>{headings}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>\n</div>\n"
    )


def _kind(cell: str) -> str:
    return {"yes": "yes", "no": "none"}.get(cell, "ours" if "ours" in cell else cell)
