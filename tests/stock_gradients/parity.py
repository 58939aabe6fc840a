"""Compares the gradients of clients with those of Python.

A case is one op in one situation. Its graph is built once. One process differentiates it with
Python's `tf.gradients`. Another, which never imports TensorFlow's Python package, uses
TF_AddGradients of the C API with this library loaded (c_client.py). Upstream gradients are random,
and every input is compared. Second order: both differentiate their own first-order gradients again.

If Python has no gradient, or a wrong one, the reference is central differences of the client's
results.
"""

import dataclasses
import importlib
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from c_client import tensorflow_dir

HERE = pathlib.Path(__file__).absolute().parent
# Imported without the package, which loads the library.
sys.path.append(str(HERE.parents[1] / "python" / "tensorflow_ext" / "testing" / "_gradient"))
from _comparison import Slopes, deviation  # noqa: E402

# Relative to the largest magnitude of the reference. They are wider than some unit roundoffs
# (_comparison.UNIT_ROUNDOFF), because whole graphs and central differences err more than an op.
TOLERANCES = {
    "float64": 1e-5,
    "complex128": 1e-5,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 2e-2,
    "bfloat16": 1e-1,
}


@dataclasses.dataclass
class Case:
    """One op in one situation.

    Attributes:
      op: The type of the op whose gradient is tested; the graph must hold it.
      name: The subject of the case, unique for the op.
      build: Takes one placeholder per input and returns a tensor or a list of
        tensors; those of floating or complex type are differentiated.
      inputs: The values fed.
      wrt: The inputs to differentiate by; None: all of floating or complex type.
      reference: "python", or "numeric" for central differences (inputs should then be double or
        complex128, see `step`).
      second_order: "python", "numeric", or None if there is none to check.
      variables: The inputs that become resource variables: `build` takes, and the gradients are by,
        the handle of a variable that holds the value.
      static: The static shapes of the placeholders: "all", "rank", "none", or "inner" for all but
        the first axis.
      tolerance: A relative tolerance that replaces the type's.
      step: The step of the central differences. An op that has only single precision needs a large
        one, 1e-2, and a tolerance to match.
      no_gradient: True if every client must answer "no gradient" for all of `wrt`.
      error: A fragment of the message that the client must give instead, in first or else in second
        order.
      also_fed: Values of tensors of the graph, by name. If all outputs of an op are fed, its
        gradient can be tested without a kernel of the op.
      onednn: True if, on a CPU, TensorFlow has kernels of its gradients only with oneDNN. By
        default it uses oneDNN if the CPU has AVX512-VNNI or AMX; TF_ENABLE_ONEDNN_OPTS=1 enables it
        on any other.
    """

    op: str
    name: str
    build: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    wrt: Sequence[int] | None = None
    reference: str = "python"
    second_order: str | None = "python"
    variables: Sequence[int] = ()
    static: str = "rank"
    tolerance: float | None = None
    step: float = 1e-5
    no_gradient: bool = False
    error: str | None = None
    also_fed: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    onednn: bool = False

    @property
    def id(self) -> str:
        return f"{self.op}-{self.name}"


@dataclasses.dataclass
class Outcome:
    """The outcome of a case.

    Attributes:
      case: The case.
      task: Its graph, feeds and Python's gradients; see parity_python.prepare.
      result: The client's results; see parity_client.client_results.
      problems: The faults of the client's gradients.
    """

    case: Case
    task: dict[str, Any] = dataclasses.field(default_factory=dict)
    result: dict[str, Any] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)


