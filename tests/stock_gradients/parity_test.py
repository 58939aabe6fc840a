"""Cases of some families of ops: the gradients of the C API, of tapes in its eager mode, of the
function runtime and, if they are this library's, of Python against the reference.

Environment:
  PARITY_FAMILIES  some of covered_ops.FAMILIES, whose modules are cases_FAMILY*.py, or
    onednn for the cases of all families that are for oneDNN
  PARITY_LIBRARY  libtensorflow_ext.so
  PARITY_KERNELS  libcsr_kernels.so, where the family needs it
"""

import dataclasses
import functools
import os
import unittest.mock
from collections.abc import Callable, Sequence

import numpy as np
import parity
import parity_eager
import parity_python
import pytest
import sampling
import tensorflow as tf
from c_client import Client
from covered_ops import NO_SECOND_ORDER, NOT_IN_FUNCTIONS, NOT_IN_PYTHON, ONLY_IN_CLIENTS, STAND_INS
from parity import Case, Outcome
from protocol import find_program

FAMILIES = os.environ["PARITY_FAMILIES"].split()
ONEDNN = FAMILIES == ["onednn"]
PATTERNS = ["cases_*.py"] if ONEDNN else [f"cases_{family}*.py" for family in FAMILIES]
# Their gradients have the least regular plans, so they run in full if plans change.
IRREGULAR = ("control_flow", "sparse")


def cases_of(pattern: str) -> list[Case]:
    """The cases of some modules that this commit runs. The first of each op has a second order, if
    any has."""
    modules = sorted(path.stem for path in parity.HERE.glob(pattern))
    cases = [case for case in parity.load_cases(modules) if case.onednn == ONEDNN]
    cases.sort(key=lambda case: case.second_order is None or case.error is not None)
    parts = ("tensorflow_ext/gradient/",) if any(name in pattern for name in IRREGULAR) else ()
    return sampling.of_every_op(cases, 8, *parts)


CASES = [case for pattern in PATTERNS for case in cases_of(pattern)]
COVERED = {case.op for case in CASES}
# TensorFlow's gradients, which cases_stock*.py compares, need a second order only if this library
# replaces them.
COVERED = COVERED & set(STAND_INS) if "stock" in FAMILIES else COVERED - set(STAND_INS)


# Half the time of a case is Grappler's, which optimizes the graph before its first run.
OPTIMIZED = {case.id for case in CASES if sampling.is_turn_of_commit(f"Grappler {case.id}", 2)}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """The outcomes by case id; all in one client process."""
    library, kernels = os.environ["PARITY_LIBRARY"], os.environ.get("PARITY_KERNELS")
    done = parity.run_cases(CASES, library, kernels, OPTIMIZED)
    return {outcome.case.id: outcome for outcome in done}


