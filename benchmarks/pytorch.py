"""PyTorch's equivalents as rivals, if `./run bench --torch` has installed it.

Without PyTorch `torch` is None, `contenders` returns {}, and PyTorch functions are not called.
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

# Types of torch, which are unknown without its package.
Tensor = Any
Function = Callable[..., Tensor]


def _load(module: str) -> Any:
    """A module of PyTorch, or None if it is not installed."""
    is_complete = (FOLDER / ".made-from").exists()
    if is_complete and str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # after the packages that both need
    # Triton, for GPUs, brings a second LLVM into the process, which aborts because TensorFlow's
    # LLVM has registered the same options.
    sys.modules.setdefault("triton", None)  # type: ignore[arg-type]
    # torch.compile must leave no idle processes behind.
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
    """PyTorch's side, by name, which we must at least match in time; {} without PyTorch.

    Args:
      name: The name of the PyTorch function.
      function: A function of tensors with the values and shapes of `inputs`.
      inputs: Its arguments.
      by: The inputs whose gradients are taken; if empty, only the function runs.
      ours: Our step, which must compute the same.
      upstream: The gradient of the result; ones if not given.
      layout: The memory layout of images [N, H, W, C], of any shape with four dimensions: "NHWC" or
        "NCHW".
      tolerance: The largest difference of each result, relative to its Euclidean norm.
      more: Inputs of more calls in the same step.

    Raises:
      AssertionError: The difference is larger.
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
    """Compiles the function with torch.compile, which needs a C++ compiler."""
    return function if torch is None else torch.compile(function)


def checked(
    name: str, theirs: Callable[[], Sequence[Tensor]], ours: measure.Work, tolerance: float = 1e-3
) -> dict[str, measure.Contender]:
    """Like `contenders`, for an existing step."""
    values = tf.nest.flatten(ours())
    for number, (their_value, value) in enumerate(zip(theirs(), values, strict=True)):
        expected = value.numpy().astype(np.float64)
        found = their_value.detach().double().numpy()
        difference = found.reshape(expected.shape) - expected
        apart = np.linalg.norm(difference) / np.linalg.norm(expected)
        assert apart <= tolerance, f"{name}: result {number} differs from ours by {apart:.2g}"
    return {f"PyTorch {name}": measure.Contender(theirs, 1.0, own_threads=True)}


def _tensor(value: tf.Tensor, layout: str) -> Tensor:
    """A copy of the value."""
    if value.dtype == tf.bfloat16:  # NumPy does not have it.
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
