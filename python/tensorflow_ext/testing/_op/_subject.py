"""An op under check, with its attributes, inputs and results."""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext.testing._op import _calls
from tensorflow_ext.testing._op._calls import Problem
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._variants import Sample, Variant

# The errors by which an op or TensorFlow refuses a request.
REFUSALS = (
    tf.errors.OpError,
    ValueError,
    TypeError,
    LookupError,
    NotImplementedError,
    OverflowError,
    MemoryError,
)


class CrashedError(Exception):
    """This attempt has ended a process before; the message says how."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a check; `check_op` documents them."""

    without_gradient: Sequence[str] = ()
    surrogate: bool = False
    tolerance: float = 64.0
    order: int = 2
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Example:
    """Inputs that a variant of the op accepts."""

    variant: Variant
    arrays: list[np.ndarray]

    def __str__(self) -> str:
        shapes = [
            f"{name} {list(array.shape)}"
            for name, array in zip(self.variant.input_names, self.arrays, strict=True)
        ]
        return f"{self.variant}; {', '.join(shapes) or 'no inputs'}"


class Subject:
    """An op under check.

    Attributes:
      op_def: The OpDef, with its documentation.
      sample: The variants to check.
      options: The options of the check.
      examples: The variants that have inputs, with their inputs.
      registration_errors: The reasons why a gradient of the op was not registered.
    """

    def __init__(
        self,
        op_def: op_def_pb2.OpDef,
        sample: Sample,
        options: Options,
        attempt: "Callable[[str], None]",
    ) -> None:
        self.op_def = op_def
        self.sample = sample
        self.options = options
        self.examples: list[Example] = []
        self.registration_errors: list[str] = []
        self._attempt = attempt
        self._problems: dict[int, Problem] = {}
        self._results: dict[int, list[np.ndarray | None]] = {}

    @property
    def op(self) -> str:
        """The op's name."""
        return self.op_def.name

    def attempt(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function that may end the process.

        Args:
          what: A description of the attempt, the same in every process.
          function: The function to call, with `arguments`.

        Raises:
          CrashedError: A process has ended, or was ended, during this attempt.
        """
        self._attempt(what)
        return function(*arguments)

    def finding(self, check: str, verdict: Verdict, message: str = "") -> OpFinding:
        """A finding about this op."""
        return OpFinding(self.op, check, verdict, message)

    def random(self, purpose: str) -> np.random.Generator:
        """Random numbers, the same in every process."""
        key = zlib.crc32(f"{self.op} {purpose}".encode())
        return np.random.default_rng([key, self.options.seed])

    @functools.cached_property
    def values_vary(self) -> bool:
        """True if the op may give different values for the same inputs."""
        for example in self.examples[:1]:
            first, second = (self.attempt(f"{example}, run {k}", run, example) for k in ("A", "B"))
            return not _calls.same_bits(first, second)
        return False

    def differentiable(self, variant: Variant) -> list[int]:
        """The inputs that must have a gradient or be declared to have none."""
        return [
            k
            for k, (name, dtype) in enumerate(
                zip(variant.input_names, variant.input_types, strict=True)
            )
            if _calls.is_differentiable(dtype)
            and name.partition("[")[0] not in self.options.without_gradient
        ]

    def first_order(self, example: Example) -> Problem:
        """The problem with random upstream gradients and all differentiable inputs wanted."""
        outputs = self.attempt(f"{example}, run", run, example)
        generator = self.random("upstream gradients")
        upstreams = tuple(_calls.weights_like(generator, o) for o in outputs)
        wanted = tuple(self.differentiable(example.variant))
        return Problem(example.variant, example.arrays, wanted, upstreams)

    def problem(self, number: int) -> Problem:
        """The problem of an example, with its existing gradients, up to second order."""
        if number in self._problems:
            return self._problems[number]
        example = self.examples[number]
        problem = self.first_order(example)
        outputs = len(problem.upstreams)
        try:
            results = self.attempt(f"{example}, gradients", problem.evaluate)
            gradients = results[outputs:] or [None] * len(problem.wanted)
        except (*REFUSALS, CrashedError):
            gradients = [None] * len(problem.wanted)
        there = [g is not None for g in gradients]
        wanted = tuple(w for w, has in zip(problem.wanted, there, strict=True) if has)
        problem = dataclasses.replace(problem, wanted=wanted)
        if wanted and self.options.order > 1:
            generator = self.random("weights of gradients")
            weights = [_calls.weights_like(generator, problem.inputs[i]) for i in wanted]
            second = dataclasses.replace(
                problem, weights=tuple(w for w in weights if w is not None)
            )
            try:
                self.attempt(f"{example}, second gradients", second.evaluate)
                problem = second
            except (*REFUSALS, CrashedError):
                pass  # `gradient_order_2` reports it.
        self._problems[number] = problem
        return problem

    def results(self, number: int) -> list[np.ndarray | None]:
        """The eager results of an example's problem."""
        if number not in self._results:
            problem = self.problem(number)
            what = f"{self.examples[number]}, eagerly"
            self._results[number] = self.attempt(what, problem.evaluate)
        return self._results[number]

    def compared(self, number: int, way: str, actual: Sequence[np.ndarray | None]) -> Iterator[str]:
        """Describes how another way's results differ from the eager ones."""
        expected, tolerance = self.results(number), self.options.tolerance
        for said in self.problem(number).compared(actual, expected, tolerance):
            yield f"{way}, {self.examples[number]}: {said}"


def run(example: Example) -> list[np.ndarray]:
    """Runs the kernel on an example."""
    return _calls.run(example.variant, example.arrays)


def brief(error: BaseException, most: int = 300) -> str:
    """A short form of an error, for a message."""
    text = " ".join(str(error).split())
    if isinstance(error, CrashedError):
        return text
    text = text.replace(" [Op:", "\n[Op:").partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {text[:most]}{'...' if len(text) > most else ''}"
