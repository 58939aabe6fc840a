"""TensorFlow's generated wrappers of all ops of this library, including gradient ops.

`TfExt>ReluGrad` is `raw_ops.relu_grad(gradients, features)`. The arguments are
those of the OpDef, inputs first, then attributes and `name`. `OPS` maps each
function's name to its op; `TEXT_OPS` holds the ops that handle only text,
`CLIENT_OPS` these and the ops of tapes.
"""

from collections.abc import Callable
from typing import Any

from tensorflow.core.framework import op_def_pb2
from tensorflow.core.framework.types_pb2 import DT_STRING

from tensorflow_ext import _names
from tensorflow_ext._runtime import _library, _wrappers

_NAMESPACE = "TfExt>"
_PREFIX = "tf_ext_"


def _python_name(op: str) -> str:
    return _names.snake_case(op.removeprefix(_NAMESPACE))


_ = _library  # Its import loads the ops.
_OP_DEFS = _wrappers.op_defs(_NAMESPACE)
_GENERATED = _wrappers.generate(_OP_DEFS, f"{__name__}.generated")

OPS = {
    _python_name(op_def.name): op_def.name
    for op_def in _OP_DEFS
    if hasattr(_GENERATED, _PREFIX + _python_name(op_def.name))
}


def _is_text(op_def: op_def_pb2.OpDef) -> bool:
    attributes = {a.name for a in op_def.attr if DT_STRING in a.allowed_values.list.type}
    arguments = [*op_def.input_arg, *op_def.output_arg]
    return all(a.type == DT_STRING or a.type_attr in attributes for a in arguments)


# Ops that handle only text, or its bytes: they describe graphs and models to clients, on the host.
# Unlike ops of numbers they have no gradient, no types, no kernels for GPU and XLA, no
# rule for tf.vectorized_map, and no cases in the table that every client runs.
TEXT_OPS = frozenset(op_def.name for op_def in _OP_DEFS if _is_text(op_def))
# These and the ops of tapes, which name a tape of the process. They have none of that either.
CLIENT_OPS = TEXT_OPS | {
    op for op in OPS.values() if op.startswith(("TfExt>Tape", "TfExt>NewTape"))
}

__all__ = ["CLIENT_OPS", "OPS", "TEXT_OPS", *OPS]

globals().update({name: getattr(_GENERATED, _PREFIX + name) for name in OPS})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"tensorflow_ext has no op {name!r}; expected one of {sorted(OPS)}.")
