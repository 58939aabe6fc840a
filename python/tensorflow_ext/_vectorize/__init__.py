# SPDX-License-Identifier: Apache-2.0
"""How tf.vectorized_map, tape.jacobian and tape.batch_jacobian run the ops: as
one op over all iterations, never as a loop.

`RULES` names the rule of every op. Most rules serve many ops (_rules.py, _batches.py);
a rule of one op is in the module that has the name of the op's module in
tensorflow_ext.ops.
"""

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize import (
    attached,
    clipping,
    normalization,
    pruning,
    resampling,
    zeroing,
)
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext._vectorize._rules import (
    Rule,
    broadcasting,
    each_alone,
    elementwise,
    gradient_of_broadcasting,
    with_shared,
)

_ROWS, _TABLE, _TABLES = Role.ROWS, Role.TABLE, Role.TABLES
_INDICES, _REGIONS, _SHAPE = Role.INDICES, Role.REGIONS, Role.SHAPE

RULES: dict[str, Rule] = {
    # activations
    "gelu": elementwise,
    "gelu_grad": elementwise,
    "hardshrink": elementwise,
    "hardshrink_grad": elementwise,
    "lisht": elementwise,
    "lisht_grad": elementwise,
    "mish": elementwise,
    "mish_grad": elementwise,
    "relu": elementwise,
    "relu_grad": elementwise,
    "snake": broadcasting,
    "snake_grad": gradient_of_broadcasting,
    "softshrink": elementwise,
    "softshrink_grad": elementwise,
    "sparsemax": elementwise,  # row by row
    "sparsemax_grad": elementwise,
    "swi_glu": elementwise,
    "swi_glu_grad": elementwise,
    "tanhshrink": elementwise,
    "tanhshrink_grad": elementwise,
    # arithmetic
    "floor_mod": broadcasting,
    "floor_mod_grad": gradient_of_broadcasting,
    "multiply_left": broadcasting,
    # clipping
    "clip_by_global_norm": clipping.clip_by_global_norm,
    "clip_by_global_norm_grad": clipping.clip_by_global_norm_grad,
    # correlation
    "correlation_cost": batched(_ROWS, _ROWS),
    "correlation_cost_a_grad": batched(_ROWS, _ROWS),
    "correlation_cost_b_grad": batched(_ROWS, _ROWS),
    # embedding
    "embedding_bag": batched(_INDICES, _TABLE, _ROWS),
    "embedding_bag_params_grad": batched(_ROWS, _INDICES, _TABLES, _ROWS),
    "embedding_bag_weights_grad": batched(_ROWS, _INDICES, _TABLE),
    # gradient_modifiers
    "clip": elementwise,
    "clip_grad": elementwise,
    "clip_gradient": elementwise,
    "no_gradient": elementwise,
    "reverse_gradient": elementwise,
    "reverse_gradient_n": each_alone,
    "round_straight_through": elementwise,
    "scale": elementwise,
    "scale_gradient": elementwise,
    "sign_straight_through": elementwise,
    "sign_straight_through_grad": elementwise,
    "straight_through": elementwise,
    # normalization
    "layer_norm": with_shared(1, 2, otherwise=normalization.with_parameters_of_each),
    "layer_norm_grad": normalization.gradient,
    "rms_norm": with_shared(1, otherwise=normalization.with_parameters_of_each),
    "rms_norm_grad": normalization.gradient,
    # pruning
    "prune_by_magnitude": with_shared(1, otherwise=pruning.prune_by_magnitude),
    "prune_by_magnitude_grad": with_shared(
        2, otherwise=pruning.prune_by_magnitude_grad
    ),
    # randomized: with a seed for each iteration
    "rrelu": elementwise,
    "rrelu_grad": elementwise,
    # regions
    "roi_align": batched(_TABLE, _REGIONS),
    "roi_align_grad": batched(_ROWS, _REGIONS, _SHAPE),
    "roi_pool": batched(_TABLE, _REGIONS),
    "roi_pool_grad": batched(_ROWS, _REGIONS, _ROWS, _SHAPE),
    "roi_pool_grad_grad": batched(_TABLE, _REGIONS, _ROWS),
    # resampling
    "resampler": resampling.resampler,
    "resampler_adjoint": batched(_ROWS, _ROWS, _SHAPE),
    "resampler_derivative": resampling.resampler,
    "resampler_grad": batched(_ROWS, _ROWS, _ROWS),
    # zeroing
    "zero_out": zeroing.zero_out,
    "zero_out_with_index": zeroing.zero_out_with_index,
}


def register() -> None:
    """Registers the rule of every op that has none."""
    attached.register()
    for name, rule in RULES.items():
        op = raw_ops.OPS[name]
        if op not in pfor._pfor_converter_registry:
            pfor.RegisterPFor(op)(rule)
