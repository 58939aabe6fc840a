"""Judges a client's results for a case.

In double, gradients are compared with central differences, computed in eager mode; in the other
types, with the gradients in double.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

import cases
import clients
import numpy as np
import tensorflow as tf
from cases import Case
from clients import Client, Results
from references import LIMIT, Reference, is_floating, reference

from tensorflow_ext.testing._gradient._comparison import UNIT_ROUNDOFF, deviation


@dataclasses.dataclass
class Check:
    """One comparison; it fails if `deviation` is larger than `limit`."""

    # output, reference, golden, gradient, second, types, shapes or error
    what: str
    dtype: str
    deviation: float
    limit: float
    message: str

    @property
    def ok(self) -> bool:
        """True if the comparison is within the limit."""
        return self.deviation <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.dtype}, {self.what}: {self.message}: deviation "
            f"{self.deviation:.3g}, limit {self.limit:.3g}"
        )


def check_that(true: bool, what: str, dtype: str, message: str) -> Check:
    """A check that passes or fails, without a number."""
    return Check(what, dtype, 0 if true else np.inf, 0, message)


# Caches the results of all clients for a case, in all types. A call only hits if its arguments are
# passed in the same way: by position.
@functools.lru_cache(maxsize=64)
def _run(case: Case, client: Client, dtype: str, known_shapes: bool, second: bool, /) -> Results:
    """The client's results, computed once for first and second order."""
    problem = reference(case, dtype).problem
    weights = problem.weights if second else []
    return client(dataclasses.replace(problem, weights=weights, known_shapes=known_shapes))


def _from_listed(actual: np.ndarray, values: cases.Values) -> float:
    """The distance of a tensor from listed values; infinite if they do not fit."""
    golden = values.golden(actual.shape)
    return np.inf if golden is None else deviation(actual, golden.astype(actual.dtype))


def limit_of(case: Case, dtype: str) -> float:
    """The allowed distance between numbers of a type; 0 if it does not round."""
    return case.tolerance * UNIT_ROUNDOFF.get(cases.DTYPES[dtype].name, 0)


def _check_outputs(base: Reference, dtype: str, results: Results) -> Iterator[Check]:
    case = base.case
    limit = limit_of(case, dtype)
    pairs = itertools.zip_longest(results.outputs, base.outputs)
    for i, (output, expected) in enumerate(pairs):
        message = f"output {i}"
        if output is None or expected is None or output.dtype != expected.dtype:
            yield check_that(False, "output", dtype, f"{message}: number or type")
            continue
        apart = deviation(output, expected)
        # Either may be off by the limit; integers are exact.
        bound = 2 * limit if is_floating(output) else 0
        yield Check("output", dtype, apart, bound, f"{message} against eager mode")
        if i in case.outputs:
            apart = _from_listed(output, case.outputs[i])
            yield Check("output", dtype, apart, limit, message)
    if base.chain is not None and results.outputs:
        apart = deviation(results.outputs[0], base.chain)
        yield Check("reference", dtype, apart, limit, "output 0 against the reference")


def _check_presence(
    base: Reference, dtype: str, results: Results, none_is_zero: bool
) -> Iterator[Check]:
    """The expected gradients exist, in the right type and shape, and no others."""
    pairs = zip(base.problem.inputs, results.gradients, strict=True)
    for i, (array, gradient) in enumerate(pairs):
        absent = gradient is None or (none_is_zero and not np.any(gradient))
        message = f"input {i} has {'no' if gradient is None else 'a'} gradient"
        if not base.has_gradient(i):
            yield check_that(absent, "gradient", dtype, message)
            continue
        yield check_that(gradient is not None, "gradient", dtype, message)
        if gradient is not None:
            same = gradient.shape == array.shape and gradient.dtype == array.dtype
            message = f"gradient of input {i}: shape and type"
            yield check_that(same, "gradient", dtype, message)


