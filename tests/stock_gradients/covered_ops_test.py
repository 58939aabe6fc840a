"""The table of cases is complete: it names the ops that the registries require."""

import collections
import fnmatch
import functools
import os

import commands
import covered_ops
import tensorflow as tf
from parity import HERE, load_cases
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework.ops import gradient_registry
from without_gradient import IN_SOME_VERSIONS, PATTERNS, reason

from tensorflow_ext._runtime import _library, _wrappers

MODULES = sorted(path.stem for path in HERE.glob("cases_*.py"))
CASES = {module: load_cases([module]) for module in MODULES}
ALL_CASES = [case for cases in CASES.values() for case in cases]
STOCK = {case.op for module in MODULES if "_stock" in module for case in CASES[module]}
# The ops that have gradients of this library, according to the cases.
COVERED = {case.op for case in ALL_CASES} - STOCK | {
    *covered_ops.STAND_INS,
    *covered_ops.COMPARED_BY_STRUCTURE,
}

Registries = _library.Registries
EITHER = Registries.CLIENT_GRADIENT | Registries.CLIENT_NO_GRADIENT


@functools.cache
def registered(registries: _library.Registries | None = None) -> list[str]:
    """The ops in one of these registries, or in all of them."""
    ops = [op.name for op in _wrappers.op_defs()]
    if registries is None:
        return ops
    return sorted(op for op in ops if _library.registries(op) & registries)


def test_every_case_belongs_to_a_family() -> None:
    families = tuple(f"cases_{family}" for family in covered_ops.FAMILIES)
    assert [module for module in MODULES if not module.startswith(families)] == []
    counts = collections.Counter(case.id for case in ALL_CASES)
    assert [id for id, count in counts.items() if count > 1] == []


def test_every_op_with_a_gradient_of_this_library_has_three_cases() -> None:
    counts = collections.Counter(case.op for case in ALL_CASES)
    bridged = {op for op in registered(Registries.CLIENT_BRIDGED) if not op.startswith("TfExt>")}
    elsewhere = {*covered_ops.COMPARED_BY_STRUCTURE, *covered_ops.WITHOUT_CASES}
    missing = sorted(op for op in bridged - elsewhere if counts[op] < 3)
    assert not missing, (
        f"{missing} have a gradient of this library and too few cases: write at least three "
        "of each into cases_FAMILY*.py beside this file, FAMILY being one of "
        f"{covered_ops.FAMILIES}. An op whose gradient other cases reach goes into "
        "covered_ops.WITHOUT_CASES instead."
    )
    declared = registered(Registries.CLIENT_NO_GRADIENT)
    without = sorted((COVERED | elsewhere) - bridged - set(declared))
    assert not without, (
        f"there are cases or rows of {without}, of which this library has no gradient: "
        "write one in tensorflow_ext/stock_gradients or take the cases out"
    )


# `registered` in a process without TensorFlow's Python package.
_REGISTERED = """
import ctypes, sys, c_client
library, kinds, *ops = sys.argv[1:]
c_client.Client(c_client.tensorflow_dir(), library)
registries = ctypes.CDLL(library).TfExt_GradientRegistries
print(*sorted(op for op in ops if registries(op.encode()) & int(kinds)))
"""


def test_gradients_that_replace_tensorflows() -> None:
    assert registered(Registries.CLIENT_STANDS_IN) == sorted(covered_ops.STAND_INS)
    assert set(covered_ops.STAND_INS) <= set(registered(Registries.CLIENT_BRIDGED))


def test_the_environment_keeps_tensorflows() -> None:
    """Runs in separate processes, because the value is read when the library is loaded."""
    kinds = Registries.CLIENT_STANDS_IN | Registries.FUNCTION_STANDS_IN
    printed = {
        value: commands.python(
            *("-c", _REGISTERED, os.environ["PARITY_LIBRARY"], str(kinds.value), *registered()),
            env=commands.environment(TFEXT_KEEP_TENSORFLOW_GRADIENTS=value),
        ).split()
        for value in ("1", "0")
    }
    assert printed == {"1": [], "0": registered(kinds)}
    assert len(registered(Registries.FUNCTION_STANDS_IN)) > 60


def _may_return_numbers(op: op_def_pb2.OpDef) -> bool:
    """True if a result may be a number, or a variant or resource that holds numbers."""
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
    assert not COVERED - set(registered(EITHER))
    # Any gradient other than the library's would be TensorFlow's.
    own = registered(Registries.CLIENT_BRIDGED)
    assert COVERED & set(registered(Registries.CLIENT_GRADIENT)) <= set(own)


def test_ops_only_in_python_are_listed() -> None:
    python = {
        op
        for op in gradient_registry.list()
        if gradient_registry.lookup(op) is not None and op_def_registry.get(op) is not None
    }
    assert python - set(registered(EITHER)) == covered_ops.ONLY_IN_PYTHON.keys()


def test_reasons_are_those_of_ops_without_gradient() -> None:
    with_gradient = registered(Registries.CLIENT_GRADIENT)
    assert {op: why for op in with_gradient if (why := reason(op))} == {}
    needless = {p for p in PATTERNS if not fnmatch.filter(registered(), p)}
    assert needless <= IN_SOME_VERSIONS


def test_every_op_without_gradient_has_a_reason() -> None:
    explained = {*registered(EITHER), *covered_ops.ONLY_IN_PYTHON}
    missing = [
        op.name
        for op in _wrappers.op_defs()
        if op.name not in explained
        and not op.name.startswith("TfExt>")
        and _may_return_numbers(op)
        and reason(op.name) is None
    ]
    assert not missing, (
        f"{missing} may return numbers and have no gradient: write one, or its reason "
        "into without_gradient.py"
    )


def test_the_function_registry_matches_the_clients() -> None:
    in_functions = registered(Registries.FUNCTION_GRADIENT)
    missing = set(registered(Registries.CLIENT_GRADIENT)) - set(in_functions)
    assert missing == covered_ops.ONLY_IN_CLIENTS.keys()
    assert len(missing) <= 20


def test_ops_not_in_python() -> None:
    ops = {op for op in covered_ops.NOT_IN_PYTHON if "-" not in op}
    cases = {case.id for case in ALL_CASES}
    assert ops <= set(registered())
    assert covered_ops.NOT_IN_PYTHON.keys() - ops <= cases
    assert covered_ops.NOT_IN_FUNCTIONS.keys() <= cases


def test_second_order() -> None:
    """parity_test.py checks that these are compared and not zero."""
    assert covered_ops.NO_SECOND_ORDER.keys() <= COVERED
    compared = {case.op for case in ALL_CASES if case.second_order and not case.error}
    assert len(compared - covered_ops.NO_SECOND_ORDER.keys()) >= 420
