# SPDX-License-Identifier: Apache-2.0
"""Prints docs/known_differences.md: where gradients of TensorFlow disagree.

As a program: python known_differences.py --library LIB --kernels LIB
"""

import argparse
import dataclasses
import math
import os
import re
import sys
import unittest.mock
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import known_differences_functions
import known_differences_text as text
import numpy as np
from covered_ops import ONLY_IN_PYTHON, STAND_INS
from parity import (
    HERE,
    TOLERANCES,
    Case,
    Outcome,
    deviation,
    load_cases,
    run_cases,
    run_client,
)

Gradients = Sequence[np.ndarray | None]
# The ops that TensorFlow has a function gradient of and no client gradient.
FUNCTION_GRADIENT_ALONE = {
    *("Concat", "ConjugateTranspose", "MaxPoolGrad", "MulNoNan", "Reverse"),
    *("StridedSliceGrad", "Xdivy", "Xlog1py", "Xlogy"),
}
# Of float and half the differences are rough.
FUNCTION_TOLERANCE = 5e-2
# Whose cases put a gradient of their own in place of Python's.
OVERRIDDEN = {"StatelessParameterizedTruncatedNormal", "TopK", "XlaEinsum"}


@dataclasses.dataclass
class Difference:
    """A gradient that is not the reference's; the worst of its op and order."""

    op: str
    case: str
    order: str
    found: str
    ours: str = ""
    size: float = math.inf
    error: bool = False


def worst(found: Gradients, expected: Gradients) -> float:
    """The largest deviation of these gradients; None and zeros are the same."""
    sizes = [0.0]
    for f, e in zip(found, expected, strict=True):
        if f is None and e is None:
            continue
        f = np.zeros_like(e) if f is None else f
        e = np.zeros_like(f) if e is None else e
        sizes.append(deviation(f, e))
    return max(sizes)


def cell(message: str) -> str:
    """An error of TensorFlow's, fit for a cell of a table."""
    missing = re.search(r"No gradient defined for .*op type: (\w+)|op: (\w+)", message)
    if missing:
        return f"no gradient of {missing[1] or missing[2]}"
    # Behind the traceback, the node; behind that, the message of a kernel.
    kernels = re.search(
        r"\nNode: .*\n(?:.*root error.*\n)?(?:\s*\(\d\).*?: )?(.+)", message
    )
    empty = ("", "Graph execution error:")
    lines = [
        line
        for line in message.splitlines()
        if "root error" not in line and line.strip() not in empty
    ]
    line = (kernels[1] if kernels else lines[0]).strip().replace("|", "/")
    return f"`{line[:90].rstrip()}{'…' if len(line) > 90 else ''}`"


def verdict(found: Gradients, expected: Gradients) -> str:
    """What is wrong with a gradient, fit for a cell of a table."""
    pairs = [(f, e) for f, e in zip(found, expected, strict=True) if e is not None]
    if {f is None for f, e in pairs if np.any(e != 0)} == {True}:
        return "none"
    known = [(f, e) for f, e in pairs if f is not None]
    if any(f.shape != e.shape for f, e in known):
        return "another shape"
    if any(np.any(np.isfinite(f) != np.isfinite(e)) for f, e in known):
        return "not finite"
    return f"{worst(found, expected):.1e}"


def tolerance(case: Case, expected: Gradients) -> float:
    if case.tolerance:
        return case.tolerance
    return max(TOLERANCES[e.dtype.name] for e in expected if e is not None)


# ---- Python


def python_differences(
    cases: Iterable[Case], library: str, kernels: str
) -> list[Difference]:
    """Python's gradients and the library's against central differences."""
    import parity_python
    import tensorflow as tf

    tf.load_library(kernels)
    outcomes = []
    for case in cases:
        second = case.second_order and "python"
        second_is_numeric = case.second_order == "numeric"
        asked = dataclasses.replace(case, reference="python", second_order=second)
        task = parity_python.prepare(asked)
        task["numeric"] = (case.reference == "numeric", second_is_numeric)
        outcomes.append(Outcome(case, task))
    run_client(outcomes, library, kernels)
    found = []
    for outcome in outcomes:
        for order in ("first", "second"):
            expected = outcome.result.get(f"{order}_numeric")
            if expected is None:
                continue
            case, pythons = outcome.case, outcome.task[order]
            ours = worst(outcome.result[order], expected)
            row = Difference(case.op, case.name, order, "", f"{ours:.1e}")
            if isinstance(pythons, str):
                row.found, row.error = cell(pythons), True
            else:
                row.size = worst(pythons, expected)
                if row.size <= tolerance(case, expected):
                    continue
                row.found = verdict(pythons, expected)
            found.append(row)
            break  # of a wrong first order the second says nothing
    return found


