# SPDX-License-Identifier: Apache-2.0
"""Cells of recurrent networks, of which Python has no gradient: single precision."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

BATCH, INPUTS, CELLS = 3, 4, 2
STATE = (BATCH, CELLS)
PEEPHOLES = ("wci", "wcf", "wco")
LSTM_SHAPES = {
    "x": (BATCH, INPUTS),
    "cs_prev": STATE,
    "h_prev": STATE,
    "w": (INPUTS + CELLS, 4 * CELLS),
    **dict.fromkeys(PEEPHOLES, (CELLS,)),
    "b": (4 * CELLS,),
}
GRU_SHAPES = {
    "x": (BATCH, INPUTS),
    "h_prev": STATE,
    "w_ru": (INPUTS + CELLS, 2 * CELLS),
    "w_c": (INPUTS + CELLS, CELLS),
    "b_ru": (2 * CELLS,),
    "b_c": (CELLS,),
}
# In any range: what the ops do with them is a polynomial.
LSTM_GRAD_SHAPES = {
    **LSTM_SHAPES,
    **dict.fromkeys(("i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"), STATE),
}
GRU_GRAD_SHAPES = {**GRU_SHAPES, **dict.fromkeys(("r", "u", "c", "d_h"), STATE)}


@tf.RegisterGradient("LSTMBlockCellAsLayer")
def _gradient_of_layer(op: Any, *upstream: Any) -> list[Any]:
    """The reference where cs is clipped: Python's gradient of a layer of one step."""
    x, *others = op.inputs
    attributes = {name: op.get_attr(name) for name in ("forget_bias", "cell_clip")}
    layer = raw.BlockLSTM(
        seq_len_max=tf.constant(1, tf.int64),
        x=x[None],
        **dict(zip(list(LSTM_SHAPES)[1:], others, strict=True)),
        **attributes,
        use_peephole=op.get_attr("use_peephole"),
    )
    states = [layer.cs[0], layer.h[0]]
    return tf.gradients(states, [x, *others], [upstream[1], upstream[6]])


def clipped() -> Case:
    """A clipped cs passes its gradient, which differences do not see."""
    of_kernel = lstm("clipped", outputs=("cs", "h"), cell_clip=0.2, use_peephole=True)

    def build(*tensors: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        with graph.gradient_override_map({"LSTMBlockCell": "LSTMBlockCellAsLayer"}):
            return of_kernel.build(*tensors)

    return dataclasses.replace(of_kernel, build=build, reference="python", second_order=None)


def cell(
    op: str,
    name: str,
    shapes: dict[str, tuple[int, ...]],
    outputs: Sequence[str] = (),
    dtype: Any = np.float32,
    without: Sequence[str] = (),
    known_shapes: bool | str = False,
    **attributes: Any,
) -> Case:
    """`outputs`: those that lead on, all of them if none is named; `without`: what
    has no gradient.
    """
    names = list(shapes)
    values = [
        (normal(*shape, seed=seed) * 0.6).astype(dtype)
        for seed, shape in enumerate(shapes.values())
    ]
    function: Callable[..., Any] = getattr(raw, op)

    def build(*tensors: Any) -> Any:
        results = function(**dict(zip(names, tensors, strict=True)), **attributes)
        return [getattr(results, output) for output in outputs or results._fields]

    is_half = dtype == np.float16
    return Case(
        op,
        name,
        build,
        values,
        wrt=[i for i, n in enumerate(names) if n not in without],
        reference="numeric",
        second_order=None if is_half else "numeric",
        step=0.1 if is_half else 1e-2,
        tolerance=5e-2 if is_half else 2e-3,
        known_shapes=known_shapes,
    )


def lstm(name: str, **more: Any) -> Case:
    return cell("LSTMBlockCell", name, LSTM_SHAPES, **more)


def lstm_grad(name: str, **more: Any) -> Case:
    return cell("LSTMBlockCellGrad", name, LSTM_GRAD_SHAPES, **more)


def gru(name: str, **more: Any) -> Case:
    return cell("GRUBlockCell", name, GRU_SHAPES, **more)


def gru_grad(name: str, **more: Any) -> Case:
    return cell("GRUBlockCellGrad", name, GRU_GRAD_SHAPES, **more)


CASES = [
    lstm("plain"),
    lstm("peephole", use_peephole=True),
    lstm("peephole_static", use_peephole=True, known_shapes=True),
    lstm("unknown_rank", use_peephole=True, known_shapes="rank"),
    lstm("forget_bias", forget_bias=0.3, cell_clip=-1.0),
    lstm("state_only", outputs=("cs", "h"), use_peephole=True),
    lstm("half", dtype=np.float16),
    clipped(),
    lstm_grad("plain", use_peephole=False),
    lstm_grad("peephole", use_peephole=True),
    lstm_grad("peephole_static", use_peephole=True, known_shapes=True),
    lstm_grad("half", use_peephole=True, dtype=np.float16),
    gru("all"),
    gru("static", known_shapes=True),
    gru("unknown_rank", known_shapes="rank"),
    gru("state_only", outputs=("h",)),
    gru_grad("all"),
    gru_grad("static", known_shapes=True),
    gru_grad("by_state", outputs=("d_h_prev",)),
]
