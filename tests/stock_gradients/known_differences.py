"""Measures where the gradients of Python, TensorFlow's C++ and this library differ.

    .venv/bin/python tests/stock_gradients/known_differences.py --output JSON \
      --library bazel-bin/tensorflow_ext/libtensorflow_ext.so \
      --kernels bazel-bin/tests/stock_gradients/libcsr_kernels.so

It takes about ten minutes; tools/documentation/difference_tables.py makes the tables from it.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import unittest.mock
from collections.abc import Callable, Iterable, Sequence
from typing import Any

# Set before TensorFlow is imported; otherwise the choice of kernels depends on the CPU.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import numpy as np
import parity
import parity_python
import tensorflow as tf
from covered_ops import NOT_IN_PYTHON, ONLY_IN_PYTHON, STAND_INS
from parity import Case, Outcome, load_cases, run_client

Gradients = Sequence[np.ndarray | None]
Row = list[str]

# Ops with a function gradient but no client gradient in TensorFlow.
FUNCTION_GRADIENT_ALONE = {
    *("Concat", "ConjugateTranspose", "MaxPoolGrad", "MulNoNan", "Reverse"),
    *("StridedSliceGrad", "Xdivy", "Xlog1py", "Xlogy"),
}
# The cases of these ops replace Python's gradient by their own.
OVERRIDDEN = {
    *("Atan2", "Betainc", "Igamma", "Igammac", "StatelessParameterizedTruncatedNormal", "TopK"),
    *("Xdivy", "XlaEinsum", "Xlog1py", "Xlogy"),
}
# Python's gradient is uninitialized memory, so it may be right or wrong.
NOT_REPEATABLE = {
    f"SparseSegment{reduction}{segments}-empty"
    for reduction in ("Sum", "Mean", "SqrtN")
    for segments in ("", "WithNumSegments")
}
ORDERS = ("first", "second")


@dataclasses.dataclass
class Difference:
    """A gradient that differs from the reference's, which is `expected`."""

    case: Case
    order: str
    found: str
    expected: Gradients
    ours: str = ""
    size: float = math.inf
    error: bool = False
    fixed: str = ""


def worst(found: Gradients, expected: Gradients) -> float:
    """The largest deviation of these gradients; None equals zeros."""
    pairs = parity.paired(range(len(found)), found, expected)
    return max((parity.deviation(f, e, whole=True) for _, f, e in pairs), default=0.0)


def cell(message: str) -> str:
    """A TensorFlow error, formatted for a cell of a table."""
    missing = re.search(r"No gradient defined for .*op type: (\w+)|op: (\w+)", message)
    if missing:
        return f"no gradient of {missing[1] or missing[2]}"
    # The node follows the traceback; a kernel's message follows the node.
    kernels = re.search(r"\nNode: .*\n(?:.*root error.*\n)?(?:\s*\(\d\).*?: )?(.+)", message)
    empty = ("", "Graph execution error:")
    lines = [
        line
        for line in message.splitlines()
        if "root error" not in line and line.strip() not in empty
    ]
    line = (kernels[1] if kernels else lines[0]).strip().replace("|", "/")
    return f"`{line[:90].rstrip()}{'…' if len(line) > 90 else ''}`"


def verdict(found: Gradients, expected: Gradients) -> str:
    """The fault of a gradient, formatted for a cell of a table."""
    pairs = [(f, e) for f, e in zip(found, expected, strict=True) if e is not None]
    if {f is None for f, e in pairs if np.any(e != 0)} == {True}:
        return "none"
    known = [(f, e) for f, e in pairs if f is not None]
    if any(f.shape != e.shape for f, e in known):
        return "another shape"
    if any(np.any(np.isfinite(f) != np.isfinite(e)) for f, e in known):
        return "not finite"
    return f"{worst(found, expected):.1e}"


def compare(
    case: Case, order: str, found: Gradients | str, expected: Gradients, ours: Gradients | None
) -> Difference | None:
    """None if the gradient is right; a text is an error."""
    our_size = "" if ours is None else f"{worst(ours, expected):.1e}"
    if isinstance(found, str):
        return Difference(case, order, cell(found), expected, our_size, error=True)
    size = worst(found, expected)
    types = [e.dtype.name for e in expected if e is not None] or ["float64"]
    if size <= (case.tolerance or max(parity.TOLERANCES[name] for name in types)):
        return None
    return Difference(case, order, verdict(found, expected), expected, our_size, size)