def _check_gradients(
    base: Reference, dtype: str, results: Results, known_shapes: bool
) -> Iterator[Check]:
    case = base.case
    limit = limit_of(case, dtype)
    wide = reference(case, "double") if "double" in case.types else None
    for i, gradient in enumerate(results.gradients):
        if gradient is None or not base.has_gradient(i):
            continue
        message = f"gradient of input {i}"
        if case.has_golden_gradients:
            if i in case.gradients:
                apart = _from_listed(gradient, case.gradients[i])
                yield Check("golden", dtype, apart, limit, message)
            continue
        if wide is None:
            yield check_that(False, "types", dtype, "the case does not list double")
            continue
        if dtype == "double":
            slopes = wide.slopes[i]
            assert slopes is not None
            apart = slopes.deviation(gradient)
            yield Check("gradient", dtype, apart, LIMIT, message)
        if dtype != "double" or not known_shapes:
            what = "types" if known_shapes else "shapes"
            apart = deviation(gradient, wide.results.gradients[i])
            yield Check(what, dtype, apart, limit, message)


def check_first(
    case: Case, client: Client, dtype: str, known_shapes: bool = True, second: bool = True
) -> list[Check]:
    """Outputs and first-order gradients of a case in one type.

    Args:
      case: The case, which expects no error.
      client: The client.
      dtype: T; if it is a floating type, the case must list double too.
      known_shapes: True if the client may know the inputs' shapes in advance.
      second: True if the client also computes the second order in this run, if there is one, for
        `check_second`.
    """
    base = reference(case, dtype)
    results = _run(case, client, dtype, known_shapes, second and known_shapes)
    none_is_zero = client is clients.symbolic_gradient or hasattr(client, "none_is_zero")
    return [
        *_check_outputs(base, dtype, results),
        *_check_presence(base, dtype, results, none_is_zero),
        *_check_gradients(base, dtype, results, known_shapes),
    ]


def check_unknown_shapes(
    case: Case, client: Client, dtypes: Sequence[str] | None = None
) -> list[Check]:
    """The same with a graph that does not know the inputs' shapes; by default in two types."""
    first = "double" if "double" in case.types else case.types[0]
    return [
        check
        for dtype in dtypes or dict.fromkeys([first, case.types[-1]])
        for check in check_first(case, client, dtype, known_shapes=False)
    ]


def has_second(case: Case) -> bool:
    """True if `check_second` has something to check."""
    return not case.has_golden_gradients and "double" in case.types


def check_second(case: Case, client: Client) -> list[Check]:
    """The gradients' gradients in double; none for a case without them."""
    if not has_second(case):
        return []
    base = reference(case, "double")
    results = _run(case, client, "double", True, True)
    inputs = len(case.inputs)
    checks = []
    for i, slopes in enumerate(base.second_slopes):
        if slopes is None:
            continue
        kind, index = ("input", i) if i < inputs else ("upstream", i - inputs)
        apart = slopes.deviation(results.second[i])
        message = f"second order: {kind} {index}"
        checks.append(Check("second", "double", apart, LIMIT, message))
    return checks


def check_errors(
    case: Case, client: Client, exact: bool = False, dtypes: Sequence[str] | None = None
) -> list[Check]:
    """A case that must be refused: with known shapes by the shape function, with unknown ones by
    the kernel.

    Args:
      case: The case, which expects an error.
      client: The client.
      exact: True if the client reports the code of every error. A Python graph raises ValueError
        for an error of a shape function.
      dtypes: By default, all types of the case.
    """
    expected = getattr(tf.errors, f"{case.error}Error")
    accepted = expected if exact else (expected, ValueError)
    checks = []
    for dtype, known in itertools.product(dtypes or case.types, (True, False)):
        problem = clients.Problem(case, case.make_inputs(dtype), known_shapes=known)
        try:
            client(problem)
        except (tf.errors.OpError, ValueError) as error:
            message = str(error)
            ok = isinstance(error, accepted)
            ok = ok and any(text in message for text in case.fragments)
            got = f"{type(error).__name__}: {message}"
        else:
            ok, got = False, "no error"
        text = f"expected {case.error} with {case.fragments}, got {got}"
        checks.append(check_that(ok, "error", dtype, text))
    return checks
