"""A function for each op.

They behave like TensorFlow's own functions: eagerly they return tensors, in a
graph they add a node. Inputs are tensors or anything that tf.convert_to_tensor takes.
`F` stands for half, bfloat16, float and double; half and bfloat16 are computed
in float. Unless stated otherwise, NaN propagates and empty tensors work.

Errors: tf.errors.InvalidArgumentError (ValueError while a graph is built) names
the argument, its value and the expected value. An unsupported type is a TypeError
or tf.errors.InvalidArgumentError.

The functions are in the folders of the ops: tensorflow_ext/ops/snake/snake.py is _snake
here. The build puts it there. A module has __all__ and a table OPS of its ops, by their
names without the namespace. Entries of an op may be

  rule: How tf.vectorized_map runs it: "elementwise", "broadcasting", "each_alone", or a
    function (tensorflow_ext._vectorize). The gradient of an elementwise or broadcasting
    op needs none.
  formula: The value and the gradient in LaTeX, for the op's page: dx is the gradient of
    the input x for the upstream gradient dy.

The other entries are for tests (tests/clients/python/op_definitions.py).
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tensorflow_ext.ops import _modules
from tensorflow_ext.ops._modules import *

__all__ = [name for module in _modules.MODULES for name in module.__all__]

# The functions by name.
FUNCTIONS: dict[str, Callable] = {
    name: globals()[name] for name in __all__ if inspect.isfunction(globals()[name])
}

# The entries of all modules' tables.
OPS: dict[str, Mapping[str, Any]] = {}
for _module in _modules.MODULES:
    OPS |= _module.OPS
