"""Gradient tapes of eager mode: C++ programs (tape_programs.cc) and the same ones in Python.

Both sides run in this process. Weights are tensors that the tape watches. The memory is the
allocator's peak within a step, beyond what the step found.
"""

import ctypes
import dataclasses
from collections.abc import Callable, Sequence

import libraries
import measure
import memory
import numpy as np
import tensorflow as tf
from results import Result

from tensorflow_ext import sysconfig

GROUP = "eager tapes"
MEMORY, TABLE = f"{GROUP}: memory", f"{GROUP}: few rows of a table"
RIVAL = "tf.GradientTape"
SMALL_BAR, LARGE_BAR = 0.8, 1.0
MEMORY_BAR = 1.1
RECORD_BAR = 5e-6  # in seconds
CHAIN = 100
BATCH, RESNET_BATCH = 32, 8
ROWS, WIDTH, IDS = 1_000_000, 32, 64


class _Program:
    """A program of tape_programs.cc with the tensors that it takes."""

    def __init__(self, tensors: Sequence[np.ndarray]) -> None:
        # The library is loaded already; now the programs see it, too.
        ctypes.CDLL(f"{sysconfig.get_lib()}/libtensorflow_ext.so", ctypes.RTLD_GLOBAL)
        self._programs = ctypes.CDLL(libraries.find("libtape_programs.so"))
        self._programs.Tape_NewProgram.restype = ctypes.c_void_p
        self._programs.Tape_MakeVariable.argtypes = [ctypes.c_void_p, *[ctypes.c_int64] * 2]
        self._program = ctypes.c_void_p(self._programs.Tape_NewProgram())
        for tensor in tensors:
            self._programs.Tape_AddTensor(
                self._program,
                tf.as_dtype(tensor.dtype).as_datatype_enum,
                ctypes.c_void_p(tensor.ctypes.data),
                (ctypes.c_int64 * tensor.ndim)(*tensor.shape),
                tensor.ndim,
            )

    def __del__(self) -> None:
        self._programs.Tape_DeleteProgram(self._program)

    def work(self, name: str, *arguments: int) -> Callable[[], float]:
        """Runs the program `name` of the file."""
        run = getattr(self._programs, name)
        run.restype = ctypes.c_float
        return lambda: run(self._program, *arguments)


def _in_python(
    loss: Callable[..., tf.Tensor], tensors: Sequence[np.ndarray], weights: slice
) -> Callable[[], float]:
    """The first number of the first gradient of a loss of tensors."""
    arguments = [tf.constant(tensor) for tensor in tensors]
    watched = arguments[weights]

    def run() -> float:
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = loss(*arguments)
        return tape.gradient(y, watched)[0].numpy().flat[0]

    return run


