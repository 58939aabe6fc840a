"""Side-by-side measurement: contenders take turns in one process; medians are compared."""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import limits
import memory
import tensorflow as tf
from limits import Needs
from results import Result

T = TypeVar("T")
Function = Callable[..., Any]
Work = Callable[[], object]
Mode = Literal["eager", "tf.function", "jit_compile"]

# In seconds; idle threads of OpenMP spin for about 10 ms before they sleep.
_PAUSE = 0.03

_LIMIT = "the limit"


@dataclasses.dataclass(frozen=True)
class Contender:
    """A side of a measurement.

    Attributes:
      work: Runs one step of it.
      bar: The ratio of our time to its time that we must reach, if there is one.
      memory: Bytes at the peak of a step, if measured.
      own_threads: True if it runs on its own threads, which may still spin when the next contender
        has its turn.
    """

    work: Work
    bar: float | None = None
    memory: int | None = None
    own_threads: bool = False


def with_gradients(
    function: Function, by: Sequence[int], upstream: tf.Tensor | None = None
) -> Function:
    """A function of tensors followed by its gradients.

    The result includes the function's value, because a tf.function omits values that are not
    returned.

    Args:
      function: The function to differentiate.
      by: The arguments whose gradients are taken, as dense tensors; if empty, only the function
        runs.
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
      function: The function to run.
      inputs: Its arguments.
      by: As in `with_gradients`.
      upstream: As in `with_gradients`.
      mode: Eager, as a graph, or compiled by XLA.
      more: Inputs of more calls in the same step, because calling a tf.function may take as long as
        the work of one call.
    """
    call = with_gradients(function, by, upstream)

    # Captures the inputs, because each argument of a tf.function adds 20 us to a call.
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
    """A step as a contender; its memory is measured if it is a tf.function.

    See `step` and `Contender` for the arguments; the memory is that of one call.
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
      group: The group of the rows.
      case: The case of the rows.
      ours: Our side.
      rivals: The contenders to compare with, by name.
      rounds: The number of turns of each.
      calls: Calls in one step of every contender.
      needs: The least bytes and operations of one call, for a comparison with the limit.
      size: The size of the rows.
      note: Makes the note from our time, in seconds per call.
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
    """Seconds per call of each contender, round by round.

    In each round every contender runs for about `seconds_a_round`, in turn; the order is reversed
    every other round, so that a drifting machine favours none. One warm-up comes before. With a
    pause, in seconds, each turn begins with the pause and an untimed call, which wakes the
    contender's threads.
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


def in_own_process(function: Callable[..., T], *arguments: Any) -> T:
    """The result of a module's function in a new process, which leaves no memory behind and has the
    cores of this thread.

    Raises:
      concurrent.futures.process.BrokenProcessPool: The process was killed.
    """
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=spawn, initializer=_end_with_parent
    ) as process:
        return process.submit(function, *arguments).result()


def _end_with_parent() -> None:
    """Ends this process when its parent ends for any reason; otherwise it would run beside the next
    measurement."""
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
    """Half the interquartile range of the ratios whose median `ratio` is."""
    lower, _, upper = statistics.quantiles(_ratios(times, ours, rival), n=4)
    return (upper - lower) / 2


def median(times: Mapping[str, list[float]], name: str) -> float:
    """The median time of a contender, in seconds."""
    return statistics.median(times[name])
