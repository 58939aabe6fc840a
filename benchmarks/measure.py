# SPDX-License-Identifier: Apache-2.0
"""Side by side: contenders take turns in one process, and medians are compared."""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import limits
import memory
import tensorflow as tf
from limits import Needs
from results import Result

Function = Callable[..., Any]
Work = Callable[[], object]
Mode = Literal["eager", "tf.function", "jit_compile"]

# In seconds; idle threads of OpenMP spin for about 10 ms before they sleep.
_PAUSE = 0.03

_LIMIT = "the limit"


@dataclasses.dataclass(frozen=True)
class Contender:
    """What is measured, and what is known of it.

    Attributes:
      work: One step of it.
      bar: Our time over its time that is to be reached, if there is one.
      memory: Bytes at the peak of a step, if measured.
      own_threads: Whether it runs on threads of its own, which may still spin when
        the next contender has its turn.
    """

    work: Work
    bar: float | None = None
    memory: int | None = None
    own_threads: bool = False


def with_gradients(
    function: Function, by: Sequence[int], upstream: tf.Tensor | None = None
) -> Function:
    """A function of tensors followed by its gradients.

    What it returns has the function's value too: a tf.function would leave out what
    is not returned.

    Args:
      function: What is differentiated.
      by: The arguments whose gradients are taken, as dense tensors; none: the
        function alone.
      upstream: The gradient of its result; ones if not given.
    """

    def run(*inputs: tf.Tensor) -> object:
        sources = [inputs[i] for i in by]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            result = function(*inputs)
        gradients = tape.gradient(result, sources, upstream)
        return result, [tf.convert_to_tensor(dx) for dx in gradients]

    return run if by else function


def step(
    function: Function,
    inputs: Sequence[tf.Tensor],
    by: Sequence[int] = (),
    upstream: tf.Tensor | None = None,
    mode: Mode = "eager",
    more: Sequence[Sequence[tf.Tensor]] = (),
) -> Work:
    """Runs a function of tensors and takes its gradients.

    Args:
      function: What is run.
      inputs: What it is given.
      by: As in `with_gradients`.
      upstream: As in `with_gradients`.
      mode: Eagerly, or as a graph, or compiled by XLA.
      more: Inputs of more calls in the same step. To call a tf.function may take as
        long as the work of one.
    """
    call = with_gradients(function, by, upstream)

    # Captured: each argument of a tf.function takes 20 us of a call of it.
    def run() -> object:
        return [call(*values) for values in (inputs, *more)]

    if mode == "eager":
        return run
    compiled = mode == "jit_compile"
    graph = tf.function(run, jit_compile=compiled, autograph=False)
    return graph.get_concrete_function()


def contender(
    function: Function,
    inputs: Sequence[tf.Tensor],
    by: Sequence[int] = (),
    bar: float | None = None,
    upstream: tf.Tensor | None = None,
    mode: Mode = "tf.function",
    more: Sequence[Sequence[tf.Tensor]] = (),
) -> Contender:
    """A step as a contender, its memory measured if it is a tf.function.

    For the arguments see `step` and `Contender`; the memory is that of one call.
    """
    work = step(function, inputs, by, upstream, mode, more)
    is_graph = mode == "tf.function"
    bytes_used = memory.peak(function, inputs, by, upstream) if is_graph else None
    return Contender(work, bar, bytes_used)


def forward_and_backward(*by: int) -> Sequence[tuple[str, Sequence[int]]]:
    """The two cases of most ops: the name, and the inputs that have gradients."""
    return ("forward", ()), ("forward + backward", by)


def compare(
    group: str,
    case: str,
    ours: Contender,
    rivals: Mapping[str, Contender],
    rounds: int = 15,
    calls: int = 1,
    needs: Needs | None = None,
    size: float | None = None,
    note: Callable[[float], str] = lambda seconds: "",
) -> list[Result]:
    """Measures ours, its rivals and the limit in turns: a row for each rival.

    Args:
      group: As in the rows.
      case: As in the rows.
      ours: Our side.
      rivals: Whom it is compared with, by name.
      rounds: Turns of each.
      calls: Calls in one step of every contender.
      needs: What one call must move and do, if that is to be compared.
      size: As in the rows.
      note: Makes the note from our time, in seconds a call.
    """
    work = {"": ours.work, **{name: rival.work for name, rival in rivals.items()}}
    if needs:
        work[_LIMIT] = limits.copy(calls * needs.bytes)
    pause = _PAUSE if any(rival.own_threads for rival in rivals.values()) else 0.0
    times = interleave(work, rounds, pause=pause)
    seconds = median(times, "") / calls
    of_limit = None
    if needs:
        of_limit = statistics.median(
            needs.seconds(copying, calls) / own
            for copying, own in zip(times[_LIMIT], times[""], strict=True)
        )
    return [
        Result(
            group,
            case,
            seconds,
            name,
            ratio(times, "", name),
            rival.bar,
            (ours.memory, rival.memory),
            note(seconds),
            needs,
            of_limit,
            spread(times, "", name),
            size,
        )
        for name, rival in rivals.items()
    ]


def interleave(
    contenders: Mapping[str, Work],
    rounds: int = 15,
    seconds_a_round: float = 0.05,
    pause: float = 0.0,
) -> dict[str, list[float]]:
    """Seconds a call of each contender, round by round.

    In each round every contender runs for about `seconds_a_round`, in turn; the
    order is reversed every other round, so that a drifting machine favours none.
    One warm-up before. With a pause, in seconds, each turn begins with it and with
    a call that is not timed, which wakes the contender's threads.
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
        order = list(contenders)[:: 1 if number % 2 else -1]
        for name in order:
            contender = contenders[name]
            if pause:
                time.sleep(pause)
                contender()
            start = time.perf_counter()
            for _ in range(repeats[name]):
                contender()
            times[name].append((time.perf_counter() - start) / repeats[name])
    return times


def in_own_process(function: Callable[..., list[Result]], *arguments: Any) -> list[Result]:
    """What the function of a module returns in a new process, which leaves no memory
    behind and has the cores that this thread has.

    Raises:
      concurrent.futures.process.BrokenProcessPool: The process was ended.
    """
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=spawn, initializer=_end_with_parent
    ) as process:
        return process.submit(function, *arguments).result()


def _end_with_parent() -> None:
    """Ends this process when its parent has ended, in whatever way: it would go on
    beside what is measured next."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _ratios(times: Mapping[str, list[float]], ours: str, rival: str) -> list[float]:
    return [a / b for a, b in zip(times[ours], times[rival], strict=True)]


def ratio(times: Mapping[str, list[float]], ours: str, rival: str) -> float:
    """The median over the rounds of our time over the rival's."""
    return statistics.median(_ratios(times, ours, rival))


def spread(times: Mapping[str, list[float]], ours: str, rival: str) -> float:
    """Half the distance of the quartiles of what `ratio` is the median of."""
    lower, _, upper = statistics.quantiles(_ratios(times, ours, rival), n=4)
    return (upper - lower) / 2


def median(times: Mapping[str, list[float]], name: str) -> float:
    """The median time of a contender, in seconds."""
    return statistics.median(times[name])
