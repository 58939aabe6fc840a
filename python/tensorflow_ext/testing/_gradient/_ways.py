"""Other ways to compute a gradient, which must agree with the tape in eager mode."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._gradient._comparison import distances, real_view
from tensorflow_ext.testing._gradient._elements import Tolerance
from tensorflow_ext.testing._gradient._function import Function
from tensorflow_ext.testing._gradient._report import Finding, Outcome, Worst

_BATCH = 3


def numbers(tensor: tf.Tensor | None, like: Any) -> np.ndarray:
    """The real numbers of a gradient with respect to `like`; zeros for None."""
    if tensor is None:
        return real_view(np.zeros(like.shape, like.dtype.as_numpy_dtype))
    return real_view(tensor.numpy())


def element(position: int, like: Any) -> str:
    """The index of a real number in a tensor, as a report shows it."""
    part = ""
    if like.dtype.is_complex:
        position, odd = divmod(position, 2)
        part = " (imaginary)" if odd else " (real)"
    if not like.shape.rank:
        return part.strip() or "scalar"
    index = np.unravel_index(position, like.shape)
    return f"[{', '.join(map(str, index))}]{part}"


def draw(rng: np.random.Generator, like: Any) -> tf.Tensor:
    """Random numbers of both signs, none near zero, in the shape and type of `like`."""

    def part() -> np.ndarray:
        signs = rng.choice([-1.0, 1.0], like.shape)
        return signs * rng.uniform(0.5, 1.5, like.shape)

    values = part() + 1j * part() if like.dtype.is_complex else part()
    return tf.constant(values.astype(like.dtype.as_numpy_dtype))


def last_line(error: Exception) -> str:
    """An exception's type and one line of its message."""
    lines = str(error).strip().splitlines()
    said = next((line for line in reversed(lines) if line.strip()), "")
    if isinstance(error, tf.errors.OpError):
        said = error.message.strip().splitlines()[0] if error.message.strip() else said
    return f"{type(error).__name__}: {said.strip()[:300]}"


