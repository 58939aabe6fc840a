"""PyTorch's counterparts of kernels, on tensors of the same sizes.

`run.py --pytorch` times them in the same rounds. If PyTorch has no single kernel for an op, it is
not compared with a composition of several.
"""

import importlib
import math
from collections.abc import Callable
from typing import Any

_TYPES = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
Work = Callable[[], Any]
# Ops of one tensor x, and their gradients by x and the upstream gradient g.
_POINTWISE: dict[str, Callable[[Any, Any, Any], Work]] = {
    "Relu": lambda t, x, _: lambda: t.relu(x),
    "ReluGrad": lambda t, x, g: lambda: t.ops.aten.threshold_backward(g, x, 0),
    "GeluExact": lambda t, x, _: lambda: t.nn.functional.gelu(x),
    "GeluExactGrad": lambda t, x, g: lambda: t.ops.aten.gelu_backward(g, x),
    "GeluTanh": lambda t, x, _: lambda: t.nn.functional.gelu(x, approximate="tanh"),
    "GeluTanhGrad": lambda t, x, g: lambda: t.ops.aten.gelu_backward(g, x, approximate="tanh"),
    "Mish": lambda t, x, _: lambda: t.nn.functional.mish(x),
    "MishGrad": lambda t, x, g: lambda: t.ops.aten.mish_backward(g, x),
    "Hardshrink": lambda t, x, _: lambda: t.nn.functional.hardshrink(x),
    "Softshrink": lambda t, x, _: lambda: t.nn.functional.softshrink(x),
    "Clip": lambda t, x, _: lambda: t.clamp(x, -1, 1),
    "FloorMod": lambda t, x, g: lambda: t.remainder(x, g),
}
_OUTER: dict[str, Callable[[Any, Any, Any], Work]] = {
    "MultiplyLeft": lambda _, a, b: lambda: a * b,
    "FloorMod": lambda t, a, b: lambda: t.remainder(a, b),
}


class PyTorch:
    """The GPU through PyTorch.

    Raises:
      ImportError: PyTorch is not installed.
    """

    def __init__(self) -> None:
        """Imports PyTorch."""
        self._torch = importlib.import_module("torch")

    @property
    def version(self) -> str:
        """PyTorch's version."""
        return str(self._torch.__version__)

    def work(self, name: str, dtype: str, size: int) -> Work | None:
        """The counterpart of a row of the table of times; None if there is none.

        Args:
          name: The row's name, "LayerNormGrad" or "FloorMod, row by column".
          dtype: The row's type and shape, "half, 64 columns".
          size: Bytes of a tensor.
        """
        element, _, shape = dtype.partition(", ")
        if element not in _TYPES:
            return None
        kind = getattr(self._torch, _TYPES[element])
        count = size // kind.itemsize
        op, _, outer = name.partition(", ")
        if outer == "row by column" and op in _OUTER:
            side = math.isqrt(count)
            return _OUTER[op](self._torch, self._random(kind, side, 1), self._random(kind, side))
        if outer:
            return None
        if op in _POINTWISE:
            x, g = self._random(kind, count), self._random(kind, count)
            return _POINTWISE[op](self._torch, x, g)
        if op.removesuffix("Grad") in ("LayerNorm", "RmsNorm"):
            return self._norm(op, kind, count, int(shape.removesuffix(" columns")))
        return None

    def milliseconds(self, work: Work, repeats: int) -> float:
        """The average time of the work on the device."""
        first, last = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(repeats):
            work()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / repeats

    def _random(self, kind: Any, *shape: int) -> Any:
        return self._torch.randn(*shape, device="cuda", dtype=kind)

    def _norm(self, op: str, kind: Any, count: int, columns: int) -> Work | None:
        shape, aten = [columns], self._torch.ops.aten
        x = self._random(kind, max(1, count // columns), columns)
        scale, offset = self._random(kind, columns), self._random(kind, columns)
        if op == "LayerNorm":
            return lambda: aten.native_layer_norm(x, shape, scale, offset, 1e-3)
        if op == "RmsNorm":
            return lambda: aten._fused_rms_norm(x, shape, scale, 1e-3)
        g = self._torch.randn_like(x)
        if op == "LayerNormGrad":
            _, mean, inverse = aten.native_layer_norm(x, shape, scale, offset, 1e-3)
            return lambda: aten.native_layer_norm_backward(
                g, x, shape, mean, inverse, scale, offset, [True] * 3
            )
        _, inverse = aten._fused_rms_norm(x, shape, scale, 1e-3)
        return lambda: aten._fused_rms_norm_backward(g, x, shape, inverse, scale, [True] * 2)
