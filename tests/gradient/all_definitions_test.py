# SPDX-License-Identifier: Apache-2.0
"""Checks every definition of this library, and those of TensorFlow's that clients get
from it, against its op.

The others of TensorFlow's are left alone: many are wrong for some types their op
admits, some abort the process.
"""

import itertools

import pytest
import tensorflow as tf
from op_instances import instances
from tensorflow.python.framework import op_def_registry

from tensorflow_ext import _library


def ops_to_check() -> list[str]:
    bits = _library.Registries
    of_library = bits.CLIENT_BRIDGED | bits.FUNCTION_OWN
    return [op for op in _library.list_ops() if _library.registries(op) & of_library]


@pytest.mark.parametrize("op", ops_to_check())
def test_definition(op: str) -> None:
    op_def = op_def_registry.get(op)
    assert op_def is not None
    tried, unsupported, failures = 0, [], []
    for node in itertools.islice(instances(op_def), 300):
        tried += 1
        try:
            _library.gradient_plan(node.SerializeToString(), None)
        except tf.errors.UnimplementedError as error:
            # Allowed where the message says what is not supported.
            unsupported.append(str(error))
        except tf.errors.OpError as error:
            failures.append(f"{node}: {error}")
    assert tried > 0
    assert not failures, "\n".join(failures[:3])
    assert all(op in message for message in unsupported)
    assert len(unsupported) < tried, unsupported[0]