def chain(x: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    for _ in range(CHAIN // 2):
        x = tf.tanh(x) * factor
    return x


def perceptron(x: tf.Tensor, *weights: tf.Tensor) -> tf.Tensor:
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        x = tf.nn.relu(tf.nn.bias_add(x @ w, b))
    return tf.nn.l2_loss(x)


def _convolution(
    x: tf.Tensor, weight: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, stride: int
) -> tf.Tensor:
    """A convolution and a batch normalization."""
    y = tf.nn.conv2d(x, weight, stride, "SAME")
    normalized, *_ = tf.compat.v1.nn.fused_batch_norm(y, scale, offset)
    return normalized


def resnet(images: tf.Tensor, labels: tf.Tensor, axes: tf.Tensor, *weights: tf.Tensor) -> tf.Tensor:
    """As `networks.resnet_18`."""
    left = iter(weights)

    def convolution(x: tf.Tensor, stride: int) -> tf.Tensor:
        return _convolution(x, next(left), next(left), next(left), stride)

    x = tf.nn.relu(convolution(images, 2))
    x = tf.nn.max_pool2d(x, 3, 2, "SAME")
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = tf.nn.relu(convolution(x, stride))
            y = convolution(y, 1)
            if stride != 1:
                x = convolution(x, stride)
            x = tf.nn.relu(x + y)
    logits = tf.nn.bias_add(tf.reduce_mean(x, axes) @ next(left), next(left))
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


def _normal(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    return rng.normal(scale=1 / np.sqrt(np.prod(shape[:-1])), size=shape).astype(np.float32)


def _resnet_tensors(pixels: int) -> list[np.ndarray]:
    tensors = [
        _normal(RESNET_BATCH, pixels, pixels, 3) * 100,
        np.arange(RESNET_BATCH, dtype=np.int32),
        np.int32([1, 2]),
    ]

    def add(size: int, channels: int, filters: int) -> None:
        ones, zeros = np.ones(filters, np.float32), np.zeros(filters, np.float32)
        tensors.extend([_normal(size, size, channels, filters), ones, zeros])

    add(7, 3, 64)
    channels = 64
    for stage, filters in enumerate((64, 128, 256, 512)):
        for block in range(2):
            add(3, channels, filters)
            add(3, filters, filters)
            if stage and not block:
                add(1, channels, filters)
            channels = filters
    return [*tensors, _normal(512, 10), np.zeros(10, np.float32)]


@dataclasses.dataclass(frozen=True)
class _Case:
    """A loss and its gradients.

    Attributes:
      name: The case of the row.
      program: The function of tape_programs.cc.
      arguments: Its arguments.
      in_python: The same loss.
      tensors: The tensors that it takes.
      weights: Those that have gradients.
      bar: The bar of the time.
      rounds: The number of turns.
    """

    name: str
    program: str
    arguments: Sequence[int]
    in_python: Callable[..., tf.Tensor]
    tensors: Sequence[np.ndarray]
    weights: slice
    bar: float
    rounds: int = 31


def _cases() -> list[_Case]:
    small = f"{CHAIN} ops on 8 numbers", f"3 layers of 64 units, batch {BATCH}"
    pair = [_normal(8), 1 + _normal(8)]
    layers = [array for _ in range(3) for array in (_normal(64, 64), np.zeros(64, np.float32))]
    inputs = [_normal(BATCH, 64), *layers]
    cases = [
        _Case(small[0], "Tape_Chain", [CHAIN], chain, pair, slice(1), SMALL_BAR),
        _Case(small[1], "Tape_Perceptron", [], perceptron, inputs, slice(1, None), SMALL_BAR),
    ]
    for pixels, rounds in ((64, 15), (224, 7)):
        name = f"ResNet-18, batch {RESNET_BATCH}, {pixels} x {pixels} pixels"
        tensors, weights = _resnet_tensors(pixels), slice(3, None)
        cases.append(_Case(name, "Tape_ResNet", [], resnet, tensors, weights, LARGE_BAR, rounds))
    return cases


def steps() -> list[Result]:
    """Measures the forward ops and the gradient."""
    results, held = [], []
    for case in _cases():
        ours = _Program(case.tensors).work(case.program, *case.arguments)
        python = _in_python(case.in_python, case.tensors, case.weights)
        np.testing.assert_allclose(ours(), python(), rtol=1e-3)
        used, python_used = memory.of_eager_step(ours), memory.of_eager_step(python)
        results += measure.compare(
            GROUP,
            case.name,
            measure.Contender(ours, memory=used),
            {RIVAL: measure.Contender(python, case.bar, python_used)},
            rounds=case.rounds,
        )
        if case.in_python is resnet:
            ratio, both = used / python_used, (used, python_used)
            held.append(Result(MEMORY, case.name, None, RIVAL, ratio, MEMORY_BAR, both))
    return results + held


def _table_in_python(table: np.ndarray, ids: np.ndarray, rate: np.ndarray) -> measure.Work:
    variable, rows, factor = tf.Variable(table), tf.constant(ids), tf.constant(rate)

    def run() -> float:
        with tf.GradientTape() as tape:
            loss = tf.nn.l2_loss(tf.tanh(tf.gather(variable, rows)))
        gradient = tape.gradient(loss, variable)
        variable.scatter_sub(tf.IndexedSlices(gradient.values * factor, gradient.indices))
        return float(loss.numpy())

    return run


def table() -> list[Result]:
    """Measures steps of training of a table. Each gathers few rows."""
    tensors = [
        _normal(ROWS, WIDTH) * np.float32(np.sqrt(ROWS)),
        np.arange(IDS, dtype=np.int32) * 97 % ROWS,
        np.array(0.125, np.float32),
    ]
    python = _table_in_python(*tensors)
    losses = [python() for _ in range(3)]
    python_used = memory.of_eager_step(python)
    works, used = [], []
    for sliced in (1, 0):
        program = _Program(tensors)
        program.work("Tape_MakeVariable", ROWS, WIDTH)()
        works.append(program.work("Tape_Table", sliced))
        np.testing.assert_allclose([works[-1]() for _ in losses], losses, rtol=1e-5)
        used.append(memory.of_eager_step(works[-1]))
    slices, dense = works
    dense_ms = 1e3 * measure.median(measure.interleave({"dense": dense}, rounds=3), "dense")
    return measure.compare(
        TABLE,
        f"{IDS} rows of {ROWS:,} x {WIDTH}",
        measure.Contender(slices, memory=used[0]),
        {RIVAL: measure.Contender(python, LARGE_BAR, python_used)},
        rounds=31,
        note=lambda _: f"dense: {dense_ms:.0f} ms, {used[1] / 1e6:.0f} MB",
    )


def recording() -> list[Result]:
    """Measures what it costs to record an op."""
    program = _Program([_normal(8), 1 + _normal(8)])
    recorded, alone = (program.work("Tape_ForwardChain", CHAIN, tape) for tape in (1, 0))
    times = measure.interleave({"recorded": recorded, "alone": alone}, rounds=31)
    costs = [(a - b) / CHAIN for a, b in zip(times["recorded"], times["alone"], strict=True)]
    cost = float(np.median(costs))
    alone_us = 1e6 * measure.median(times, "alone") / CHAIN
    return [
        Result(
            f"{GROUP}: recording",
            "an op",
            cost,
            f"{RECORD_BAR * 1e6:g} µs",
            cost / RECORD_BAR,
            1.0,
            note=f"the op alone takes {alone_us:.1f} µs",
        )
    ]


def run() -> list[Result]:
    return steps() + recording() + table()