def first_of(rows: Iterable[Difference | None]) -> list[Difference]:
    """Only the first order if that is wrong, because the second then says nothing."""
    row = next((row for row in rows if row), None)
    return [row] if row else []


def table(differences: Iterable[Difference], error: bool, ours: bool = True) -> list[Row]:
    """One row per op, with its worst case, first order before second."""
    by_op: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.error == error:
            by_op.setdefault(difference.case.op, []).append(difference)
    rows = []
    for op, group in sorted(by_op.items()):
        row = min(group, key=lambda d: (d.order, -d.size))
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        cells = [op, row.case.name + others, row.order, row.found]
        rows.append([*cells, *([row.ours] if ours else []), *([row.fixed] if row.fixed else [])])
    return rows


# ---- Python


def by_python(case: Case) -> Case:
    second = case.second_order and "python"
    return dataclasses.replace(case, reference="python", second_order=second)


def without_overriding() -> Any:
    return unittest.mock.patch.object(tf.Graph, "gradient_override_map")


def python_differences(cases: Iterable[Case], library: str, kernels: str) -> list[Difference]:
    """Python's gradients and the library's against central differences."""
    outcomes = []
    for case in cases:
        task = parity_python.prepare(by_python(case))
        task["numeric"] = (case.reference == "numeric", case.second_order == "numeric")
        task["every_direction"] = True
        outcomes.append(Outcome(case, task))
    run_client(outcomes, library, kernels)
    found: list[Difference] = []
    for outcome in outcomes:
        task, result = outcome.task, outcome.result
        found += first_of(
            compare(outcome.case, order, task[order], result[f"{order}_numeric"], result[order])
            for order in ORDERS
            if f"{order}_numeric" in result
        )
    return found


def overridden_differences(cases: Sequence[Case], library: str, kernels: str) -> list[Difference]:
    """The same for cases that have a reference of their own instead of Python's."""
    found: list[Difference] = []
    for outcome in parity.run_cases(cases, library, kernels):
        with without_overriding():
            pythons = parity_python.prepare(outcome.case)["first"]
        expected, ours = outcome.task["first"], outcome.result["first"]
        found += first_of([compare(outcome.case, "first", pythons, expected, ours)])
    return found


def add_mended(rows: Iterable[Difference]) -> None:
    """Adds Python's gradients of these after tensorflow_ext.gradients.fix().

    It skips fix() if `import tensorflow_ext` is enough. Call it last, because it loads the library
    into this process.
    """
    import tensorflow_ext

    tensorflow_ext.gradients.fix()
    for row in rows:
        with without_overriding():
            pythons = parity_python.prepare(by_python(row.case))[row.order]
        failed = isinstance(pythons, str)
        row.fixed = cell(pythons) if failed else f"{worst(pythons, row.expected):.1e}"


# ---- TensorFlow's client gradients


def client_outcomes(
    cases: Iterable[Case], library: str, kernels: str
) -> list[tuple[Outcome, Outcome]]:
    """The outcomes without the library, and those with it."""
    every = {"every_direction": True}
    with_ours = [Outcome(case, parity_python.prepare(case) | every) for case in cases]
    run_client(with_ours, library, kernels)
    without = [
        Outcome(outcome.case, {**outcome.task, "numeric": (False, False)}) for outcome in with_ours
    ]
    run_client(without, None, kernels)
    return list(zip(without, with_ours, strict=True))


def client_difference(order: str, theirs: Outcome, ours: Outcome) -> Difference | None:
    """The reference is Python, or differences if the case requests them."""
    case, result = theirs.case, theirs.result
    expected = ours.result.get(f"{order}_numeric", ours.task[order])
    if order == "second" and (case.second_order is None or isinstance(expected, str)):
        return None
    if result:
        found = result.get("error", result.get(order))
    else:
        found = theirs.problems[0].partition(":")[0]
    if found is None:
        return None  # differentiable only once
    return compare(case, order, found, expected, ours.result[order])


