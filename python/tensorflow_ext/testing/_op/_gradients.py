"""Checks of an op's gradient: each input has one or is declared to have none; it is the
derivative, up to second order; it is the same in all types.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from tensorflow_ext._runtime import _attributes, _library, _plan
from tensorflow_ext.testing._gradient._check_gradient import check_gradient
from tensorflow_ext.testing._gradient._report import GradientReport, Outcome
from tensorflow_ext.testing._op import _calls
from tensorflow_ext.testing._op._calls import Problem
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import REFUSALS, CrashedError, Example, Subject, brief, run
from tensorflow_ext.testing._op._variants import Variant

# The other ways to compute a gradient have their own checks.
_ONLY_DIFFERENCES: dict[str, Any] = {
    "modes": ("eager",),
    "forward": False,
    "batched": False,
    "raise_error": False,
}


def has_none(op: str) -> bool:
    """True if an op is declared to have no gradient.

    Raises:
      LookupError: Nothing is declared.
    """
    return ops._gradient_registry.lookup(op) is None


def first(subject: Subject) -> Iterator[OpFinding]:
    """The findings about the gradient."""
    for line in subject.registration_errors:
        yield subject.finding("gradient", Verdict.FAILED, line)
    yield from _of_order(subject, 1)


def second(subject: Subject) -> Iterator[OpFinding]:
    """The findings about the gradient of the gradient."""
    if subject.options.order > 1:
        yield from _of_order(subject, 2)


def _of_order(subject: Subject, order: int) -> Iterator[OpFinding]:
    check = "gradient" if order == 1 else "second order"
    if not any(subject.differentiable(e.variant) for e in subject.examples):
        yield subject.finding(check, Verdict.NONE, "no input can have one")
        return
    try:
        if has_none(subject.op):
            yield subject.finding(check, Verdict.NONE, "declared to have none")
            return
    except LookupError:
        if order == 1:
            yield subject.finding(
                check,
                Verdict.MISSING,
                "none: give the op a REGISTER_OP_GRADIENT, or a REGISTER_OP_NO_GRADIENT",
            )
        return
    if subject.values_vary:
        yield subject.finding(check, Verdict.NOTE, "cannot be checked, because the values vary")
        return
    checked = 0
    for example, measured in _with_wide(subject):
        problem = subject.first_order(example)
        if not problem.wanted or all(u is None for u in problem.upstreams):
            continue
        found = list(_of_example(subject, example, problem, order, measured))
        checked += 1
        yield from (dataclasses.replace(f, check=check) for f in found)
        if any(f.verdict.is_fault for f in found):
            return
    yield subject.finding(check, Verdict.PASSED, f"{checked} examples")


def _with_wide(subject: Subject) -> list[tuple[Example, bool]]:
    """The examples, each with its version in double if the op accepts that, and whether
    to measure differences. If there is a version in double, only that one needs them.
    """
    found = {str(example): (example, True) for example in subject.examples}
    for example in subject.examples:
        wide = example.variant.widened()
        if wide is None:
            continue
        wider = Example(wide, _wide_inputs(wide, example.arrays))
        try:
            subject.attempt(f"{wider}, run in double", run, wider)
        except (*REFUSALS, CrashedError):
            continue  # `kernel` reports it.
        found.setdefault(str(wider), (wider, True))
        found[str(example)] = example, False
    return list(found.values())


def _of_example(
    subject: Subject, example: Example, problem: Problem, order: int, measured: bool
) -> Iterator[OpFinding]:
    try:
        results = subject.attempt(f"{example}, gradients", problem.evaluate)
    except CrashedError as error:
        yield subject.finding("", Verdict.FAILED, f"{example}: the gradient {error}")
        return
    except REFUSALS as error:
        if order == 1:
            yield subject.finding("", Verdict.FAILED, f"{example}: {brief(error)}")
        return
    gradients = results[len(problem.upstreams) :]
    there = []
    for index, gradient in zip(problem.wanted, gradients, strict=True):
        if gradient is not None:
            there.append(index)
            if order == 1:
                yield from _shape_and_type(subject, example, index, gradient)
        elif order == 1:
            yield from _nothing(subject, example, index)
    problem = dataclasses.replace(problem, wanted=tuple(there))
    if there and measured:
        yield from _differences(subject, example, problem, order)


def _shape_and_type(
    subject: Subject, example: Example, index: int, gradient: np.ndarray
) -> Iterator[OpFinding]:
    expected = example.arrays[index]
    if (gradient.shape, gradient.dtype) != (expected.shape, expected.dtype):
        name = example.variant.input_names[index]
        yield subject.finding(
            "",
            Verdict.FAILED,
            f"{example}: the gradient of {name} is {gradient.dtype} of shape "
            f"{list(gradient.shape)}, expected {expected.dtype} of shape "
            f"{list(expected.shape)}",
        )


def _nothing(subject: Subject, example: Example, index: int) -> Iterator[OpFinding]:
    """The findings about an input without gradient, which its definition must declare."""
    name = example.variant.input_names[index]
    if subject.op in _library.list_ops():
        node = _attributes.to_node_def(subject.op, example.variant.attrs)
        if _plan.find(node, None).results[index] is None:
            yield subject.finding("", Verdict.PASSED, f"{name} has none: its definition says so")
            return
    yield subject.finding(
        "",
        Verdict.FAILED,
        f"{example}: input {name} has no gradient; if that is intended, declare it with "
        f"TfExt>NoGradient in the definition, or without_gradient=[{name!r}]",
    )


def _differences(
    subject: Subject, example: Example, problem: Problem, order: int
) -> Iterator[OpFinding]:
    """Compares the gradient with central differences."""
    what = f"{example}, central differences of order {order}"
    surrogate = subject.options.surrogate
    if surrogate and order == 1:
        return
    try:
        if surrogate:
            report = subject.attempt(what, _check_gradients_gradient, problem)
        else:
            report = subject.attempt(what, _check, problem, order, subject.options.seed)
    except (*REFUSALS, CrashedError) as error:
        yield subject.finding("", Verdict.FAILED, f"{what}: {brief(error)}")
        return
    wanted = 1 if surrogate else order
    names = [example.variant.input_names[i] for i in problem.wanted]
    for found in report.findings:
        if found.order == wanted and found.outcome is not Outcome.PASSED:
            failed = found.outcome is Outcome.FAILED
            verdict = Verdict.FAILED if failed else Verdict.NOTE
            yield subject.finding(
                "",
                verdict,
                f"{example}: {found.check}, {found.subject} (of {', '.join(names)}): {found.text}",
            )


def _check(problem: Problem, order: int, seed: int) -> GradientReport:
    inputs = _calls.constants(problem.variant, problem.inputs)

    def outputs(*moved: tf.Tensor) -> list[tf.Tensor]:
        given = list(inputs)
        for index, tensor in zip(problem.wanted, moved, strict=True):
            given[index] = tensor
        results = _calls.call(problem.variant, given)
        return [r for r in results if _calls.is_differentiable(r.dtype)]

    return check_gradient(
        outputs, [problem.inputs[i] for i in problem.wanted], order, seed=seed, **_ONLY_DIFFERENCES
    )


def _check_gradients_gradient(problem: Problem) -> GradientReport:
    """Checks the gradient of a surrogate gradient, which must be its derivative."""
    count = len(problem.inputs)
    tensors = problem.tensors()

    def gradients(*moved: tf.Tensor) -> list[tf.Tensor]:
        given = list(tensors)
        for index, tensor in zip(problem.wanted, moved, strict=False):
            given[index] = tensor
        given[count:] = moved[len(problem.wanted) :]
        results = problem.differentiate(*given)
        return [r for r in results[len(problem.upstreams) :] if r is not None]

    upstreams = problem.fed[count:]
    return check_gradient(
        gradients,
        [*(problem.inputs[i] for i in problem.wanted), *upstreams],
        1,
        **_ONLY_DIFFERENCES,
    )


def types(subject: Subject) -> Iterator[OpFinding]:
    """The findings about other types, whose results must agree with double."""
    compared = 0
    if subject.values_vary:
        return
    for number, example in enumerate(subject.examples):
        wide = example.variant.widened()
        if wide is None:
            continue
        problem = dataclasses.replace(subject.problem(number), weights=())
        own = subject.attempt(f"{example}, eagerly", problem.evaluate)
        try:
            expected = subject.attempt(f"{example}, in double", _widened(problem, wide).evaluate)
        except (*REFUSALS, CrashedError):
            continue  # `kernel` and other checks report it.
        compared += 1
        # Integers and the like are not converted.
        wanted = [
            e if a is not None and _calls.is_differentiable(tf.as_dtype(a.dtype)) else a
            for a, e in zip(own, expected, strict=True)
        ]
        for said in problem.compared(own, wanted, subject.options.tolerance):
            yield subject.finding("types", Verdict.FAILED, f"{example}: {said} as in double")
            return
    verdict = Verdict.PASSED if compared else Verdict.NONE
    yield subject.finding("types", verdict, f"{compared} compared with double")


def _wide_inputs(wide: Variant, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The arrays in the types that a variant takes."""
    pairs = zip(arrays, wide.input_types, strict=True)
    return [x if x.dtype == object else x.astype(t.as_numpy_dtype) for x, t in pairs]


def _widened(problem: Problem, wide: Variant) -> Problem:
    """The problem in double."""
    inputs = _wide_inputs(wide, problem.inputs)
    out = [dtype.as_numpy_dtype for dtype in wide.types(wide.op_def.output_arg)]
    upstreams = tuple(
        None if u is None else u.astype(kind)
        for u, kind in zip(problem.upstreams, out, strict=True)
    )
    return Problem(wide, inputs, problem.wanted, upstreams)
