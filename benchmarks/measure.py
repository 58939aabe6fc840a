# SPDX-License-Identifier: Apache-2.0
"""Side by side: contenders take turns in one process, and medians are compared."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf


@dataclasses.dataclass
class Result:
    """One row of the table.

    Attributes:
      group: What was measured, e.g. "eager replay".
      case: On what.
      seconds: The median time of our side.
      rival: Whom it is compared with.
      ratio: Our time over the rival's: the median of the rounds' ratios.
      bar: The ratio that is to be reached, if there is one.
      note: Anything to know beside it, e.g. a bandwidth.
    """

    group: str
    case: str
    seconds: float
    rival: str
    ratio: float
    bar: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the ratio is within its bar, if it has one."""
        return self.bar is None or self.ratio <= self.bar


def with_gradient(
    function: Callable, arguments: Sequence[tf.Tensor]
) -> Callable[[], object]:
    """Runs a function and takes the gradient by all its arguments.

    What it returns has the function's value too: a tf.function would leave out
    what is not returned.
    """

    def run() -> object:
        with tf.GradientTape() as tape:
            for argument in arguments:
                tape.watch(argument)
            result = function(*arguments)
        return result, tape.gradient(result, arguments)

    return run


def interleave(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    seconds_a_round: float = 0.05,
) -> dict[str, list[float]]:
    """Seconds a call of each contender, round by round.

    In each round every contender runs for about `seconds_a_round`, in turn; the
    order is reversed every other round, so that a drifting machine favours none.
    One warm-up before.
    """
    repeats = {}
    for name, contender in contenders.items():
        contender()
        start = time.perf_counter()
        contender()
        once = max(time.perf_counter() - start, 1e-7)
        repeats[name] = max(1, int(seconds_a_round / once))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        order = list(contenders) if number % 2 else list(reversed(contenders))
        for name in order:
            contender = contenders[name]
            start = time.perf_counter()
            for _ in range(repeats[name]):
                contender()
            times[name].append((time.perf_counter() - start) / repeats[name])
    return times


def ratio(times: Mapping[str, list[float]], ours: str, rival: str) -> float:
    """The median over the rounds of our time over the rival's."""
    return statistics.median(
        a / b for a, b in zip(times[ours], times[rival], strict=True)
    )


def median(times: Mapping[str, list[float]], name: str) -> float:
    """The median time of a contender, in seconds."""
    return statistics.median(times[name])