def judge(case: Case, task: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """The faults of the client's gradients."""
    problems = []
    if case.error is not None:
        message = result.get("error", result.get("second_error", ""))
        if case.error not in message:
            problems.append(f"expected an error with {case.error!r}, got {message or 'none'!r}")
        return problems
    if "error" in result:
        return [f"the client fails: {result['error']}"]
    if case.no_gradient:
        if any(g is not None for g in result["first"]):
            problems.append("expected no gradient, got one")
        return problems
    expected, by = _reference(case, "first", task, result)
    problems += _compare(case, "first order", result["first"], expected, by)
    if case.second_order is None:
        return problems
    if "second_error" in result:
        return [*problems, f"second order fails: {result['second_error']}"]
    expected, by = _reference(case, "second", task, result)
    problems += _compare(case, "second order", result["second"], expected, by)
    return problems


def judge_function_runtime(case: Case, task: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """The faults of the function runtime's gradients."""
    if "function_error" in result:
        return [f"the function runtime fails: {result['function_error']}"]
    expected, by = _reference(case, "first", task, result)
    return _compare(case, "function runtime", result["function"], expected, by)


def judge_python(
    case: Case, task: dict[str, Any], result: dict[str, Any], found: dict[str, Any]
) -> list[str]:
    """The faults of Python's gradients `found`."""
    problems = []
    for order in ("first", "second"):
        if order == "second" and case.second_order is None:
            continue
        if isinstance(found[order], str):
            return [f"{order} order by Python fails: {found[order]}"]
        expected, by = _reference(case, order, task, result)
        what = f"{order} order by Python"
        problems += _compare(case, what, found[order], expected, by)
    return problems


def _reference(
    case: Case, order: str, task: dict[str, Any], result: dict[str, Any]
) -> tuple[Any, list[str]]:
    """The expected gradients, and the names of the inputs that they are by."""
    by = task["xs"] if order == "first" else task["xs"] + task["upstream"]
    if case.no_gradient:
        return [None] * len(by), by
    return result.get(f"{order}_numeric", task[order]), by


def paired(names: Sequence[Any], found: Any, expected: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The gradients by name, without those that are None in both.

    Zeros and a missing gradient are equal.
    """
    for name, f, e in zip(names, found, expected, strict=True):
        if f is not None or e is not None:
            like = f if e is None else e
            yield name, *(np.zeros(like.shape, like.dtype) if g is None else g for g in (f, e))


def _compare(case: Case, what: str, found: Any, expected: Any, names: Sequence[str]) -> list[str]:
    if isinstance(expected, str):
        return [f"{what}: no reference, Python says {expected}"]
    problems = []
    for name, f, e in paired(names, found, expected):
        tolerance = case.tolerance or TOLERANCES[f.dtype.name]
        if isinstance(e, Slopes):
            size, shown = e.deviation(f, whole=True), str(e)
        else:
            size, shown = deviation(f, e, whole=True), str(e.ravel()[:8])
        if not size <= tolerance:
            problems.append(
                f"{what} by {name}: relative deviation {size:.2e} > {tolerance}\n"
                f"  got {f.ravel()[:8]}\n  expected {shown}"
            )
    return problems


def run_cases(
    cases: Sequence[Case],
    library: str | pathlib.Path | None,
    kernels: str | pathlib.Path | None = None,
    optimized: Collection[str] | None = None,
) -> list[Outcome]:
    """Prepares, runs the client process and judges.

    Both processes load `kernels`, if any; only the client loads `library`. Grappler optimizes the
    client's graphs of the cases with the ids `optimized`, by default of all.
    """
    import parity_python
    import tensorflow as tf

    if kernels is not None:
        tf.load_library(str(kernels))
    outcomes = []
    for case in cases:
        try:
            task = parity_python.prepare(case)
            task["optimized"] = optimized is None or case.id in optimized
            outcomes.append(Outcome(case, task))
        except Exception as error:  # a broken case must not hide the others
            problem = f"cannot be built: {type(error).__name__}: {error}"
            outcomes.append(Outcome(case, problems=[problem]))
    run_client(outcomes, library, kernels)
    for outcome in outcomes:
        if outcome.result:
            outcome.problems = judge(outcome.case, outcome.task, outcome.result)
    return outcomes


def run_program(
    outcomes: Sequence[Outcome],
    program: pathlib.Path,
    library: str | pathlib.Path,
    kernels: str | pathlib.Path | None = None,
) -> list[Outcome]:
    """The outcomes of the same tasks with a program of tests/clients.

    The central differences of the C client remain the reference.
    """
    copies = [
        Outcome(outcome.case, {**outcome.task, "numeric": (False, False)}) for outcome in outcomes
    ]
    run_client(copies, library, kernels, program)
    for copy, outcome in zip(copies, outcomes, strict=True):
        differences = {k: v for k, v in outcome.result.items() if "numeric" in k}
        copy.result = differences | copy.result
    return copies


def run_client(
    outcomes: Sequence[Outcome],
    library: str | pathlib.Path | None,
    kernels: str | pathlib.Path | None,
    program: pathlib.Path | None = None,
) -> None:
    """Lets client processes fill in the results of all tasks: the C API from Python, or a program
    of tests/clients.

    A task that ends the process gets a problem that says so instead of a result.
    """
    remaining = [outcome for outcome in outcomes if outcome.task]
    while remaining:
        tasks = [outcome.task for outcome in remaining]
        results, end = _run_client(tasks, library, kernels, program)
        for outcome, result in zip(remaining, results, strict=False):
            outcome.result = result
        remaining = remaining[len(results) :]
        if remaining:  # the process died on the first of these
            remaining.pop(0).problems = [f"the client process ended {end}"]


def _run_client(
    tasks: Sequence[dict[str, Any]],
    library: str | pathlib.Path | None,
    kernels: str | pathlib.Path | None,
    program: pathlib.Path | None,
) -> tuple[list[dict[str, Any]], str]:
    """The results of these tasks up to one that ends the process, and its end."""
    with tempfile.TemporaryDirectory() as folder:
        tasks_file, results_file = (os.path.join(folder, name) for name in ("tasks", "results"))
        settings = {
            "tasks": tasks_file,
            "results": results_file,
            "library": None if library is None else str(library),
            "kernels": None if kernels is None else str(kernels),
            "tensorflow": str(tensorflow_dir()),
            "program": None if program is None else str(program),
        }
        with open(tasks_file, "wb") as file:
            pickle.dump(tasks, file)
        process = subprocess.run(
            [sys.executable, str(HERE / "parity_client.py"), json.dumps(settings)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "TF_CPP_MIN_LOG_LEVEL": "3",
            },
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        results = []
        if os.path.exists(results_file):
            with open(results_file, "rb") as file:
                while True:
                    try:
                        results.append(pickle.load(file))
                    except EOFError:
                        break
    return results, f"({process.returncode}): {process.stderr[-2000:]}"


def load_cases(modules: Sequence[str]) -> list[Case]:
    """The CASES of these modules."""
    sys.path.insert(0, str(HERE))
    return [case for module in modules for case in importlib.import_module(module).CASES]
