"""TensorFlow ops whose gradients are written once, in C++.

Importing this package loads the library, gives Python the gradients of its ops
(and of TensorFlow's ops that have only a C++ gradient) and registers how to
vectorize them. After that they are ordinary TensorFlow ops. If Keras is installed, it
can save and load layers and models that use them.
"""

import importlib
import types

from tensorflow_ext import _keras, _vectorize, distribute, gradients, ops, raw_ops, sysconfig
from tensorflow_ext._functionalize import functionalize_graph_def
from tensorflow_ext._op_libraries import load_op_library
from tensorflow_ext._override._numpy_op import numpy_op
from tensorflow_ext._override._override import override_gradient
from tensorflow_ext._runtime import _library
from tensorflow_ext._saved_model import describe_saved_model, prepare_saved_model
from tensorflow_ext.ops import *

__all__ = [
    "__version__",
    "describe_saved_model",
    "distribute",
    "functionalize_graph_def",
    "gradients",
    "layers",
    "load_op_library",
    "numpy_op",
    "override_gradient",
    "prepare_saved_model",
    "raw_ops",
    "sysconfig",
]
__all__ += ops.__all__

__version__ = _library.VERSION

gradients.register_all()
_vectorize.register(ops.OPS)
_keras.register(ops.FUNCTIONS)
del _keras, _library, _vectorize


def __getattr__(name: str) -> types.ModuleType:
    """Imports `layers`, which needs Keras, on first access or when Keras is imported."""
    if name == "layers":
        return importlib.import_module(f"{__name__}.layers")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
