# SPDX-License-Identifier: Apache-2.0
"""A function for each op.

They behave like TensorFlow's own functions: eagerly they return tensors, in a
graph they add a node. Inputs are tensors or anything that tf.convert_to_tensor takes.
`F` stands for half, bfloat16, float and double; half and bfloat16 are computed
in float. Unless stated otherwise, NaN propagates and empty tensors work.

Errors: tf.errors.InvalidArgumentError (ValueError while a graph is built) names
the argument, its value and the expected value. An unsupported type is a TypeError
or tf.errors.InvalidArgumentError.

A module holds a family of ops. The rest of the family's Python code is in modules of
the same name: its Keras layers in tensorflow_ext.layers, and vectorization rules that no
other family uses in tensorflow_ext._vectorize. No module has the name of a function,
because it would hide the function.
"""

import inspect
from collections.abc import Callable

from tensorflow_ext.ops import (
    activations,
    arithmetic,
    clipping,
    correlation,
    embedding,
    gradient_modifiers,
    normalization,
    pruning,
    randomized,
    regions,
    resampling,
    zeroing,
)
from tensorflow_ext.ops.activations import *
from tensorflow_ext.ops.arithmetic import *
from tensorflow_ext.ops.clipping import *
from tensorflow_ext.ops.correlation import *
from tensorflow_ext.ops.embedding import *
from tensorflow_ext.ops.gradient_modifiers import *
from tensorflow_ext.ops.normalization import *
from tensorflow_ext.ops.pruning import *
from tensorflow_ext.ops.randomized import *
from tensorflow_ext.ops.regions import *
from tensorflow_ext.ops.resampling import *
from tensorflow_ext.ops.zeroing import *

__all__: list[str] = []
__all__ += activations.__all__
__all__ += arithmetic.__all__
__all__ += clipping.__all__
__all__ += correlation.__all__
__all__ += embedding.__all__
__all__ += gradient_modifiers.__all__
__all__ += normalization.__all__
__all__ += pruning.__all__
__all__ += randomized.__all__
__all__ += regions.__all__
__all__ += resampling.__all__
__all__ += zeroing.__all__

# The functions by name.
FUNCTIONS: dict[str, Callable] = {
    name: globals()[name] for name in __all__ if inspect.isfunction(globals()[name])
}
