"""Compares gradients with difference quotients, source by source."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ext.testing._gradient._comparison import real_view
from tensorflow_ext.testing._gradient._differences import Differences
from tensorflow_ext.testing._gradient._elements import Judge, Judged, Tolerance, Verdict
from tensorflow_ext.testing._gradient._evaluation import Evaluation
from tensorflow_ext.testing._gradient._function import Function
from tensorflow_ext.testing._gradient._report import Finding, Outcome, Worst
from tensorflow_ext.testing._gradient._ways import element, numbers

_CHECK = "differences"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the comparison with differences; see check_gradient."""

    tolerance: Tolerance
    require: bool | Sequence[str]
    step: float | None
    elements: int
    directions: int
    trace: bool
    surrogate: bool


def check_differences(
    evaluated: Function,
    function: Function,
    order: int,
    upstreams: Sequence[tf.Tensor],
    gradients: Sequence[tf.Tensor | None],
    settings: Settings,
    rng: np.random.Generator,
) -> list[Finding]:
    """Compares each gradient of `function` with differences of `evaluated`."""
    if settings.surrogate and order == 1:
        return []
    sizes = [2 * int(tf.size(x)) if x.dtype.is_complex else int(tf.size(x))
             for x in function.sources]  # fmt: skip
    calls = 4 * sum(min(size, settings.elements) for size in sizes)
    evaluation = Evaluation(evaluated, calls, settings.trace)
    differences = Differences(
        evaluation,
        evaluation.values,
        [real_view(w.numpy()) for w in upstreams],
        evaluation.epsilon,
        settings.step,
        evaluation.rounded,
    )
    findings = []
    with evaluation.restored():
        for k, (name, source, gradient) in enumerate(
            zip(function.names, function.sources, gradients, strict=True)
        ):
            judge = Judge(differences, k, numbers(gradient, source), settings.tolerance)
            judged = _judge(judge, sizes[k], settings, rng)
            required = order == 1 and (
                settings.require is True
                or (not isinstance(settings.require, bool) and name in settings.require)
            )
            findings.append(_finding(order, name, source, gradient, sizes[k], judged, required))
    return findings


def _judge(judge: Judge, size: int, settings: Settings, rng: np.random.Generator) -> list[Judged]:
    if size <= settings.elements:
        return judge.elements(np.arange(size))
    drawn = np.sort(rng.choice(size, settings.elements, replace=False))
    return judge.elements(drawn) + [
        judge.direction(rng.choice([-1.0, 1.0], size)) for _ in range(settings.directions)
    ]


def _finding(
    order: int,
    name: str,
    source: Any,
    gradient: tf.Tensor | None,
    size: int,
    judged: Sequence[Judged],
    required: bool,
) -> Finding:
    of = {verdict: [j for j in judged if j.verdict is verdict] for verdict in Verdict}
    said = []
    outcome = Outcome.PASSED
    if gradient is None:
        said.append("no gradient (None)")
    if wrong := of[Verdict.WRONG]:
        outcome = Outcome.FAILED
        said.append(f"{len(wrong)} of {len(judged)} slopes differ")
        kinks = [j for j in wrong if j.slope.kind.value != "smooth"]
        if kinks:
            first = kinks[0]
            said.append(
                f"{_place(first, source)} is {first.slope.kind.value}, but the "
                f"gradient is not between {first.slope.low:.6g} and "
                f"{first.slope.high:.6g}"
            )
    elif gradient is None:
        said.append("and the differences are 0")
        if required:
            outcome = Outcome.FAILED
            said.append("but one is required")
    if between := of[Verdict.BETWEEN]:
        first = between[0]
        said.append(
            f"a step crosses a kink at {len(between)} of {len(judged)}, first "
            f"{_place(first, source)}, slopes {first.slope.low:.6g} to "
            f"{first.slope.high:.6g}, the gradient is between them"
        )
    if unknown := of[Verdict.UNKNOWN]:
        first = unknown[0]
        said.append(
            f"not judged: {len(unknown)} of {len(judged)}, first "
            f"{_place(first, source)}, {first.doubt}"
        )
        if len(unknown) == len(judged):
            outcome = Outcome.NOTE
    if size > len(judged):
        said.append(f"{len(judged)} slopes of {size} elements")
    worst = _worst(of, source)
    return Finding(order, _CHECK, name, outcome, ", ".join(said), worst)


def _worst(of: dict[Verdict, list[Judged]], source: Any) -> Worst | None:
    judged = of[Verdict.WRONG] or of[Verdict.RIGHT]
    worsts = [j.worst(_place(j, source)) for j in judged]
    return max(worsts, key=lambda worst: worst.excess, default=None)


def _place(judged: Judged, source: Any) -> str:
    if judged.positions.size == 1:
        return element(int(judged.positions[0]), source)
    return f"along a direction of {judged.positions.size} elements"
