"""check_gradient."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._gradient._check_differences import Settings, check_differences
from tensorflow_ext.testing._gradient._elements import Tolerance
from tensorflow_ext.testing._gradient._evaluation import epsilon, in_double
from tensorflow_ext.testing._gradient._function import Function, as_names, make_function
from tensorflow_ext.testing._gradient._report import Finding, GradientReport, Outcome
from tensorflow_ext.testing._gradient._ways import Ways, draw, element, last_line

_MODES = ("eager", "function", "xla")


def check_gradient(
    fn: Callable[..., Any],
    inputs: Any,
    order: int = 2,
    *,
    variables: Sequence[tf.Variable] | None = None,
    modes: str | Sequence[str] = ("eager", "function"),
    forward: bool | None = None,
    batched: bool | None = None,
    undefined: bool = True,
    require: bool | str | Sequence[str] = False,
    fixed: str | Sequence[str] = (),
    surrogate: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    nondeterminism: float = 0.0,
    step: float | None = None,
    elements: int = 32,
    directions: int = 2,
    upstreams: Any = None,
    seed: int = 0,
    raise_error: bool = True,
) -> GradientReport:
    """Compares the gradient of a function with difference quotients.

    Args:
      fn: The function. It takes one argument per member of `inputs` if that is a list
        or tuple, else one argument. It returns a tensor or any structure of tensors.
      inputs: Arrays, tensors, variables, sparse or ragged tensors, or any structure
        of them. Numbers that are not floating or complex are not perturbed.
      order: The highest order to check. 2 also checks the gradient of the gradient, with
        respect to inputs and upstream gradients.
      variables: Variables whose gradients to check; None for all trainable ones that
        `fn` reads.
      modes: One or several of "eager", "function" (tf.function) and "xla" (compiled by
        XLA).
      forward: Whether tf.autodiff.ForwardAccumulator must agree; None checks it only
        if the ops support it.
      batched: Whether the gradient of every order must work in tf.vectorized_map; None
        checks only the first order, and only if the ops support it. This check takes
        the longest.
      undefined: Whether to differentiate each output alone, too.
      require: Inputs whose gradient must not be None: all, none, or one or several of
        their names as in the report ("inputs[0]").
      fixed: One or several names of inputs to keep fixed, like integers.
      surrogate: Whether the gradient deliberately differs from that of the value
        (straight-through). Differences then begin with order 2.
      rtol: Relative tolerance; None chooses one for the type.
      atol: Absolute tolerance; None chooses one for the type.
      nondeterminism: How far two runs may be apart.
      step: The largest step of a difference quotient, relative to an element above
        1; None chooses one for the type.
      elements: Tensors up to this size are checked at every element. In larger ones,
        this many elements are drawn.
      directions: The number of random directions in which a larger tensor is perturbed
        as a whole.
      upstreams: The upstream gradients of the first order, in the structure of the
        result of `fn`; None for random ones. Those of higher orders are random.
      seed: Seed of all random numbers.
      raise_error: Whether to raise an error for a fault.

    Returns:
      A report of the findings, which prints as a table. `passed` is True if there is no
      fault.

    Raises:
      GradientError: The gradient is wrong, and `raise_error` is set. It has the report.
      ValueError: An argument is invalid, or nothing has a gradient.
      RuntimeError: TensorFlow does not execute eagerly here.
    """
    _require(order >= 1, f"order={order}", "1 or more")
    modes, fixed = as_names(modes), as_names(fixed)
    require = require if isinstance(require, bool) else as_names(require)
    known = bool(modes) and set(modes) <= set(_MODES)
    _require(known, f"modes={modes!r}", f"some of {', '.join(_MODES)}")
    _require(elements >= 1, f"elements={elements}", "1 or more")
    _require(directions >= 0, f"directions={directions}", "0 or more")
    _require(step is None or step > 0, f"step={step}", "a number above 0")
    if not tf.executing_eagerly():
        raise RuntimeError(
            "check_gradient runs eagerly; call it outside tf.function and graphs, "
            "without disable_eager_execution()"
        )
    name = getattr(fn, "__name__", None) or type(fn).__name__
    called = fn if "eager" in modes else tf.function(fn, jit_compile="xla" in modes)
    function = make_function(called, inputs, variables, fixed)
    if not isinstance(require, bool):
        unknown = set(require) - set(function.names)
        _require(not unknown, f"require={sorted(unknown)}", f"some of {function.names}")
    results = function.call(function.tensors)
    spacing = epsilon(function, results)
    check = _Check(
        modes=tuple(modes),
        forward=forward,
        batched=batched,
        undefined=undefined,
        nondeterminism=nondeterminism,
        differences=Settings(
            # The defaults grow with the spacing of the type's numbers: 1e-7 and 2e-12
            # for double, 3e-4 and 6e-6 for float, 0.03 and 0.006 for half.
            Tolerance(
                max(spacing**0.5, 1e-7) if rtol is None else rtol,
                spacing**0.75 if atol is None else atol,
            ),
            require,
            step,
            elements,
            directions,
            "function" in modes,
            surrogate,
        ),
        rng=np.random.default_rng(seed),
        given=None if upstreams is None else _given(upstreams, function, results),
    )
    wide = in_double(function)
    check.run(function, wide, order)
    report = GradientReport(
        name,
        check.findings,
        seed,
        {
            "gradients in": _types(function),
            "differences in": _types(function if wide is None else wide),
        },
        check.upstreams,
    )
    if raise_error:
        report.raise_if_failed()
    return report


def _require(condition: bool, said: str, expected: str) -> None:
    if not condition:
        raise ValueError(f"check_gradient: {said}; expected {expected}")


def _given(upstreams: Any, function: Function, results: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The user's upstream gradients, one for each result."""
    flat = [w for w in tf.nest.flatten(upstreams, expand_composites=True) if w is not None]
    _require(
        len(flat) == len(results),
        f"{len(flat)} upstream gradients",
        f"{len(results)}, one for each of {', '.join(function.outputs)}",
    )
    given = [tf.cast(w, y.dtype) for w, y in zip(flat, results, strict=True)]
    for w, y, name in zip(given, results, function.outputs, strict=True):
        shapes = f"an upstream gradient of shape {w.shape}"
        _require(w.shape == y.shape, shapes, f"{y.shape}, the shape of {name}")
    return given


