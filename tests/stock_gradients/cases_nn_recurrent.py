"""Cells of recurrent networks, layers of them and their gradient ops.

They have single precision. Python has no gradient of cells. Its gradient of BlockLSTM uses two of
the seven outputs, cs and h, that of BlockLSTMV2 reads the gates in the order of BlockLSTM, and
neither has a second order.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import with_gradient
from parity import Case
from random_values import normal
from rows import call, case, each, output

Shapes = Mapping[str, tuple[int, ...]]
STEPS, BATCH, INPUTS, CELLS = 4, 3, 4, 2
STATE = (BATCH, CELLS)
PEEPHOLES = ("wci", "wcf", "wco")
STATES = ("i", "cs", "f", "o", "ci", "co", "h")
CS_AND_H = output(STATES.index("cs"), STATES.index("h"))

LSTM: Shapes = {
    "x": (BATCH, INPUTS),
    "cs_prev": STATE,
    "h_prev": STATE,
    "w": (INPUTS + CELLS, 4 * CELLS),
    **dict.fromkeys(PEEPHOLES, (CELLS,)),
    "b": (4 * CELLS,),
}
GRU: Shapes = {
    "x": (BATCH, INPUTS),
    "h_prev": STATE,
    "w_ru": (INPUTS + CELLS, 2 * CELLS),
    "w_c": (INPUTS + CELLS, CELLS),
    "b_ru": (2 * CELLS,),
    "b_c": (CELLS,),
}
# In any range, because the gradient ops compute a polynomial of them.
LSTM_GRAD: Shapes = {**LSTM, **dict.fromkeys((*STATES[:-1], "cs_grad", "h_grad"), STATE)}
GRU_GRAD: Shapes = {**GRU, **dict.fromkeys(("r", "u", "c", "d_h"), STATE)}
LAYER: Shapes = {**LSTM, "x": (STEPS, BATCH, INPUTS)}
LAYER_GRAD: Shapes = {**LAYER, **dict.fromkeys((*STATES, "cs_grad", "h_grad"), (STEPS, *STATE))}


def values(shapes: Shapes, size: float, dtype: Any) -> list[np.ndarray]:
    return [
        (normal(*shape, seed=seed) * size).astype(dtype)
        for seed, shape in enumerate(shapes.values())
    ]


# ---- Cells


def cell(op: str, shapes: Shapes) -> Callable[..., Case]:
    def row(name: str, dtype: Any = np.float32, **more: Any) -> Case:
        single = {"second_order": "numeric", "step": 1e-2, "tolerance": 2e-3}
        half = {"second_order": None, "step": 0.1, "tolerance": 5e-2}
        how = {"reference": "numeric", **(half if dtype == np.float16 else single), **more}
        return case(op, name, *values(shapes, 0.6, dtype), **how)

    return row


@tf.RegisterGradient("LSTMBlockCellAsLayer")
def _gradient_of_layer(op: Any, *upstream: Any) -> list[Any]:
    """The reference if cs is clipped: Python's gradient of a layer of one step."""
    x, *others = op.inputs
    attributes = {name: op.get_attr(name) for name in ("forget_bias", "cell_clip", "use_peephole")}
    seq_len_max = tf.constant(1, tf.int64)
    layer = call("BlockLSTM", seq_len_max, x[None], *others, **attributes)
    states = [layer[STATES.index("cs")][0], layer[STATES.index("h")][0]]
    return tf.gradients(states, [x, *others], [upstream[1], upstream[6]])


lstm, lstm_grad = cell("LSTMBlockCell", LSTM), cell("LSTMBlockCellGrad", LSTM_GRAD)
gru, gru_grad = cell("GRUBlockCell", GRU), cell("GRUBlockCellGrad", GRU_GRAD)
# A clipped cs passes its gradient, which differences cannot show.
CLIPPED: dict[str, Any] = {
    "build": with_gradient("LSTMBlockCell", "LSTMBlockCellAsLayer"),
    "reference": "python",
    "second_order": None,
    "cell_clip": 0.2,
}
CELLS_ALONE = [
    lstm("plain"),
    lstm("peephole", use_peephole=True),
    lstm("peephole_static", use_peephole=True, static="all"),
    lstm("unknown_rank", use_peephole=True, static="none"),
    lstm("forget_bias", forget_bias=0.3, cell_clip=-1.0),
    lstm("state_only", then=CS_AND_H, use_peephole=True),
    lstm("half", np.float16),
    lstm("clipped", then=CS_AND_H, use_peephole=True, **CLIPPED),
    lstm_grad("plain", use_peephole=False),
    lstm_grad("peephole", use_peephole=True),
    lstm_grad("peephole_static", use_peephole=True, static="all"),
    lstm_grad("half", np.float16, use_peephole=True),
    gru("all"),
    gru("static", static="all"),
    gru("unknown_rank", static="none"),
    gru("state_only", then=output(3)),
    gru_grad("all"),
    gru_grad("static", static="all"),
    gru_grad("by_state", then=output(1)),
]

# ---- Layers

# Without peepholes, their weights have no gradient.
BY_PLAIN = [i for i, name in enumerate(LAYER) if name not in PEEPHOLES]


def layer(op: str, name: str, run_steps: int = STEPS, dtype: Any = np.float32, **more: Any) -> Case:
    shapes = LAYER_GRAD if "Grad" in op else LAYER

    def build(*tensors: Any, outputs: Any = None, **attributes: Any) -> Any:
        made = call(op, tf.constant(run_steps, tf.int64), *tensors, **attributes)
        # The kernel does not set the steps that it does not run.
        results = made if outputs is None else [made[STATES.index(one)] for one in outputs]
        return [result[:run_steps] for result in results]

    how = {"reference": "numeric", "second_order": "numeric", "step": 1e-2, "tolerance": 3e-3}
    inputs = values(shapes, 0.5, dtype)
    return case(op, name, *inputs, build=build, **{**how, **more})


def as_python(name: str, run_steps: int = STEPS, **more: Any) -> Case:
    how = {"outputs": ("cs", "h"), "wrt": BY_PLAIN, "reference": "python", **more}
    return layer("BlockLSTM", name, run_steps, **how)


LAYERS = [
    as_python("peephole", wrt=None, use_peephole=True),
    as_python("plain"),
    as_python("hidden_only", outputs=("h",)),
    as_python("short_sequence", 3),
    as_python("half", dtype=np.float16, second_order=None, tolerance=None),
    as_python("forget_bias", forget_bias=0.5, cell_clip=2.0),
    *each(
        "BlockLSTM BlockLSTMV2",
        lambda op: [
            layer(op, "all_outputs"),
            layer(op, "all_with_peepholes", use_peephole=True),
            layer(op, "gates", outputs=("i", "f", "o", "ci", "co")),
            layer(op, "hidden", outputs=("h",), use_peephole=True),
            layer(op, "static", use_peephole=True, static="all"),
            layer(op, "unknown_rank", use_peephole=True, static="none"),
            layer(op, "short", 3, use_peephole=True),
            layer(op, "no_steps", 0),
        ],
    ),
    *each(
        "BlockLSTMGrad BlockLSTMGradV2",
        lambda op: [
            layer(op, "plain", use_peephole=False),
            layer(op, "peephole", use_peephole=True),
            layer(op, "static", use_peephole=True, static="all"),
            layer(op, "short", 2, use_peephole=True),
        ],
    ),
]

CASES = [*CELLS_ALONE, *LAYERS]