def fail_with(problems: Sequence[str]) -> None:
    """Fails if there are any."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_gradients(case: Case, outcomes: dict[str, Outcome]) -> None:
    fail_with(outcomes[case.id].problems)


# C is the client above. A few cases show how the others call the same library.
IN_LANGUAGES = sampling.in_languages(
    [case for case in CASES if sampling.is_turn_of_commit(f"languages {case.id}", 4)]
)
# The Rust crate takes no upstream gradients, so a product of each y and its own replaces them.
# TensorFlow infers a wrong shape for these outputs, which only the product, or its gradient, uses.
NOT_IN_RUST = {
    **{f"{op}FFTND-known_shapes": "must be equal" for op in ("", "I", "R", "IR")},
    **{
        f"GatherV2-batch_dims_{dims}{form}": "does not start with indices[0].shape"
        for dims in (-1, -2)
        for form in ("", "_static", "_batch")
    },
    "Range-one_element_each": "deviation inf",  # a scalar instead of a vector
}


@pytest.fixture(scope="module")
def programs(outcomes: dict[str, Outcome]) -> Callable[[str], dict[str, Outcome]]:
    """The outcomes of the cases with the program of a language."""

    @functools.cache
    def run(language: str) -> dict[str, Outcome]:
        library, kernels = os.environ["PARITY_LIBRARY"], os.environ["PARITY_KERNELS"]
        asked = [outcomes[case.id] for other, case in IN_LANGUAGES if other == language]
        done = [outcome for outcome in asked if outcome.result]
        found = parity.run_program(done, find_program(language), library, kernels)
        return {outcome.case.id: outcome for outcome in found}

    return run


@sampling.every_turn(IN_LANGUAGES)
def test_languages(
    language: str, case: Case, programs: Callable[[str], dict[str, Outcome]]
) -> None:
    outcome = programs(language)[case.id]
    problems = outcome.problems or parity.judge(case, outcome.task, outcome.result)
    if language == "Rust" and case.id in NOT_IN_RUST:
        assert any(NOT_IN_RUST[case.id] in problem for problem in problems), problems
    else:
        fail_with(problems)


def runs_in_functions(case: Case) -> bool:
    """True if the function runtime can differentiate the case at all.

    It cannot if outputs are fed, because it computes them, or by variables of another type than
    float, because it assumes float for all.
    """
    types = {np.asarray(case.inputs[i]).dtype for i in case.variables}
    others = types - {np.dtype(np.float32)}
    left_out = case.op in ONLY_IN_CLIENTS or case.id in NOT_IN_FUNCTIONS
    return not (case.error or case.also_fed or others or left_out)


@pytest.mark.parametrize(
    "case", [c for c in CASES if runs_in_functions(c)], ids=lambda case: case.id
)
def test_function_runtime(case: Case, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case.id]
    fail_with(parity.judge_function_runtime(case, outcome.task, outcome.result))


def test_python(outcomes: dict[str, Outcome]) -> None:
    """Python's gradients after fix(), if these are this library's.

    The cases that the client above has run take turns, because Python replays the same plans. The
    other tests are done by now: from here on, this process has the library.
    """
    import tensorflow_ext
    from tensorflow_ext._runtime import _fixing

    tensorflow_ext.gradients.fix()
    ours = [
        case
        for case in CASES
        if (case.op in _fixing.FIXED or case.reference == "numeric")
        and not (case.error or case.also_fed)
        and not {case.op, case.id} & NOT_IN_PYTHON.keys()
        and (sampling.is_named(case.op) or sampling.is_turn_of_commit(f"Python {case.id}", 3))
    ]
    problems = []
    for case in ours:
        outcome = outcomes[case.id]
        second = case.second_order and "python"
        asked = dataclasses.replace(case, reference="python", second_order=second)
        # Some cases have another reference instead of Python's.
        with unittest.mock.patch.object(tf.Graph, "gradient_override_map"):
            task = parity_python.prepare(asked)
        found = parity.judge_python(case, outcome.task, outcome.result, task)
        problems += [f"{case.id}: {problem}" for problem in found]
    fail_with(problems)


IN_EAGER_MODE = [case for case in CASES if sampling.is_turn_of_commit(f"EagerC {case.id}", 3)]


@pytest.fixture(scope="module")
def eager_client() -> Client:
    client = parity_eager.new_client()  # Not earlier: see test_python.
    client.load(os.environ["PARITY_KERNELS"])
    return client


@pytest.mark.parametrize("case", IN_EAGER_MODE, ids=lambda case: case.id)
def test_eager_mode(case: Case, outcomes: dict[str, Outcome], eager_client: Client) -> None:
    """EagerC: the eager mode of the C API with tapes, in this process."""
    outcome = outcomes[case.id]
    if reason := parity_eager.reason_against(case, outcome.task):
        pytest.skip(reason)
    fail_with(parity_eager.problems(eager_client, case, outcome.task, outcome.result))


@pytest.mark.parametrize("op", sorted(COVERED - set(NO_SECOND_ORDER)))
def test_second_order_was_compared(op: str, outcomes: dict[str, Outcome]) -> None:
    """Every op has some second-order gradient that is not zero."""
    second_orders = [
        gradient
        for outcome in outcomes.values()
        if outcome.case.op == op and outcome.case.second_order is not None
        for gradient in outcome.result.get("second") or ()
        if gradient is not None
    ]
    assert any(np.any(gradient != 0) for gradient in second_orders)