def on_the_way() -> list[Row]:
    """TF_AddGradients if one y is on the path to another, at x = 1."""
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
            python = session.run(tf.gradients(ys, x)[0], {x: 1.0})
            task = {
                "graph": graph.as_graph_def().SerializeToString(),
                "feeds": {x.name: np.array(1.0)},
                "xs": [x.name],
                "upstream": [],
                "weights": [None],
                "numeric": (False, False),
                "second_order": False,
            }
        case = Case("Tanh", name, function, [])
        outcomes = [
            Outcome(case, task | {"ys": [tensor.name for tensor in tensors]})
            for tensors in (ys, apart)
        ]
        run_client(outcomes, None, None)
        client = [outcome.result["first"][0] for outcome in outcomes]
        rows.append([name, *(f"{value:.4f}" for value in (*client, python))])
    return rows


# ---- TensorFlow's function gradients


def function_differences(
    outcomes: Iterable[tuple[Outcome, Outcome]],
) -> tuple[list[Difference], list[str]]:
    """The wrong gradients, and the ops of the cases.

    The reference is the library's client gradient, which the tests compare with Python or
    differences.
    """
    found: list[Difference] = []
    ops = []
    for theirs, ours in outcomes:
        error = theirs.result.get("function_error", "")
        # A client gradient that ended the process left no time for this one.
        ended = ours.problems or theirs.problems
        no_definition = "No gradient defined for op" in error
        if ended or no_definition or "function_runtime" not in theirs.task:
            continue
        ops.append(theirs.case.op)
        gradients = error or theirs.result["function"]
        found += first_of([compare(theirs.case, "first", gradients, ours.result["first"], None)])
    return found, ops


def measure(library: str, kernels: str) -> dict[str, Any]:
    """All tables, in the form that difference_tables.py reads."""
    modules = sorted(path.stem for path in parity.HERE.glob("cases_*.py"))
    cases = [
        case
        for case in load_cases(modules)
        if not (case.error or case.no_gradient or case.id in NOT_REPEATABLE)
    ]
    tf.load_library(kernels)
    numeric = [c for c in cases if "numeric" in (c.reference, c.second_order)]
    overridden = [c for c in cases if c.op in OVERRIDDEN and c not in numeric]
    python = python_differences(numeric, library, kernels)
    python += overridden_differences(overridden, library, kernels)
    # Its case turned XLA on, which TensorFlow's client gradients must not use.
    os.environ.pop("TF_XLA_FLAGS", None)
    stock_cases = load_cases([name for name in modules if name.startswith("cases_stock")])
    outcomes = client_outcomes(stock_cases, library, kernels)
    client = [
        row
        for pair in outcomes
        for row in first_of(client_difference(order, *pair) for order in ORDERS)
    ]
    alone = [c for c in cases if c.op in FUNCTION_GRADIENT_ALONE]
    outcomes += client_outcomes(alone, library, kernels)
    function, function_ops = function_differences(
        pair for pair in outcomes if not pair[0].case.variables
    )
    second_outputs = on_the_way()
    add_mended(python)
    none = {row.case.op for row in python if row.found == f"no gradient of {row.case.op}"}
    python = [row for row in python if row.case.op not in none]
    return {
        "tensorflow": tf.__version__,
        "client_cases": len(stock_cases),
        "client_ops": len({case.op for case in stock_cases}),
        "stand_ins": len(STAND_INS),
        "function_cases": len(function_ops),
        "function_ops": len(set(function_ops)),
        "python_none": sorted(none - NOT_IN_PYTHON.keys()),
        "not_in_python": sorted(none & NOT_IN_PYTHON.keys()),
        "tables": {
            "python_wrong": table(python, error=False),
            "python_fails": table(python, error=True),
            "only_in_python": [[op, why] for op, why in sorted(ONLY_IN_PYTHON.items())],
            "client_wrong": table(client, error=False),
            "client_fails": table(client, error=True),
            "function_wrong": table(function, error=False, ours=False),
            "function_fails": table(function, error=True, ours=False),
            "on_the_way": second_outputs,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True)
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    found = measure(arguments.library, arguments.kernels)
    text = json.dumps(found, ensure_ascii=False, indent=1)
    arguments.output.write_text(text, encoding="utf-8")
    rows = sum(map(len, found["tables"].values())) + len(found["python_none"])
    print(f"{rows} differences with TensorFlow {found['tensorflow']} in {arguments.output}")


if __name__ == "__main__":
    main()
