# SPDX-License-Identifier: Apache-2.0
"""An op beside its rivals: the op itself, of which a step has several where one takes
less than a few milliseconds, and one call in eager mode, with what a call costs."""

import dataclasses
import math
import statistics
import time
from collections.abc import Mapping, Sequence

import measure
import pytorch
import tensorflow as tf
from limits import Needs

# In seconds: to call a tf.function takes 0.1 to 0.5 ms, which is to be little beside a
# step.
_SHORT, _STEP = 4e-3, 16e-3
_MOST_CALLS = 24


@dataclasses.dataclass(frozen=True)
class Rival:
    """A composition of TensorFlow's ops that computes the same.

    Attributes:
      function: Of tensors.
      inputs: What it is given, if that is not what the op is given.
      bar: Our time over its time that is to be reached, if there is one.
      mode: How it runs.
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
    """The same values elsewhere: of the same tensors a graph computes once."""
    return [[tf.constant(x.numpy()) for x in inputs] for _ in range(count)]


def calls_of_a_step(work: measure.Work) -> int:
    """How many calls a step is to have, of work that is one of them."""
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
      group: As in the rows.
      case: As in the rows.
      function: Ours.
      inputs: What it is given.
      rivals: Compositions of TensorFlow's ops, by name.
      needs: What one call must move and do.
      torch: Functions of PyTorch, by name.
      by: The inputs whose gradients are taken; none: the function alone.
      upstream: The gradient of the result; ones if not given.
      rounds: Turns of each contender.
      size: As in the rows.
      one_call: Whether there are rows of one call in eager mode, too.
    """
    calls = calls_of_a_step(measure.step(function, inputs, by, upstream))
    more = copies(inputs, calls - 1)
    side = measure.contender(function, inputs, by, None, upstream, more=more)
    contenders = {}
    for name, rival in rivals.items():
        theirs = inputs if rival.inputs is None else rival.inputs
        contenders[name] = measure.contender(
            rival.function, theirs, by, rival.bar, upstream, rival.mode, copies(theirs, len(more))
        )
    contenders |= _of_torch(torch or {}, inputs, by, side.work, upstream, more)
    results = measure.compare(group, case, side, contenders, rounds, calls, needs, size)
    if one_call:
        results += _one_call(
            group, case, function, inputs, rivals, torch or {}, by, upstream, rounds
        )
    return results


def _one_call(
    group: str,
    case: str,
    function: measure.Function,
    inputs: Sequence[tf.Tensor],
    rivals: Mapping[str, Rival],
    torch: Mapping[str, Torch],
    by: Sequence[int],
    upstream: tf.Tensor | None,
    rounds: int,
) -> list[measure.Result]:
    """Of what cannot be compiled, without bars: how a call is made is not ours."""
    side = measure.contender(function, inputs, by, None, upstream, "eager")
    contenders = {
        f"{name}, eager": measure.contender(
            rival.function,
            inputs if rival.inputs is None else rival.inputs,
            by,
            None,
            upstream,
            "eager",
        )
        for name, rival in rivals.items()
        if rival.mode == "tf.function"
    }
    contenders |= {
        name: dataclasses.replace(contender, bar=None)
        for name, contender in _of_torch(torch, inputs, by, side.work, upstream).items()
    }
    return measure.compare(group, f"{case}: one call", side, contenders, rounds)


def _of_torch(
    torch: Mapping[str, Torch],
    inputs: Sequence[tf.Tensor],
    by: Sequence[int],
    ours: measure.Work,
    upstream: tf.Tensor | None,
    more: Sequence[Sequence[tf.Tensor]] = (),
) -> dict[str, measure.Contender]:
    """PyTorch's sides, by their names; see `pytorch.contenders`."""
    found = {}
    for name, rival in torch.items():
        found |= pytorch.contenders(
            name, rival.function, inputs, by, ours, upstream, rival.layout, rival.tolerance, more
        )
    return found
