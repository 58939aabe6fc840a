# SPDX-License-Identifier: Apache-2.0
"""PyTorch's equivalents as rivals, where `./run bench --torch` has installed it.

Without it `torch` is None, `contenders` are none, and functions of PyTorch are not
called.
"""

import importlib
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import measure
import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).resolve().parents[1] / ".venv" / "pytorch"
HOW_TO_INSTALL = "PyTorch is not installed: ./run bench --torch installs it and adds its rows"

# Of torch, of which nothing is known without its package.
Tensor = Any
Function = Callable[..., Tensor]


def _load(module: str) -> Any:
    """A module of PyTorch, or None where it is not installed."""
    is_complete = (FOLDER / ".made-from").exists()
    if is_complete and str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # behind the packages that both need
    # Triton, for GPUs, brings a second LLVM into the process: it aborts on
    # finding the options of TensorFlow's LLVM registered.
    sys.modules.setdefault("triton", None)  # type: ignore[arg-type]
    # torch.compile is to leave no processes behind that wait for work.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


torch = _load("torch")
if torch is not None:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    functional = torch.nn.functional
    aten = torch.ops.aten
    ops = _load("torchvision.ops")


def contenders(
    name: str,
    function: Function,
    inputs: Sequence[tf.Tensor],
    by: Sequence[int],
    ours: measure.Work,
    upstream: tf.Tensor | None = None,
    layout: str = "NHWC",
    tolerance: float = 1e-3,
    more: Sequence[Sequence[tf.Tensor]] = (),
) -> dict[str, measure.Contender]:
    """PyTorch's side, by its name, to be no faster than ours; {} without PyTorch.

    Args:
      name: That of the function of PyTorch.
      function: Of tensors, which have the values and shapes of `inputs`.
      inputs: What it is given.
      by: The inputs whose gradients are taken; none: the function alone.
      ours: Our step, which must compute the same.
      upstream: The gradient of the result; ones if not given.
      layout: How images [N, H, W, C], of any shape with four dimensions, lie in
        memory: "NHWC" or "NCHW".
      tolerance: Of each result, by how much of its Euclidean norm the two may be
        apart.
      more: Inputs of more calls in the same step.

    Raises:
      AssertionError: They are farther apart.
    """
    if torch is None:
        return {}
    dy = None if upstream is None else _tensor(upstream, layout)
    calls = [
        _step(function, [_tensor(value, layout) for value in values], by, dy)
        for values in (inputs, *more)
    ]
    return checked(name, lambda: [value for call in calls for value in call()], ours, tolerance)


def compiled(function: Function) -> Function:
    """The function by torch.compile, which needs a C++ compiler."""
    return function if torch is None else torch.compile(function)


def checked(
    name: str, theirs: Callable[[], Sequence[Tensor]], ours: measure.Work, tolerance: float = 1e-3
) -> dict[str, measure.Contender]:
    """As `contenders`, of a step that exists already."""
    values = tf.nest.flatten(ours())
    for number, (their_value, value) in enumerate(zip(theirs(), values, strict=True)):
        expected = value.numpy().astype(np.float64)
        found = their_value.detach().double().numpy()
        difference = found.reshape(expected.shape) - expected
        apart = np.linalg.norm(difference) / np.linalg.norm(expected)
        assert apart <= tolerance, f"{name}: result {number} is {apart:.2g} from ours"
    return {f"PyTorch {name}": measure.Contender(theirs, 1.0, own_threads=True)}


def _tensor(value: tf.Tensor, layout: str) -> Tensor:
    """A copy of the value."""
    if value.dtype == tf.bfloat16:  # which NumPy does not have
        bits = tf.bitcast(value, tf.int16)
        return _tensor(bits, layout).view(torch.bfloat16)
    if layout == "NCHW" and value.shape.rank == 4:
        moved = np.ascontiguousarray(np.moveaxis(value.numpy(), -1, 1))
        return torch.from_numpy(moved).movedim(1, -1)
    return torch.from_numpy(value.numpy().copy())


def _step(
    function: Function, inputs: Sequence[Tensor], by: Sequence[int], dy: Tensor | None
) -> Callable[[], list[Tensor]]:
    if not by:
        return torch.inference_mode()(lambda: [function(*inputs)])
    sources = [inputs[i].requires_grad_() for i in by]
    if dy is None:
        dy = torch.ones_like(function(*inputs))

    def run() -> list[Tensor]:
        result = function(*inputs)
        return [result, *torch.autograd.grad(result, sources, dy)]

    return run
