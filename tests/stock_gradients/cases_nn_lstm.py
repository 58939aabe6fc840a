# SPDX-License-Identifier: Apache-2.0
"""Layers of LSTM cells and the ops that are their gradients: single precision.

Python's gradient of BlockLSTM counts two of the seven outputs, cs and h, that of
BlockLSTMV2 reads the gates in the order of BlockLSTM, and neither has a second order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

STEPS, BATCH, INPUTS, CELLS = 4, 3, 4, 2
STATE = (BATCH, CELLS)
SHAPES = {
    "x": (STEPS, BATCH, INPUTS),
    "cs_prev": STATE,
    "h_prev": STATE,
    "w": (INPUTS + CELLS, 4 * CELLS),
    "wci": (CELLS,),
    "wcf": (CELLS,),
    "wco": (CELLS,),
    "b": (4 * CELLS,),
}
STATES = ("i", "cs", "f", "o", "ci", "co", "h")
# What the gradients' ops take beside; in any range, since they are polynomials.
GRAD_SHAPES = {**SHAPES, **dict.fromkeys((*STATES, "cs_grad", "h_grad"), (STEPS, *STATE))}
# Without peepholes their weights have no gradient.
PLAIN = ("x", "cs_prev", "h_prev", "w", "b")


def layer(
    op: str,
    name: str,
    outputs: Sequence[str] = STATES,
    run_steps: int = STEPS,
    dtype: Any = np.float32,
    wrt: Sequence[str] | None = None,
    python: bool = False,
    known_shapes: bool | str = False,
    **attributes: Any,
) -> Case:
    """`outputs`: those that lead on; `wrt`: what to differentiate by, else all."""
    shapes = GRAD_SHAPES if "Grad" in op else SHAPES
    names = list(shapes)
    values = [
        (normal(*shape, seed=seed) * 0.5).astype(dtype)
        for seed, shape in enumerate(shapes.values())
    ]

    def build(*tensors: Any) -> Any:
        arguments = dict(zip(names, tensors, strict=True))
        results = getattr(raw, op)(
            seq_len_max=tf.constant(run_steps, tf.int64), **arguments, **attributes
        )
        # The kernel does not set what it does not run.
        return [getattr(results, output)[:run_steps] for output in outputs]

    is_half = dtype == np.float16
    return Case(
        op,
        name,
        build,
        values,
        wrt=[names.index(n) for n in wrt or names],
        reference="python" if python else "numeric",
        second_order=None if is_half else "numeric",
        step=1e-2,
        tolerance=None if python and is_half else 3e-3,
        known_shapes=known_shapes,
    )


def gradient(op: str, name: str, run_steps: int = STEPS, **more: Any) -> Case:
    """All that the op gives, of the steps that run."""
    outputs = [f"{input_name}_grad" for input_name in SHAPES]
    return layer(op, name, outputs, run_steps=run_steps, **more)


CASES = [
    layer("BlockLSTM", "peephole", ("cs", "h"), python=True, use_peephole=True),
    layer("BlockLSTM", "plain", ("cs", "h"), wrt=PLAIN, python=True),
    layer("BlockLSTM", "hidden_only", ("h",), wrt=PLAIN, python=True),
    layer("BlockLSTM", "short_sequence", ("cs", "h"), 3, wrt=PLAIN, python=True),
    layer("BlockLSTM", "half", ("cs", "h"), dtype=np.float16, wrt=PLAIN, python=True),
    layer(
        "BlockLSTM",
        "forget_bias",
        ("cs", "h"),
        wrt=PLAIN,
        python=True,
        forget_bias=0.5,
        cell_clip=2.0,
    ),
    *(
        layer(op, name, **more)
        for op in ("BlockLSTM", "BlockLSTMV2")
        for name, more in (
            ("all_outputs", {}),
            ("all_with_peepholes", {"use_peephole": True}),
            ("gates", {"outputs": ("i", "f", "o", "ci", "co")}),
            ("hidden", {"outputs": ("h",), "use_peephole": True}),
            ("static", {"use_peephole": True, "known_shapes": True}),
            ("unknown_rank", {"use_peephole": True, "known_shapes": "rank"}),
            ("short", {"use_peephole": True, "run_steps": 3}),
            ("no_steps", {"run_steps": 0}),
        )
    ),
    *(
        gradient(op, name, **more)
        for op in ("BlockLSTMGrad", "BlockLSTMGradV2")
        for name, more in (
            ("plain", {"use_peephole": False}),
            ("peephole", {"use_peephole": True}),
            ("static", {"use_peephole": True, "known_shapes": True}),
            ("short", {"use_peephole": True, "run_steps": 2}),
        )
    ),
]
