"""Rules by which tf.vectorized_map, tape.jacobian and tape.batch_jacobian run the ops as
one op over all iterations, never as a loop.

The modules of ops name their rules (tensorflow_ext.ops). Those that serve many ops are
here (_rules.py, _batches.py).
"""

from collections.abc import Mapping
from typing import Any

from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize import _attached, _checking
from tensorflow_ext._vectorize._rules import (
    Rule,
    broadcasting,
    each_alone,
    elementwise,
    gradient_of_broadcasting,
)

_NAMED: dict[str, Rule] = {
    "elementwise": elementwise,
    "broadcasting": broadcasting,
    "each_alone": each_alone,
}
# The rule of a gradient op that names none, by that of its op.
_OF_GRADIENTS: dict[Rule, Rule] = {elementwise: elementwise, broadcasting: gradient_of_broadcasting}

# The rules by the op's function in raw_ops.
RULES: dict[str, Rule] = {
    "check_gradient_shape": _checking.check_gradient_shape,
    "no_gradient": elementwise,
    "with_upstream": elementwise,
}


def register(ops: Mapping[str, Mapping[str, Any]]) -> None:
    """Registers the rules of all ops that have none yet.

    Args:
      ops: The entries of the ops: tensorflow_ext.ops.OPS.
    """
    names = {op.rpartition(">")[2]: name for name, op in raw_ops.OPS.items()}
    for op, entry in ops.items():
        if "rule" in entry:
            RULES[names[op]] = _NAMED.get(entry["rule"], entry["rule"])
    for name in raw_ops.OPS:
        rule = RULES.get(name.removesuffix("_grad"))
        if name not in RULES and rule in _OF_GRADIENTS:
            RULES[name] = _OF_GRADIENTS[rule]
    _attached.register()
    for name, rule in RULES.items():
        op = raw_ops.OPS[name]
        if op not in pfor._pfor_converter_registry:
            pfor.RegisterPFor(op)(rule)
