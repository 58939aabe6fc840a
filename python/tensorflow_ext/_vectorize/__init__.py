# SPDX-License-Identifier: Apache-2.0
"""How tf.vectorized_map, tape.jacobian and tape.batch_jacobian run the ops: as
one op over all iterations, never as a loop.

A converter gets the inputs of an op, each either stacked (with a leading
dimension of all iterations) or the same in every iteration, and returns the
stacked outputs. It is called only if at least one input is stacked.
"""

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize import (
    activations,
    arithmetic,
    clipping,
    correlation,
    elementwise,
    embedding,
    normalization,
    pruning,
    regions,
    sampling,
    zeroing,
)
from tensorflow_ext._vectorize._common import Converter

_CONVERTERS: dict[str, Converter] = {
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **clipping.CONVERTERS,
    **correlation.CONVERTERS,
    **elementwise.CONVERTERS,
    **embedding.CONVERTERS,
    **normalization.CONVERTERS,
    **pruning.CONVERTERS,
    **regions.CONVERTERS,
    **sampling.CONVERTERS,
    **zeroing.CONVERTERS,
}


def register() -> None:
    """Registers a converter for every op that has none."""
    for name, converter in _CONVERTERS.items():
        op = raw_ops.OPS.get(name)
        if op and op not in pfor._pfor_converter_registry:
            pfor.RegisterPFor(op)(converter)
