"""The references that clients are compared with: numbers and results in eager mode."""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import cases
import clients
import numpy as np
import tensorflow as tf
from cases import Case
from clients import Problem, Results

from tensorflow_ext.testing._gradient._comparison import Slopes, Terms, central_differences

# A power of two, so the step itself is exact. The error for a smooth function is about 4e-11 times
# its third derivative.
_STEP = 2.0**-16
# The error that the differences may have by themselves.
LIMIT = 1e-7


def is_floating(array: np.ndarray) -> bool:
    """True if tensors of this type have gradients."""
    return tf.as_dtype(array.dtype).is_floating


def make_problem(case: Case, dtype: str) -> Problem:
    """All numbers of a case in one type; in double, also for second order."""
    return Reference(case, dtype).problem


class Reference:
    """A case in one type; each attribute is computed on first use.

    Attributes:
      case: The case.
      problem: The numbers fed.
      outputs: The outputs of the eager client.
    """

    def __init__(self, case: Case, dtype: str) -> None:
        self.case = case
        inputs = case.make_inputs(dtype)
        self.outputs = clients.eager(Problem(case, inputs)).outputs
        _require_indices(case, "gradient", case.gradients, len(inputs))
        _require_indices(case, "upstream", case.upstreams, len(self.outputs))
        _require_indices(case, "output", case.outputs, len(self.outputs))
        self.problem = Problem(case, inputs, self._upstreams())
        if dtype == "double" and not case.has_golden_gradients:
            self.problem.weights = self._weights()

    def has_gradient(self, index: int) -> bool:
        """True if this input must have a gradient."""
        said = self.case.gradients.get(index)
        denied = said is not None and said.kind == "none"
        return is_floating(self.problem.inputs[index]) and not denied

    def _upstreams(self) -> list[np.ndarray | None]:
        """Upstream gradients of the floating outputs, or of all outputs if none is floating."""
        floating = any(map(is_floating, self.outputs))
        return [
            None
            if self.case.upstreams.get(i, cases.Values("")).kind == "none"
            or (floating and not is_floating(output))
            else self.case.make_upstream(i, output)
            for i, output in enumerate(self.outputs)
        ]

    def _weights(self) -> list[np.ndarray | None]:
        inputs = self.problem.inputs
        if not any(map(self.has_gradient, range(len(inputs)))):
            return []
        return [
            4 * cases.uniforms(2001 + i, x.size).reshape(x.shape) - 2
            if self.has_gradient(i)
            else None
            for i, x in enumerate(inputs)
        ]

    @functools.cached_property
    def chain(self) -> np.ndarray | None:
        """The expected output 0: the chain `reference`, if the case has one."""
        if not self.case.reference:
            return None
        inputs = [tf.constant(x) for x in self.problem.inputs]
        return clients.call_chain(self.case, self.case.reference, inputs).numpy()

    @functools.cached_property
    def results(self) -> Results:
        """Outputs and gradients of the eager client."""
        return clients.eager(dataclasses.replace(self.problem, weights=[]))

    @functools.cached_property
    def slopes(self) -> list[Slopes | None]:
        """The derivatives of the loss in double, for each input that has a gradient."""
        inputs = zip(self._both, self.problem.inputs, strict=False)
        return [both[0] if both else None for both, _ in inputs]

    @functools.cached_property
    def second_slopes(self) -> list[Slopes | None]:
        """The derivatives of the weighted gradients in double, for inputs, then upstream gradients.

        None if the definition gives an input no gradient, although its differences are not 0. Empty
        if nothing has a gradient.
        """
        return [both[1] if both else None for both in self._both if self.problem.weights]

    @functools.cached_property
    def _both(self) -> list[list[Slopes] | None]:
        """The derivatives of both orders, from the same runs."""
        problem = self.problem
        loss = [np.ones(())] if self.case.loss else problem.upstreams
        count = len(problem.inputs)
        return [
            central_differences(
                functools.partial(self._terms, i), [loss, problem.weights], x, _STEP
            )
            if x is not None and is_floating(x) and (i >= count or self.has_gradient(i))
            else None
            for i, x in enumerate([*problem.inputs, *problem.upstreams])
        ]

    def _terms(self, index: int, array: np.ndarray) -> Terms:
        """The terms of the loss, and of the weighted gradients."""
        moved = _moved(self.problem, index, array)
        results = clients.eager(moved)
        if not self.case.loss:
            return [results.outputs, results.gradients]
        inputs = [tf.constant(x) for x in moved.inputs]
        upstream = tf.constant(self.problem.upstreams[0])
        loss = clients.call_chain(self.case, self.case.loss, inputs, upstream)
        return [[loss.numpy()], results.gradients]


def _require_indices(case: Case, what: str, said: Mapping[int, cases.Values], count: int) -> None:
    if said and max(said) >= count:
        raise ValueError(f"{case.id}: {what} {max(said)}; expected an index below {count}")


def _moved(problem: Problem, index: int, array: np.ndarray) -> Problem:
    """The problem with another input or (after the inputs) upstream gradient."""
    sources = [*problem.inputs, *problem.upstreams]
    sources[index] = array
    count = len(problem.inputs)
    return Problem(problem.case, sources[:count], sources[count:])


# Caches the last few cases: clients run case by case, so one entry serves all of them.
reference: Callable[[Case, str], Reference] = functools.lru_cache(maxsize=16)(Reference)
