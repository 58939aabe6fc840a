# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's generated wrapper of every op of this library, gradients included.

`TfExt>ReluGrad` is `raw_ops.relu_grad(gradients, features)`. The arguments are
those of the OpDef, inputs first, then attributes and `name`. `OPS` maps each
function's name to its op.
"""

import re
from collections.abc import Callable
from typing import Any

from tensorflow_ext import _library, _wrappers

_NAMESPACE = "TfExt>"
_PREFIX = "tf_ext_"


def _python_name(op: str) -> str:
    words = op.removeprefix(_NAMESPACE)
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


_ = _library  # has loaded the ops
_OP_DEFS = _wrappers.op_defs(_NAMESPACE)
_GENERATED = _wrappers.generate(_OP_DEFS, f"{__name__}.generated")

OPS = {
    _python_name(op_def.name): op_def.name
    for op_def in _OP_DEFS
    if hasattr(_GENERATED, _PREFIX + _python_name(op_def.name))
}

__all__ = ["OPS", *OPS]


globals().update({name: getattr(_GENERATED, _PREFIX + name) for name in OPS})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(
        f"tensorflow_ext has no op {name!r}; expected one of {sorted(OPS)}."
    )