class Ways:
    """Compares the ways to compute the gradients of one function.

    Args:
      function: The function.
      order: Order of its gradient.
      upstreams: The upstream gradients.
      gradients: The tape's gradients in eager mode; each fits its source.
      tolerance: How far apart they may be.
    """

    def __init__(
        self,
        function: Function,
        order: int,
        upstreams: Sequence[tf.Tensor],
        gradients: Sequence[tf.Tensor | None],
        tolerance: Tolerance,
    ) -> None:
        self._function = function
        self.order = order
        self._upstreams = list(upstreams)
        self._gradients = list(gradients)
        self._tolerance = tolerance

    def again(self, limit: float) -> Finding:
        """Compares a second, identical run bit by bit."""
        second = self._function.gradients(self._upstreams)
        for name, source, a, b in self._beside(second):
            x, y = numbers(a, source), numbers(b, source)
            if x.tobytes() == y.tobytes():
                continue
            apart = np.abs(x - y)
            if limit and np.max(apart) <= limit:
                continue
            k = int(np.argmax(apart))
            worst = Worst(element(k, source), float(y[k]), float(x[k]), limit)
            return self._finding("same bits twice", name, "two runs differ", worst)
        return self._finding("same bits twice", "all")

    def same(self, check: str, take: Callable[[], Sequence[Any]]) -> Finding:
        """Compares another way, which gives all gradients or only those that are not None."""
        try:
            found = list(take())
        except Exception as error:
            return self._finding(check, "all", last_line(error))
        if len(found) != len(self._gradients):
            iterator = iter(found)
            found = [None if g is None else next(iterator) for g in self._gradients]
        return self._agree(check, self._beside(found))

    def value(self, check: str, other: Function) -> Finding:
        """Compares the values of another form of the function."""
        function = self._function
        expected = function.call(function.tensors)
        try:
            found = other.call(function.tensors)
        except Exception as error:
            return self._finding(check, "all", last_line(error))
        return self._agree(check, zip(function.outputs, expected, expected, found, strict=True))

    def traced(self, check: str, jit_compile: bool) -> Finding:
        """Compares a tf.function with the tape inside."""
        present = [g is not None for g in self._gradients]
        inner = self._function.derivative(self._upstreams, present)
        call = inner.traced(jit_compile).call
        return self.same(check, lambda: call(inner.tensors) if any(present) else [])

    def undefined(self) -> list[Finding]:
        """Checks each output alone; the others have no upstream gradient, instead of 0."""
        check = "one output alone"
        function = self._function
        findings = []
        for k, name in enumerate(function.outputs):
            upstreams = [w if i == k else tf.zeros_like(w) for i, w in enumerate(self._upstreams)]
            try:
                with_zeros = function.gradients(upstreams)
                alone = function.gradients(self._upstreams, output=k)
            except Exception as error:
                failed = self._finding(check, name, last_line(error))
                findings.append(failed)
                continue
            rows = zip(function.names, function.sources, with_zeros, alone, strict=True)
            findings.append(self._agree(check, rows, f" of {name}", _ZEROS))
        return findings

    def forward(self, rng: np.random.Generator, required: bool) -> list[Finding]:
        """Forward mode: (upstream, J tangent) = (gradient, tangent) for each source."""
        check = "forward mode"
        function = self._function
        findings = []
        for name, source, gradient in zip(
            function.names, function.sources, self._gradients, strict=True
        ):
            tangent = draw(rng, source)
            try:
                jvps = self._jvps([source], [tangent])
            except Exception as error:
                findings.append(self._impossible(check, name, error, required))
                break
            pairs = list(zip(self._upstreams, jvps, strict=True))
            dots = [numbers(w, w) * numbers(jvp, w) for w, jvp in pairs]
            terms = numbers(gradient, source) * numbers(tangent, tangent)
            value, expected = math.fsum(np.concatenate(dots)), math.fsum(terms)
            length = math.sqrt(terms.size)
            size = float(np.linalg.norm(terms))
            size += float(np.linalg.norm(np.concatenate(dots)))
            tolerance = self._tolerance.of(expected, size, length)
            worst = Worst("along a direction", value, expected, tolerance)
            wrong = "" if abs(value - expected) <= tolerance else _FORWARD
            findings.append(self._finding(check, name, wrong, worst))
        return findings

    def batched(self, rng: np.random.Generator, required: bool, forward: bool) -> list[Finding]:
        """The gradient, and forward mode if that works, under tf.vectorized_map."""
        function = self._function
        stacks = [
            tf.stack([w] + [draw(rng, w) for _ in range(_BATCH - 1)]) for w in self._upstreams
        ]
        present = [g is not None for g in self._gradients]

        def gradients(upstreams: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            found = function.gradients(upstreams)
            return [g for g, there in zip(found, present, strict=True) if there]

        names = [n for n, there in zip(function.names, present, strict=True) if there]
        findings = [self._batch("batched gradient", gradients, stacks, names, required)]
        if forward:
            tangents = [tf.stack([draw(rng, x) for _ in range(_BATCH)]) for x in function.sources]

            def pushed(moves: Sequence[tf.Tensor]) -> list[tf.Tensor]:
                jvps = self._jvps(function.sources, moves)
                return [
                    tf.zeros_like(w) if jvp is None else jvp
                    for w, jvp in zip(self._upstreams, jvps, strict=True)
                ]

            check = "batched forward mode"
            outputs = function.outputs
            findings.append(self._batch(check, pushed, tangents, outputs, required))
        return findings

    def _batch(
        self,
        check: str,
        take: Callable[[Sequence[tf.Tensor]], list[tf.Tensor]],
        stacks: list[tf.Tensor],
        names: Sequence[str],
        required: bool,
    ) -> Finding:
        singly = [take([s[k] for s in stacks]) for k in range(_BATCH)]
        expected = [tf.stack(column) for column in zip(*singly, strict=True)]
        try:
            found = _vectorized(take, stacks)
        except Exception as error:
            return self._impossible(check, "all", error, required)
        rows = zip(names, expected, expected, found, strict=True)
        return self._agree(check, rows, than="a loop")

    def _jvps(self, sources: list[Any], tangents: Sequence[tf.Tensor]) -> list[Any]:
        with (
            _watching_complex_quietly(),
            tf.autodiff.ForwardAccumulator(sources, list(tangents)) as accumulator,
        ):
            results = self._function.call(self._function.tensors)
        jvps = [accumulator.jvp(y) for y in results]
        return [None if jvp is None else tf.convert_to_tensor(jvp) for jvp in jvps]

    def _beside(self, found: Sequence[Any]) -> Any:
        function = self._function
        return zip(function.names, function.sources, self._gradients, found, strict=True)

    def _agree(self, check: str, rows: Any, of: str = "", than: str = "eager mode") -> Finding:
        """Compares rows of name, the tensor it fits, expected and found gradient."""
        farthest, which = None, "all"
        for name, source, expected, found in rows:
            if found is not None and found.shape != source.shape:
                said = f"shape {found.shape}, expected {source.shape}"
                return self._finding(check, name + of, said)
            a, b = numbers(found, source), numbers(expected, source)
            largest = float(np.max(np.abs(b), initial=0))
            limits = self._tolerance.of(0, largest) + (self._tolerance.relative * np.abs(b))
            apart = distances(a, b)
            with np.errstate(invalid="ignore", divide="ignore"):
                excess = np.nan_to_num(apart / limits, nan=np.inf, posinf=np.inf)
            excess = np.where(apart == 0, 0, excess)
            if not excess.size:
                continue
            k = int(np.argmax(excess))
            if excess[k] and (farthest is None or excess[k] > farthest.excess):
                index = element(k, source)
                farthest = Worst(index, float(a[k]), float(b[k]), float(limits[k]))
                which = name
        wrong = farthest is not None and not farthest.excess <= 1
        said = f"differs from {than}" if wrong else ""
        if not wrong:
            which = "all"
        return self._finding(check, which + of, said, farthest)

    def _finding(
        self, check: str, name: str, wrong: str = "", worst: Worst | None = None
    ) -> Finding:
        outcome = Outcome.FAILED if wrong else Outcome.PASSED
        return Finding(self.order, check, name, outcome, wrong, worst)

    def _impossible(self, check: str, name: str, error: Exception, required: bool) -> Finding:
        outcome = Outcome.FAILED if required else Outcome.NOTE
        return Finding(self.order, check, name, outcome, f"not possible: {last_line(error)}")


def _vectorized(
    take: Callable[[Sequence[tf.Tensor]], list[tf.Tensor]], stacks: list[tf.Tensor]
) -> list[tf.Tensor]:
    """tf.vectorized_map without loops, in its own graph."""

    @tf.function(autograph=False)
    def batch(stacks: list[tf.Tensor]) -> list[tf.Tensor]:
        return tf.vectorized_map(take, stacks, fallback_to_while_loop=False)

    specs = [tf.TensorSpec(x.shape, x.dtype) for x in stacks]
    return batch.get_concrete_function(specs)(stacks)


@contextmanager
def _watching_complex_quietly() -> Iterator[None]:
    """Silences ForwardAccumulator's warning about complex tensors, which it handles well."""

    def is_other(record: logging.LogRecord) -> bool:
        return "watched primal must be floating" not in record.getMessage()

    logger = tf.get_logger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


_ZEROS = "zeros for the others' upstream gradients"
_FORWARD = "forward and reverse mode differ"