def overridden_differences(
    cases: Sequence[Case], library: str, kernels: str
) -> list[Difference]:
    """The same where a case brings a reference of its own, in place of Python's."""
    import parity_python
    import tensorflow as tf

    outcomes = run_cases(cases, library, kernels)
    found = []
    for outcome in outcomes:
        with unittest.mock.patch.object(tf.Graph, "gradient_override_map"):
            pythons = parity_python.prepare(outcome.case)["first"]
        case, expected = outcome.case, outcome.task["first"]
        ours = worst(outcome.result["first"], expected)
        row = Difference(case.op, case.name, "first", "", f"{ours:.1e}")
        if isinstance(pythons, str):
            row.found, row.error = cell(pythons), True
        else:
            row.size = worst(pythons, expected)
            if row.size <= tolerance(case, expected):
                continue
            row.found = verdict(pythons, expected)
        found.append(row)
    return found


# ---- TensorFlow's client gradients


def client_differences(
    cases: Iterable[Case], library: str, kernels: str
) -> list[Difference]:
    """TensorFlow's client gradients, without the library, and with it.

    The reference is Python, or differences where the case asks for them.
    """
    import parity_python

    with_ours = [Outcome(case, parity_python.prepare(case)) for case in cases]
    run_client(with_ours, library, kernels)
    without = [
        Outcome(outcome.case, {**outcome.task, "numeric": (False, False)})
        for outcome in with_ours
    ]
    run_client(without, None, kernels)
    found = []
    for theirs, ours in zip(without, with_ours, strict=True):
        for order in ("first", "second"):
            row = client_difference(order, theirs, ours)
            if row is not None:
                found.append(row)
                break  # of a wrong first order the second says nothing
    return found


def client_difference(order: str, theirs: Outcome, ours: Outcome) -> Difference | None:
    """Of one case in one order; None where TensorFlow's gradient is right."""
    case, result = theirs.case, theirs.result
    expected = ours.result.get(f"{order}_numeric", ours.task[order])
    if order == "second" and (case.second_order is None or isinstance(expected, str)):
        return None
    our_size = worst(ours.result[order], expected)
    row = Difference(case.op, case.name, order, "", f"{our_size:.1e}")
    if not result:
        row.found, row.error = f"`{theirs.problems[0].partition(':')[0]}`", True
        return row
    if "error" in result:
        row.found, row.error = cell(result["error"]), True
        return row
    if result[order] is None:
        return None  # differentiable once only
    row.size = worst(result[order], expected)
    if row.size <= tolerance(case, [*expected, np.zeros(0)]):
        return None
    row.found = verdict(result[order], expected)
    return row


def on_the_way() -> list[str]:
    """TF_AddGradients where one y lies on the way to another, at x = 1."""
    import tensorflow as tf

    v1 = tf.compat.v1
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "sin y": lambda _, y: tf.sin(y),
        "x y": lambda x, y: x * y,
        "y²": lambda _, y: y * y,
        "sin x + y": lambda x, y: tf.sin(x) + y,
    }
    rows = []
    for name, function in functions.items():
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float64, [], name="x")
            y = tf.tanh(x)
            ys = [y, function(x, y)]
            apart = [tf.identity(tensor) for tensor in ys]
            serialized = graph.as_graph_def().SerializeToString()
            python = session.run(tf.gradients(ys, x)[0], {x: 1.0})
        outcomes = [
            Outcome(
                Case("Tanh", name, function, []),
                {
                    "graph": serialized,
                    "feeds": {x.name: np.array(1.0)},
                    "ys": [tensor.name for tensor in tensors],
                    "xs": [x.name],
                    "upstream": [],
                    "numeric": (False, False),
                    "second_order": False,
                },
            )
            for tensors in (ys, apart)
        ]
        run_client(outcomes, None, None)
        client = [outcome.result["first"][0] for outcome in outcomes]
        rows.append(f"| {name} | {client[0]:.4f} | {client[1]:.4f} | {python:.4f} |")
    return rows