def _types(function: Function) -> str:
    return "/".join(sorted({x.dtype.name for x in function.sources}))


@dataclasses.dataclass
class _Check:
    """One check, order by order."""

    modes: Sequence[str]
    forward: bool | None
    batched: bool | None
    undefined: bool
    nondeterminism: float
    differences: Settings
    rng: np.random.Generator
    given: list[tf.Tensor] | None
    findings: list[Finding] = dataclasses.field(default_factory=list)
    upstreams: dict[tuple[int, str], np.ndarray] = dataclasses.field(default_factory=dict)

    def run(self, function: Function, wide: Function | None, order: int) -> None:
        """Checks the gradient, then the gradient of the gradient, and so on."""
        outer = function.traced()
        for name in function.left_alone:
            said = "left alone"
            self.findings.append(Finding(1, "input", name, Outcome.NOTE, said))
        for k in range(1, order + 1):
            upstreams = self._upstreams(function, k)
            gradients = upstreams and self._gradients(function, k, upstreams)
            if not upstreams or not gradients:
                return
            ways = Ways(function, k, upstreams, gradients, self.differences.tolerance)
            self.findings.append(ways.again(self.nondeterminism))
            if self.findings[-1].outcome is Outcome.FAILED:
                return
            self.findings += check_differences(
                function if wide is None else wide,
                function,
                k,
                upstreams,
                gradients,
                self.differences,
                self.rng,
            )
            if k == 1:
                self._values(ways, function, outer)
            self._ways(ways, outer, upstreams)
            present = [g is not None for g in gradients]
            if k == order or not any(present):
                return
            function = function.derivative(upstreams, present)
            outer = outer.derivative(upstreams, present)
            if wide is not None:
                double = [
                    tf.cast(w, tf.complex128 if w.dtype.is_complex else tf.float64)
                    for w in upstreams
                ]
                wide = in_double(wide.derivative(double, present))

    def _values(self, ways: Ways, function: Function, outer: Function) -> None:
        if "function" in self.modes:
            self.findings.append(ways.value("value in tf.function", outer))
        if "xla" in self.modes:
            compiled = function.traced(jit_compile=True)
            self.findings.append(ways.value("value compiled by XLA", compiled))

    def _ways(self, ways: Ways, outer: Function, upstreams: Sequence[tf.Tensor]) -> None:
        found = self.findings
        if "function" in self.modes:
            found.append(ways.traced("in tf.function", False))
            take = lambda: outer.gradients(upstreams)  # noqa: E731
            found.append(ways.same("of tf.function", take))
        if "xla" in self.modes:
            found.append(ways.traced("compiled by XLA", True))
        if self.undefined and len(upstreams) > 1:
            found += ways.undefined()
        pushed: list[Finding] = []
        if self.forward is not False:
            pushed = ways.forward(self.rng, bool(self.forward))
            found += pushed
        if self.batched or (self.batched is None and ways.order == 1):
            works = bool(pushed) and pushed[-1].outcome is Outcome.PASSED
            found += ways.batched(self.rng, bool(self.batched), works)

    def _upstreams(self, function: Function, order: int) -> list[tf.Tensor]:
        """Random upstream gradients; none if an output cannot be differentiated."""
        try:
            results = function.call(function.tensors)
        except Exception as error:
            self._fail(order, "gradient", "all", last_line(error))
            return []
        for name, y in zip(function.outputs, results, strict=True):
            if said := _not_finite(y):
                self._fail(order, "output", name, said)
                return []
        drawn = [draw(self.rng, y) for y in results]
        if order == 1 and self.given is not None:
            drawn = self.given
        for name, w in zip(function.outputs, drawn, strict=True):
            self.upstreams[order, name] = w.numpy()
        return drawn

    def _gradients(
        self, function: Function, order: int, upstreams: Sequence[tf.Tensor]
    ) -> list[tf.Tensor | None]:
        """The tape's gradients; none if they do not fit the sources."""
        try:
            found = function.gradients(upstreams)
        except Exception as error:
            self._fail(order, "gradient", "all", last_line(error))
            return []
        fits = True
        for name, source, g in zip(function.names, function.sources, found, strict=True):
            if g is None:
                continue
            said = ""
            if g.dtype != source.dtype:
                said = f"type {g.dtype.name}, expected {source.dtype.name}"
            elif g.shape != source.shape:
                said = f"shape {g.shape}, expected {source.shape}"
            else:
                said = _not_finite(g)
            if said:
                self._fail(order, "gradient", name, said)
                fits = False
        return found if fits else []

    def _fail(self, order: int, check: str, name: str, said: str) -> None:
        self.findings.append(Finding(order, check, name, Outcome.FAILED, said))


def _not_finite(tensor: tf.Tensor) -> str:
    """Names an element that is not finite, if there is one."""
    array = tensor.numpy()
    wrong = np.flatnonzero(~np.isfinite(array))
    if not wrong.size:
        return ""
    k = int(wrong[0])
    position = 2 * k if tensor.dtype.is_complex else k
    index = element(position, tensor).removesuffix(" (real)")
    return f"{array.flat[k]} at {index}, one of {wrong.size} that are not finite"
