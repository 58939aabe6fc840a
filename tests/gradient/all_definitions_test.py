"""Checks every definition of this library, and TensorFlow's definitions that it gives to clients,
against its op, for all types that the op admits.

TensorFlow's other definitions are not checked: many are wrong for some types that their op admits,
and some abort the process.
"""

import pytest
from op_instances import instances
from tensorflow.python.framework import op_def_registry

from tensorflow_ext._explain import _clients
from tensorflow_ext._runtime import _library


def ops_to_check() -> list[str]:
    bits = _library.Registries
    of_library = bits.CLIENT_BRIDGED | bits.FUNCTION_OWN
    return [
        op
        for op in _library.list_ops()
        if _library.registries(op) & of_library and op not in _clients.PASSED_ON
    ]


@pytest.mark.parametrize("op", ops_to_check())
def test_definition(op: str) -> None:
    op_def = op_def_registry.get(op)
    assert op_def is not None
    lengths = {arg.number_attr for arg in [*op_def.input_arg, *op_def.output_arg]}
    # Other attributes have values that the op takes.
    node = next(instances(op_def))
    for attribute in op_def.attr:
        if attribute.type == "type" or attribute.name in lengths:
            node.attr.pop(attribute.name, None)
    _library.check_definition(node.SerializeToString())
