# SPDX-License-Identifier: Apache-2.0
"""Rules by which tf.vectorized_map, tape.jacobian and tape.batch_jacobian run the ops as
one op over all iterations, never as a loop.

`_RULES` has the rule of every op except the gradients of elementwise ops. Most rules
serve many ops (_rules.py, _batches.py). The rule of a single op is in the module with
the name of the op's module in tensorflow_ext.ops.
"""

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize import (
    _attached,
    _checking,
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

_RULES: dict[str, Rule] = {
    # activations
    "gelu": elementwise,
    "hardshrink": elementwise,
    "lisht": elementwise,
    "mish": elementwise,
    "relu": elementwise,
    "snake": broadcasting,
    "softshrink": elementwise,
    "sparsemax": elementwise,  # row by row
    "swi_glu": elementwise,
    "tanhshrink": elementwise,
    # arithmetic
    "floor_mod": broadcasting,
    "multiply_left": broadcasting,
    # checks
    "check_gradient_shape": _checking.check_gradient_shape,
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
    "clip_gradient": elementwise,
    "no_gradient": elementwise,
    "reverse_gradient": elementwise,
    "reverse_gradient_n": each_alone,
    "round_straight_through": elementwise,
    "scale": elementwise,
    "scale_gradient": elementwise,
    "sign_straight_through": elementwise,
    "straight_through": elementwise,
    # normalization
    "layer_norm": with_shared(1, 2, otherwise=normalization.with_parameters_of_each),
    "layer_norm_grad": normalization.gradient,
    "rms_norm": with_shared(1, otherwise=normalization.with_parameters_of_each),
    "rms_norm_grad": normalization.gradient,
    # pruning
    "prune_by_magnitude": with_shared(1, otherwise=pruning.prune_by_magnitude),
    "prune_by_magnitude_grad": with_shared(2, otherwise=pruning.prune_by_magnitude_grad),
    # randomized: with a seed for each iteration
    "rrelu": elementwise,
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

# A gradient op without its own entry uses the rule for gradients of its forward op's rule.
_OF_GRADIENTS: dict[Rule, Rule] = {elementwise: elementwise, broadcasting: gradient_of_broadcasting}

RULES: dict[str, Rule] = _RULES | {
    name: _OF_GRADIENTS[rule]
    for name in raw_ops.OPS
    if name not in _RULES and (rule := _RULES.get(name.removesuffix("_grad"))) in _OF_GRADIENTS
}


def register() -> None:
    """Registers the rules of all ops that have none yet."""
    _attached.register()
    for name, rule in RULES.items():
        op = raw_ops.OPS[name]
        if op not in pfor._pfor_converter_registry:
            pfor.RegisterPFor(op)(rule)
