# SPDX-License-Identifier: Apache-2.0
"""Prints docs/known_differences.md: where gradients of TensorFlow disagree.

As a program: python known_differences.py --library LIB --kernels LIB
"""

import argparse
import dataclasses
import os
import sys
import textwrap
import unittest.mock
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import known_differences_text as text
import numpy as np
from covered_ops import NOT_IN_PYTHON, ONLY_IN_PYTHON, STAND_INS
from known_differences_rows import Difference, Gradients, cell, table, tolerance, verdict, worst
from parity import HERE, Case, Outcome, load_cases, run_cases, run_client

# The ops that TensorFlow has a function gradient of and no client gradient.
FUNCTION_GRADIENT_ALONE = {
    *("Concat", "ConjugateTranspose", "MaxPoolGrad", "MulNoNan", "Reverse"),
    *("StridedSliceGrad", "Xdivy", "Xlog1py", "Xlogy"),
}
# Whose cases put a gradient of their own in place of Python's.
OVERRIDDEN = {"StatelessParameterizedTruncatedNormal", "TopK", "XlaEinsum"}


# ---- Python


def python_differences(cases: Iterable[Case], library: str, kernels: str) -> list[Difference]:
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
            row = python_difference(case, order, pythons, expected)
            if row is None:
                continue
            row.ours = f"{worst(outcome.result[order], expected):.1e}"
            found.append(row)
            break  # of a wrong first order the second says nothing
    return found


def overridden_differences(cases: Sequence[Case], library: str, kernels: str) -> list[Difference]:
    """The same where a case brings a reference of its own, in place of Python's."""
    import parity_python
    import tensorflow as tf

    outcomes = run_cases(cases, library, kernels)
    found = []
    for outcome in outcomes:
        with unittest.mock.patch.object(tf.Graph, "gradient_override_map"):
            pythons = parity_python.prepare(outcome.case)["first"]
        case, expected = outcome.case, outcome.task["first"]
        row = python_difference(case, "first", pythons, expected)
        if row is not None:
            row.ours = f"{worst(outcome.result['first'], expected):.1e}"
            found.append(row)
    return found


def python_difference(
    case: Case, order: str, pythons: Gradients | str, expected: Gradients
) -> Difference | None:
    """None where Python's gradient is right."""
    row = Difference(case.op, case.name, order, "", expected=expected)
    if isinstance(pythons, str):
        row.found, row.error = cell(pythons), True
        return row
    row.size = worst(pythons, expected)
    if row.size <= tolerance(case, expected):
        return None
    row.found = verdict(pythons, expected)
    return row


def add_mended(rows: Iterable[Difference], cases: Sequence[Case]) -> None:
    """What Python gives for these after tensorflow_ext.gradients.mend().

    Without it where `import tensorflow_ext` is enough. From here on this process has
    the library: to be called last.
    """
    import parity_python
    import tensorflow as tf

    import tensorflow_ext

    tensorflow_ext.gradients.mend()
    by_id = {case.id: case for case in cases}
    for row in rows:
        case = by_id[f"{row.op}-{row.case}"]
        second = case.second_order and "python"
        asked = dataclasses.replace(case, reference="python", second_order=second)
        with unittest.mock.patch.object(tf.Graph, "gradient_override_map"):
            pythons = parity_python.prepare(asked)[row.order]
        if isinstance(pythons, str):
            row.mended = cell(pythons)
        else:
            row.mended = f"{worst(pythons, row.expected):.1e}"


# ---- TensorFlow's client gradients


def client_outcomes(
    cases: Iterable[Case], library: str, kernels: str
) -> list[tuple[Outcome, Outcome]]:
    """What TensorFlow's gradients give without the library, and what with it."""
    import parity_python

    with_ours = [Outcome(case, parity_python.prepare(case)) for case in cases]
    run_client(with_ours, library, kernels)
    without = [
        Outcome(outcome.case, {**outcome.task, "numeric": (False, False)}) for outcome in with_ours
    ]
    run_client(without, None, kernels)
    return list(zip(without, with_ours, strict=True))


def client_differences(outcomes: Iterable[tuple[Outcome, Outcome]]) -> list[Difference]:
    """TensorFlow's client gradients.

    The reference is Python, or differences where the case asks for them.
    """
    found = []
    for theirs, ours in outcomes:
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
    outcomes: Iterable[tuple[Outcome, Outcome]],
) -> tuple[list[Difference], int, int]:
    """Those that are wrong, and the numbers of cases and ops.

    The reference is the library's client gradient, which the tests hold to Python or
    differences.
    """
    found = []
    ops = []
    for theirs, ours in outcomes:
        case, error = theirs.case, theirs.result.get("function_error", "")
        # A client gradient that ended the process left no time for this one.
        ended = ours.problems or theirs.problems
        no_definition = "No gradient defined for op" in error
        if ended or no_definition or "function_runtime" not in theirs.task:
            continue
        ops.append(case.op)
        row = Difference(case.op, case.name, "first", "")
        expected = ours.result["first"]
        if error:
            row.found, row.error = cell(error), True
        else:
            row.size = worst(theirs.result["function"], expected)
            if row.size <= tolerance(case, [*expected, np.zeros(0)]):
                continue
            row.found = verdict(theirs.result["function"], expected)
        found.append(row)
    return found, len(ops), len(set(ops))


# ---- The document


def names(ops: Iterable[str]) -> list[str]:
    return textwrap.wrap(", ".join(sorted(ops)), 88)


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
    outcomes = client_outcomes(stock_cases, library, kernels)
    client = client_differences(outcomes)
    alone = [c for c in cases if c.op in FUNCTION_GRADIENT_ALONE]
    outcomes += client_outcomes(alone, library, kernels)
    functions, function_cases, function_ops = function_differences(
        [pair for pair in outcomes if not pair[0].case.variables]
    )
    add_mended(python, cases)

    def of(differences: list[Difference], error: bool) -> list[Difference]:
        return [d for d in differences if d.error == error]

    none = {row.op for row in python if row.found == f"no gradient of {row.op}"}
    python = [row for row in python if row.op not in none]

    reasons, function_reasons = text.REASONS, text.FUNCTION_REASONS
    tables = {
        "PYTHON_WRONG": table(of(python, False), reasons, ours=True),
        "PYTHON_NONE": names(none - NOT_IN_PYTHON.keys()),
        "NOT_IN_PYTHON": names(none & NOT_IN_PYTHON.keys()),
        "PYTHON_FAILS": table(of(python, True), reasons, ours=True),
        "ONLY_IN_PYTHON": [f"| {op} | {why} |" for op, why in sorted(ONLY_IN_PYTHON.items())],
        "CLIENT_WRONG": table(of(client, False), text.CLIENT_REASONS, ours=True),
        "CLIENT_FAILS": table(of(client, True), text.CLIENT_REASONS, ours=True),
        "FUNCTION_WRONG": table(of(functions, False), function_reasons, ours=False),
        "FUNCTION_FAILS": table(of(functions, True), function_reasons, ours=False),
        "ON_THE_WAY": on_the_way(),
    }
    return text.DOCUMENT.format(
        VERSION=tf.__version__,
        CASES=len(stock_cases),
        OPS=len({case.op for case in stock_cases}),
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
    # Else TensorFlow goes by the CPU, and what kernels it has.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    sys.stdout.write(document(arguments.library, arguments.kernels))


if __name__ == "__main__":
    main()
