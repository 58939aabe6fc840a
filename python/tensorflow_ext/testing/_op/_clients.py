"""Compares an op and its gradient in tf.function, XLA, C and tf.vectorized_map with eager
mode.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext._runtime import _library
from tensorflow_ext.testing._op import _c_client, _calls
from tensorflow_ext.testing._op._calls import Problem
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import REFUSALS, CrashedError, Subject, brief

_ITERATIONS = 3
_Results = list[np.ndarray | None]
_Way = Callable[[Problem], _Results]


class MissingError(Exception):
    """The op is not available in a client; the message says what is missing."""


def function(subject: Subject) -> Iterator[OpFinding]:
    """The findings about tf.function, with known and with unknown shapes."""
    ways = {
        "tf.function": _traced,
        "tf.function with unknown shapes": lambda problem: _traced(problem, known_shapes=False),
    }
    yield from _compared(subject, "function", ways)


def xla(subject: Subject) -> Iterator[OpFinding]:
    """The findings about compilation by XLA."""
    yield from _compared(subject, "xla", {"compiled by XLA": _compiled})


def c(subject: Subject) -> Iterator[OpFinding]:
    """The findings about TF_AddGradients."""
    known = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    registries = _library.registries(subject.op)
    if registries & _library.Registries.FUNCTION_NO_GRADIENT:
        yield subject.finding("c", Verdict.NONE, "declared to have no gradient")
        return
    if not registries & known:
        yield subject.finding(
            "c",
            Verdict.MISSING,
            "TF_AddGradients finds no gradient: give the op a REGISTER_OP_GRADIENT",
        )
        return
    yield from _compared(subject, "c", {"TF_AddGradients": _c_client.evaluate})


def _compared(subject: Subject, check: str, ways: dict[str, _Way]) -> Iterator[OpFinding]:
    """Compares the results of some clients with eager mode, example by example."""
    compared = 0
    for number, example in enumerate(subject.examples):
        problem = subject.problem(number)
        if check == "xla" and not example.variant.for_xla:
            continue
        for name, way in ways.items():
            try:
                actual = subject.attempt(f"{example}, {name}", way, problem)
            except MissingError as error:
                yield subject.finding(check, Verdict.MISSING, f"{example}: {error}")
                return
            except (*REFUSALS, CrashedError) as error:
                yield subject.finding(check, Verdict.FAILED, f"{name}, {example}: {brief(error)}")
                return
            if subject.values_vary:
                continue
            compared += 1
            differences = list(subject.compared(number, name, actual))
            for message in differences:
                yield subject.finding(check, Verdict.FAILED, message)
            if differences:
                return
    verdict = Verdict.PASSED if compared else Verdict.NONE
    yield subject.finding(check, verdict, f"{compared} runs match eager mode")


def _differentiated(
    problem: Problem, fed: Sequence[tf.Tensor], missing: list[bool]
) -> list[tf.Tensor]:
    """The results of `differentiate` without None, which a graph cannot return; `missing`
    gets their places."""
    results = problem.differentiate(*fed)
    missing[:] = [result is None for result in results]
    return [result for result in results if result is not None]


def _completed(tensors: Sequence[tf.Tensor], missing: Sequence[bool]) -> _Results:
    values = iter(_calls.to_numpy(tensors))
    return [None if absent else next(values) for absent in missing]


def _traced(
    problem: Problem,
    known_shapes: bool = True,
    jit_compile: bool | None = None,
    constants: bool = False,
) -> _Results:
    """The results in tf.function.

    Args:
      problem: The op and the tensors to feed.
      known_shapes: Whether the shapes of fed tensors are known.
      jit_compile: Whether XLA compiles it.
      constants: Whether the compiler knows the values of integers, such as shapes.
    """
    tensors = problem.tensors()
    moved = [
        k
        for k, tensor in enumerate(tensors)
        if not constants or _calls.is_differentiable(tensor.dtype)
    ]
    missing: list[bool] = []

    def body(*fed: tf.Tensor) -> list[tf.Tensor]:
        given = dict(zip(moved, fed, strict=True))
        pairs = enumerate(zip(problem.fed, tensors, strict=True))
        every = [given[k] if k in given else tf.constant(x, t.dtype) for k, (x, t) in pairs]
        return _differentiated(problem, every, missing)

    signature = None
    if not known_shapes:
        signature = [tf.TensorSpec(None, tensors[k].dtype, name=f"x{k}") for k in moved]
    traced = tf.function(body, input_signature=signature, jit_compile=jit_compile, autograph=False)
    return _completed(traced(*(tensors[k] for k in moved)), missing)


def _compiled(problem: Problem) -> _Results:
    try:
        return _traced(problem, jit_compile=True)
    except tf.errors.OpError as error:
        text = str(error)
        if "compile-time constant" in text:
            return _traced(problem, jit_compile=True, constants=True)
        if "unsupported operations" in text or "No registered" in text:
            ops = sorted(set(re.findall(r"'?([\w>]+)'? OpKernel", text)))
            raise MissingError(
                f"XLA has no kernel for {ops or brief(error)}: add REGISTER_XLA_OP"
            ) from error
        raise


def vectorized_map(subject: Subject) -> Iterator[OpFinding]:
    """The findings about tf.vectorized_map, of the op and of its gradient."""
    compared = 0
    for number, example in enumerate(subject.examples):
        # The second order would test the ops that gradients consist of.
        problem = dataclasses.replace(subject.problem(number), weights=())
        for way, stacked in _choices(problem, each=number == 0):
            place = f"{example}, vectorized over {way}"
            stacks, looped = _looped(subject, problem, stacked, place)
            try:
                actual = subject.attempt(place, _vectorized, problem, stacks, stacked)
            except MissingError as error:
                yield subject.finding("vectorized_map", Verdict.MISSING, str(error))
                return
            except (*REFUSALS, CrashedError) as error:
                yield subject.finding("vectorized_map", Verdict.FAILED, f"{place}: {brief(error)}")
                return
            if subject.values_vary:
                continue
            compared += 1
            for said in problem.compared(actual, looped, subject.options.tolerance):
                message = f"{place}: {said} as in a loop"
                yield subject.finding("vectorized_map", Verdict.FAILED, message)
                return
    verdict = Verdict.PASSED if compared else Verdict.NONE
    yield subject.finding("vectorized_map", verdict, f"{compared} compared with a loop")


def _looped(
    subject: Subject, problem: Problem, stacked: Sequence[bool], place: str
) -> tuple[list[list[np.ndarray]], list[Any]]:
    """The tensors to feed in each iteration, different if the op accepts that, and the
    results of a loop.
    """
    variations: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
        "rolled": lambda array, k: np.roll(array, k),
        "with rows rolled": lambda array, k: np.roll(array, k, axis=0),
    }
    for how, vary in variations.items():
        stacks = [
            [
                vary(array, k) if array.ndim and _is_number(array) else array
                for k in range(_ITERATIONS)
            ]
            for array in problem.fed
        ]
        try:
            what = f"{place}, loop, {how}"
            return stacks, subject.attempt(what, _loop, problem, stacks, stacked)
        except (*REFUSALS, CrashedError):
            pass
    stacks = [[array] * _ITERATIONS for array in problem.fed]
    return stacks, subject.attempt(f"{place}, loop", _loop, problem, stacks, stacked)


def _is_number(array: np.ndarray) -> bool:
    return _calls.is_differentiable(tf.as_dtype(array.dtype))


def _choices(problem: Problem, each: bool) -> Iterator[tuple[str, list[bool]]]:
    """Choices of the fed tensors that differ between iterations: all, each alone."""
    names, count = problem.variant.input_names, len(problem.fed)
    if count:
        yield "all inputs", [True] * count
    if each and count > 1:
        for k, name in enumerate(names):
            yield f"{name} alone", [i == k for i in range(count)]
    if problem.wanted:
        upstreams = range(len(names), count)
        yield "upstream gradients", [i in upstreams for i in range(count)]


def _loop(problem: Problem, stacks: list[list[np.ndarray]], stacked: Sequence[bool]) -> list[Any]:
    each = []
    kinds = [tensor.dtype for tensor in problem.tensors()]
    for k in range(_ITERATIONS):
        fed = [
            tf.constant(stack[k if varies else 0], kind)
            for stack, varies, kind in zip(stacks, stacked, kinds, strict=True)
        ]
        each.append(_calls.to_numpy(problem.differentiate(*fed)))
    return [None if values[0] is None else np.stack(values) for values in zip(*each, strict=True)]


def _vectorized(
    problem: Problem, stacks: list[list[np.ndarray]], stacked: Sequence[bool]
) -> _Results:
    kinds = [tensor.dtype for tensor in problem.tensors()]
    shared = [tf.constant(s[0], kind) for s, kind in zip(stacks, kinds, strict=True)]
    varying = [
        tf.constant(np.stack(stack), kind)
        for stack, kind, varies in zip(stacks, kinds, stacked, strict=True)
        if varies
    ]
    missing: list[bool] = []

    def one(elements: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        rest = iter(elements)
        fed = [
            next(rest) if varies else tensor for varies, tensor in zip(stacked, shared, strict=True)
        ]
        return _differentiated(problem, fed, missing)

    traced = tf.function(
        lambda: tf.vectorized_map(one, varying, fallback_to_while_loop=False), autograph=False
    )
    try:
        graph = traced.get_concrete_function().graph.as_graph_def()
    except ValueError as error:
        found = re.search(r"No pfor vectorization defined for ([\w>]+)", str(error))
        if found is None:
            raise
        raise MissingError(
            f"no rule says how to vectorize {found[1]}: register one with "
            f"tensorflow.python.ops.parallel_for.pfor.RegisterPFor({found[1]!r})"
        ) from error
    loops = sorted(
        {
            node.op
            for nodes in (graph.node, *(f.node_def for f in graph.library.function))
            for node in nodes
            if "While" in node.op
        }
    )
    if loops:
        raise MissingError(f"runs as a loop, {loops}")
    return _completed(traced(), missing)
