"""Activation functions and their gradients against stock compositions, XLA and PyTorch."""

import functools
from collections.abc import Callable

import kernels
import measure
import numpy as np
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops

Function = Callable[..., tf.Tensor]


def _mish(x: tf.Tensor) -> tf.Tensor:
    return x * tf.tanh(tf.nn.softplus(x))


def _softshrink(x: tf.Tensor) -> tf.Tensor:
    return tf.where(x > 0.5, x - 0.5, tf.where(x < -0.5, x + 0.5, 0.0))


# Gradient op: (ours, the function that XLA differentiates).
_GRADIENTS: dict[str, tuple[Function, Function]] = {
    "GeluGrad": (raw_ops.gelu_grad, lambda x: tf.nn.gelu(x, approximate=True)),
    "GeluGrad, exact": (lambda dy, x: raw_ops.gelu_grad(dy, x, approximate=False), tf.nn.gelu),
    "MishGrad": (raw_ops.mish_grad, _mish),
    "LishtGrad": (raw_ops.lisht_grad, lambda x: x * tf.tanh(x)),
    "TanhshrinkGrad": (raw_ops.tanhshrink_grad, lambda x: x - tf.tanh(x)),
    "HardshrinkGrad": (raw_ops.hardshrink_grad, lambda x: tf.where(tf.abs(x) > 0.5, x, 0.0)),
    "SoftshrinkGrad": (raw_ops.softshrink_grad, _softshrink),
}


def _torch_lisht_grad(dy: pytorch.Tensor, x: pytorch.Tensor) -> pytorch.Tensor:
    y = pytorch.torch.tanh(x)
    return dy * y + pytorch.aten.tanh_backward(dy * x, y)


# The same in PyTorch: its gradient op, or the formula if it has none.
_TORCH_GRADIENTS: dict[str, tuple[str, pytorch.Function]] = {
    "GeluGrad": (
        "gelu_backward",
        lambda dy, x: pytorch.aten.gelu_backward(dy, x, approximate="tanh"),
    ),
    "GeluGrad, exact": ("gelu_backward", lambda dy, x: pytorch.aten.gelu_backward(dy, x)),
    "MishGrad": ("mish_backward", lambda dy, x: pytorch.aten.mish_backward(dy, x)),
    "LishtGrad": ("dy (tanh + x tanh')", _torch_lisht_grad),
    "TanhshrinkGrad": ("dy tanh(x)^2", lambda dy, x: dy * pytorch.torch.tanh(x).square()),
    "HardshrinkGrad": (
        "hardshrink_backward",
        lambda dy, x: pytorch.aten.hardshrink_backward(dy, x, 0.5),
    ),
    "SoftshrinkGrad": (
        "softshrink_backward",
        lambda dy, x: pytorch.aten.softshrink_backward(dy, x, 0.5),
    ),
}


