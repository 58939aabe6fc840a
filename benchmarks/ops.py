"""Measures an op against its rivals: the op itself, several times per step if it takes less than a
few milliseconds, and one eager call, which includes the cost of a call."""

import dataclasses
import math
import statistics
import time
from collections.abc import Mapping, Sequence

import measure
import pytorch
import tensorflow as tf
from limits import Needs

# In seconds: calling a tf.function takes 0.1 to 0.5 ms, which must be small compared with a step.
_SHORT, _STEP = 4e-3, 16e-3
_MOST_CALLS = 24


@dataclasses.dataclass(frozen=True)
class Rival:
    """A composition of TensorFlow's ops that computes the same.

    Attributes:
      function: A function of tensors.
      inputs: Its arguments, if they differ from the op's.
      bar: The ratio of our time to its time that we must reach, if there is one.
      mode: The mode that it runs in.
    """

    function: measure.Function
    inputs: Sequence[tf.Tensor] | None = None
    bar: float | None = None
    mode: measure.Mode = "tf.function"


@dataclasses.dataclass(frozen=True)
class Torch:
    """A function of PyTorch that computes the same; see `pytorch.contenders`."""

    function: pytorch.Function
    layout: str = "NHWC"
    tolerance: float = 1e-3


def copies(inputs: Sequence[tf.Tensor], count: int) -> list[list[tf.Tensor]]:
    """Copies of the values, because a graph computes the same tensors only once."""
    return [[tf.constant(x.numpy()) for x in inputs] for _ in range(count)]


def calls_of_a_step(work: measure.Work) -> int:
    """The number of calls for a step, given work that is one call."""
    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    one = statistics.median(seconds[1:])
    return 1 if one >= _SHORT else min(_MOST_CALLS, math.ceil(_STEP / one))


def compare(
    group: str,
    case: str,
    function: measure.Function,
    inputs: Sequence[tf.Tensor],
    rivals: Mapping[str, Rival],
    needs: Needs,
    torch: Mapping[str, Torch] | None = None,
    by: Sequence[int] = (),
    upstream: tf.Tensor | None = None,
    rounds: int = 15,
    size: float | None = None,
    one_call: bool = True,
) -> list[measure.Result]:
    """Measures an op, forward or forward and backward.

    Args:
      group: The group of the rows.
      case: The case of the rows.
      function: Our op.
      inputs: Its arguments.
      rivals: Compositions of TensorFlow's ops, by name.
      needs: The least bytes and operations of one call.
      torch: Functions of PyTorch, by name.
      by: The inputs whose gradients are taken; if empty, only the function runs.
      upstream: The gradient of the result; ones if not given.
      rounds: The number of turns of each contender.
      size: The size of the rows.
      one_call: True to add rows for one eager call.
    """

    def sides(
        rivals: Mapping[str, Rival], mode: measure.Mode, calls: int
    ) -> tuple[measure.Contender, dict[str, measure.Contender]]:
        """Our side in a mode, and the rivals and PyTorch's functions."""
        more = copies(inputs, calls - 1)
        ours = measure.contender(function, inputs, by, None, upstream, mode, more)
        theirs = {}
        for name, rival in rivals.items():
            values = inputs if rival.inputs is None else rival.inputs
            theirs[name] = measure.contender(
                rival.function,
                values,
                by,
                rival.bar,
                upstream,
                rival.mode,
                copies(values, calls - 1),
            )
        for name, of_torch in (torch or {}).items():
            how = upstream, of_torch.layout, of_torch.tolerance, more
            theirs |= pytorch.contenders(name, of_torch.function, inputs, by, ours.work, *how)
        return ours, theirs

    calls = calls_of_a_step(measure.step(function, inputs, by, upstream))
    ours, theirs = sides(rivals, "tf.function", calls)
    results = measure.compare(group, case, ours, theirs, rounds, calls, needs, size)
    if one_call:
        # Rivals are not compiled and have no bars: a call's overhead is not ours.
        eager = {
            f"{name}, eager": dataclasses.replace(rival, mode="eager")
            for name, rival in rivals.items()
            if rival.mode == "tf.function"
        }
        ours, theirs = sides(eager, "eager", 1)
        theirs = {name: dataclasses.replace(side, bar=None) for name, side in theirs.items()}
        results += measure.compare(group, f"{case}: one call", ours, theirs, rounds)
    return results
