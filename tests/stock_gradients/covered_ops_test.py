# SPDX-License-Identifier: Apache-2.0
"""The table of cases is complete: the registries say which ops it must name."""

import collections
import fnmatch
import os
import subprocess
import sys

import pytest
import tensorflow as tf
from covered_ops import (
    ALL_OPS,
    FAMILIES,
    NO_SECOND_ORDER,
    NOT_IN_FUNCTIONS,
    NOT_IN_PYTHON,
    ONLY_IN_CLIENTS,
    ONLY_IN_PYTHON,
    OPS,
    STAND_INS,
    WITHOUT_CASES,
)
from parity import HERE, load_cases
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework.ops import gradient_registry
from without_gradient import IN_SOME_VERSIONS, PATTERNS, reason

from tensorflow_ext import _library, _wrappers

MODULES = sorted(path.stem for path in HERE.glob("cases_*.py"))
CASES = {
    family: load_cases([m for m in MODULES if m.startswith(f"cases_{family}")]) for family in OPS
}


def test_every_case_belongs_to_a_family() -> None:
    found = [case.id for cases in CASES.values() for case in cases]
    assert len(found) == len(set(found)), "ids are to be unique"
    assert {case.id for case in load_cases(MODULES)} == set(found)


@pytest.mark.parametrize("family", OPS)
def test_every_op_has_three_cases(family: str) -> None:
    counts = collections.Counter(case.op for case in CASES[family])
    assert [op for op in OPS[family] if counts[op] < 3] == []


def test_every_op_with_a_gradient_of_this_library_has_a_row() -> None:
    rows = {*ALL_OPS, *WITHOUT_CASES}
    bridged = {
        op
        for op in _registered_ops()
        if _library.Registries.CLIENT_BRIDGED in _library.registries(op)
        and not op.startswith("TfExt>")
    }
    missing = sorted(bridged - rows)
    assert not missing, (
        f"{missing} have a gradient of this library and no row: write at least three "
        "cases of each into cases_FAMILY*.py beside this file, and its name into "
        f"covered_ops._OPS[FAMILY], FAMILY being one of {FAMILIES}. An op whose "
        "gradient other cases reach goes into covered_ops.WITHOUT_CASES instead."
    )
    without = sorted(
        op
        for op in rows - bridged
        if _library.Registries.CLIENT_NO_GRADIENT not in _library.registries(op)
    )
    assert not without, (
        f"covered_ops.py names {without}, of which this library has no gradient: "
        "write one in tensorflow_ext/stock_gradients or take the row out"
    )


def _stand_ins(bit: _library.Registries = _library.Registries.CLIENT_STANDS_IN) -> list[str]:
    return [op for op in _registered_ops() if bit in _library.registries(op)]


def _all_stand_ins() -> list[str]:
    """Of the client registry and of the function registry."""
    return sorted(_stand_ins() + _stand_ins(_library.Registries.FUNCTION_STANDS_IN))


def test_which_gradients_stand_in_for_tensorflows() -> None:
    assert sorted(_stand_ins()) == sorted(STAND_INS)
    assert [
        op for op in STAND_INS if _library.Registries.CLIENT_BRIDGED not in _library.registries(op)
    ] == []


def test_the_environment_keeps_tensorflows() -> None:
    """In a process of its own: it is read when the library is loaded."""
    program = "import covered_ops_test as t; print(*t._all_stand_ins())"
    printed = {
        value: subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TFEXT_KEEP_TENSORFLOW_GRADIENTS": value},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=HERE,
        ).stdout.split()
        for value in ("1", "0")
    }
    assert printed == {"1": [], "0": _all_stand_ins()}
    assert len(_stand_ins(_library.Registries.FUNCTION_STANDS_IN)) > 60


def _registered_ops() -> list[str]:
    return [op.name for op in _wrappers.op_defs()]


def _may_return_numbers(op: op_def_pb2.OpDef) -> bool:
    """Whether a result may be a number, or a variant or a resource that holds some."""
    allowed = {attr.name: attr.allowed_values.list.type for attr in op.attr}
    for result in op.output_arg:
        attr = result.type_attr or result.type_list_attr
        types = [result.type] if result.type else allowed[attr]
        if not types:  # any
            return True
        for dtype in map(tf.as_dtype, types):
            dtype = dtype.base_dtype
            if dtype.is_floating or dtype.is_complex:
                return True
            if dtype in (tf.variant, tf.resource):
                return True
    return False


def test_every_client_knows_every_op() -> None:
    registries = {op: _library.registries(op) for op in ALL_OPS}
    known = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    assert [op for op, found in registries.items() if not found & known] == []
    # A gradient that is not the library's own would be TensorFlow's.
    stock = [
        op
        for op, found in registries.items()
        if _library.Registries.CLIENT_GRADIENT in found
        and _library.Registries.CLIENT_BRIDGED not in found
    ]
    assert stock == []


def test_what_only_python_has_is_known() -> None:
    bits = _library.Registries
    either = bits.CLIENT_GRADIENT | bits.CLIENT_NO_GRADIENT
    found = [
        op
        for op in gradient_registry.list()
        if gradient_registry.lookup(op) is not None
        and op_def_registry.get(op) is not None
        and not _library.registries(op) & either
    ]
    assert sorted(found) == sorted(ONLY_IN_PYTHON)


def test_reasons_are_those_of_ops_without_gradient() -> None:
    with_gradient = [
        op
        for op in _registered_ops()
        if _library.Registries.CLIENT_GRADIENT in _library.registries(op)
    ]
    assert {op: why for op in with_gradient if (why := reason(op))} == {}
    needless = {p for p in PATTERNS if not fnmatch.filter(_registered_ops(), p)}
    assert needless <= IN_SOME_VERSIONS


def test_every_op_without_gradient_has_a_reason() -> None:
    either = _library.Registries.CLIENT_GRADIENT | _library.Registries.CLIENT_NO_GRADIENT
    missing = [
        op.name
        for op in _wrappers.op_defs()
        if not _library.registries(op.name) & either
        and not op.name.startswith("TfExt>")
        and _may_return_numbers(op)
        and op.name not in ONLY_IN_PYTHON
        and reason(op.name) is None
    ]
    assert not missing, (
        f"{missing} may return numbers and have no gradient: write one, or its reason "
        "into without_gradient.py"
    )


def test_the_function_registry_has_what_clients_have() -> None:
    bits = _library.Registries
    registries = {op: _library.registries(op) for op in _registered_ops()}
    missing = {
        op
        for op, found in registries.items()
        if bits.CLIENT_GRADIENT in found and bits.FUNCTION_GRADIENT not in found
    }
    assert missing == ONLY_IN_CLIENTS.keys()
    assert len(missing) <= 20


def test_what_python_has_not() -> None:
    ops = {op for op in NOT_IN_PYTHON if "-" not in op}
    cases = {case.id for cases in CASES.values() for case in cases}
    assert ops <= set(_registered_ops())
    assert NOT_IN_PYTHON.keys() - ops <= cases
    assert NOT_IN_FUNCTIONS.keys() <= cases


def test_second_order() -> None:
    """parity_test.py checks that these are compared and not zero."""
    assert len(ALL_OPS) == len(set(ALL_OPS))
    assert set(NO_SECOND_ORDER) <= set(ALL_OPS)
    compared = {
        case.op
        for cases in CASES.values()
        for case in cases
        if case.second_order and not case.error
    }
    assert len(compared - NO_SECOND_ORDER.keys()) >= 420