def _differentiate(function: Function) -> Function:
    """The gradient alone: the compiler removes everything else."""

    def run(dy: tf.Tensor, *inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = function(*inputs)
        return tape.gradient(y, inputs, output_gradients=dy)

    return run


def _gradients(arguments: list[tf.Tensor]) -> list[measure.Result]:
    """Compares ours with the gradient that XLA compiles."""
    results = []
    for name, (ours, function) in _GRADIENTS.items():
        side = measure.contender(ours, arguments, mode="eager")
        rivals = {
            "stock, jit_compile": measure.contender(
                _differentiate(function), arguments, (), 1.0, mode="jit_compile"
            )
        }
        torch_name, torch_gradient = _TORCH_GRADIENTS[name]
        rivals |= pytorch.contenders(torch_name, torch_gradient, arguments, (), side.work)
        results += kernels.compare("activations", name, side, rivals, 3)
    return results


def _stock_swiglu(gate: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return tf.nn.silu(gate) * value


def _torch_swiglu(gate: pytorch.Tensor, value: pytorch.Tensor) -> pytorch.Tensor:
    return pytorch.functional.silu(gate) * value


def _swiglu(upstream: tf.Tensor, inputs: list[tf.Tensor]) -> list[measure.Result]:
    contender = functools.partial(measure.contender, inputs=inputs, by=(0, 1), upstream=upstream)
    side = contender(tfe.swiglu)
    rivals = {
        "silu(gate) * value, tf.function": contender(_stock_swiglu, bar=1 / 1.5),
        "silu(gate) * value, jit_compile": contender(_stock_swiglu, bar=1.0, mode="jit_compile"),
    }
    for how, function in (
        ("eager", _torch_swiglu),
        ("torch.compile", pytorch.compiled(_torch_swiglu)),
    ):
        rivals |= pytorch.contenders(
            f"silu(gate) * value, {how}", function, inputs, (0, 1), side.work, upstream
        )
    return kernels.compare("activations", "SwiGlu, forward + backward", side, rivals, 3 + 5)


def stock_rrelu(
    x: tf.Tensor, algorithm: str, seed: tf.Tensor | tuple[int, int] = (1, 2)
) -> tf.Tensor:
    slopes = tf.random.stateless_uniform(tf.shape(x), seed, 1 / 8, 1 / 3, x.dtype, alg=algorithm)
    return tf.where(x >= 0, x, slopes * x)


def _rrelu(upstream: tf.Tensor, x: tf.Tensor) -> list[measure.Result]:
    """Skips PyTorch, which draws other slopes."""
    results = []
    for case, by in measure.forward_and_backward(0):
        contender = functools.partial(measure.contender, inputs=[x], by=by, upstream=upstream)
        side = contender(lambda x: tfe.rrelu(x, training=True, seed=(1, 2)))
        # Each mode uses its fastest generator.
        philox, threefry = (
            functools.partial(stock_rrelu, algorithm=name) for name in ("philox", "threefry")
        )
        rivals = {
            "where(x >= 0, x, slopes * x), tf.function": contender(philox, bar=1 / 1.5),
            "where(x >= 0, x, slopes * x), jit_compile": contender(
                threefry, bar=1.0, mode="jit_compile"
            ),
        }
        name, tensors = f"Rrelu in training, {case}", 2 + 3 * len(by)
        results += kernels.compare("activations", name, side, rivals, tensors)
    return results


def _stock_snake(x: tf.Tensor, frequency: tf.Tensor) -> tf.Tensor:
    return x + tf.square(tf.sin(frequency * x)) / frequency


def _torch_snake(x: pytorch.Tensor, frequency: pytorch.Tensor) -> pytorch.Tensor:
    return x + pytorch.torch.sin(frequency * x).square() / frequency


def _snake(upstream: tf.Tensor, x: tf.Tensor) -> list[measure.Result]:
    """Uses a frequency for each of 256 channels."""
    x = tf.reshape(x, [-1, 256])
    inputs = [x, tf.linspace(0.5, 4.0, 256)]
    upstream = tf.reshape(upstream, x.shape)
    results = []
    for case, by in measure.forward_and_backward(0, 1):
        contender = functools.partial(measure.contender, inputs=inputs, by=by, upstream=upstream)
        side = contender(tfe.snake, mode="eager")
        rivals = {
            "x + sin(f x)^2 / f, eager": contender(_stock_snake, mode="eager"),
            "x + sin(f x)^2 / f, jit_compile": contender(_stock_snake, bar=1.0, mode="jit_compile"),
        }
        rivals |= pytorch.contenders(
            "x + sin(f x)^2 / f", _torch_snake, inputs, by, side.work, upstream
        )
        # Forward moves x and y; backward moves x, dy and dx.
        tensors = 5 if by else 2
        results += kernels.compare("activations", f"Snake, {case}", side, rivals, tensors)
    return results


def run() -> list[measure.Result]:
    rng = np.random.default_rng(2)
    arguments = [
        tf.constant(rng.standard_normal(kernels.ELEMENTS, dtype=np.float32)) for _ in range(3)
    ]
    return [
        *_gradients(arguments[:2]),
        *_swiglu(arguments[2], arguments[:2]),
        *_rrelu(*arguments[:2]),
        *_snake(*arguments[:2]),
    ]