# ---- TensorFlow's function gradients


def function_differences(
    cases: Sequence[Case], stock_ops: Container[str]
) -> tuple[list[Difference], int, int]:
    """Those that are wrong, and the numbers of cases and ops."""
    by_id = {
        case.id: case
        for case in cases
        if not (case.variables or case.wrt or case.known_shapes == "rank")
        and (case.op in stock_ops or case.op in FUNCTION_GRADIENT_ALONE)
    }
    results = known_differences_functions.results(list(by_id.values()))
    found = []
    for name, result in results.items():
        case = by_id[name]
        row = Difference(case.op, case.name, "first", "")
        if isinstance(result, str):
            row.found, row.error = cell(result), True
        elif result <= FUNCTION_TOLERANCE:
            continue
        else:
            row.size = result
            row.found = f"{result:.1e}" if math.isfinite(result) else "another shape"
        found.append(row)
    return found, len(results), len({by_id[name].op for name in results})


# ---- The document


def table(
    differences: Iterable[Difference], reasons: Mapping[str, str], ours: bool
) -> list[str]:
    """A row an op, with its worst case, first order before second."""
    by_op: dict[str, list[Difference]] = {}
    for difference in differences:
        by_op.setdefault(difference.op, []).append(difference)
    rows = []
    for op, group in sorted(by_op.items()):
        worst_one = min(group, key=lambda d: (d.order, -d.size))
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        cells = [op, worst_one.case + others, worst_one.order, worst_one.found]
        if ours:
            cells.append(worst_one.ours)
        rows.append(f"| {' | '.join([*cells, reasons.get(op, '')])} |")
    return rows


def document(library: str, kernels: str) -> str:
    import tensorflow as tf

    modules = sorted(path.stem for path in HERE.glob("cases_*.py"))
    stock = [module for module in modules if module.startswith("cases_stock")]
    cases = [
        case
        for case in load_cases(modules)
        if not (case.error or case.no_gradient or case.id in text.NOT_REPEATABLE)
    ]
    numeric = [c for c in cases if "numeric" in (c.reference, c.second_order)]
    overridden = [c for c in cases if c.op in OVERRIDDEN and c not in numeric]
    python = python_differences(numeric, library, kernels)
    python += overridden_differences(overridden, library, kernels)
    # Its case turned XLA on; TensorFlow's client gradients are to go without.
    os.environ.pop("TF_XLA_FLAGS", None)
    stock_cases = load_cases(stock)
    client = client_differences(stock_cases, library, kernels)
    stock_ops = {case.op for case in stock_cases}
    functions, function_cases, function_ops = function_differences(cases, stock_ops)

    def of(differences: list[Difference], error: bool) -> list[Difference]:
        return [d for d in differences if d.error == error]

    reasons, function_reasons = text.REASONS, text.FUNCTION_REASONS
    tables = {
        "PYTHON_WRONG": table(of(python, False), reasons, ours=True),
        "PYTHON_FAILS": table(of(python, True), reasons, ours=True),
        "ONLY_IN_PYTHON": [
            f"| {op} | {why} |" for op, why in sorted(ONLY_IN_PYTHON.items())
        ],
        "CLIENT_WRONG": table(of(client, False), text.CLIENT_REASONS, ours=True),
        "CLIENT_FAILS": table(of(client, True), text.CLIENT_REASONS, ours=True),
        "FUNCTION_WRONG": table(of(functions, False), function_reasons, ours=False),
        "FUNCTION_FAILS": table(of(functions, True), function_reasons, ours=False),
        "ON_THE_WAY": on_the_way(),
    }
    return text.DOCUMENT.format(
        VERSION=tf.__version__,
        CASES=len(stock_cases),
        OPS=len(stock_ops),
        STAND_INS=len(STAND_INS),
        FUNCTION_CASES=function_cases,
        FUNCTION_OPS=function_ops,
        **{name: "\n".join(rows) for name, rows in tables.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--kernels", required=True)
    arguments = parser.parse_args()
    sys.stdout.write(document(arguments.library, arguments.kernels))


if __name__ == "__main__":
    main()
