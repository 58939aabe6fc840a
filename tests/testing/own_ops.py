"""check_library's options for this library's ops: inputs from the table of cases
(tests/clients/cases.md), in one type other than double. Gradients are measured in double.
"""

import math
import zlib
from typing import Any

import case_files
import numpy as np
import tensorflow as tf
from cases import DTYPES, Case, TypeName, resolve_type
from tensorflow.python.framework import op_def_registry

_LARGEST = 400  # elements of an input


def _fitness(case: Case) -> tuple[bool, int]:
    """Random values are more likely to be generic; few are quick to check."""
    random = any(i.values.kind in ("uniform", "permutation") for i in case.inputs)
    return not random, sum(math.prod(i.shape) for i in case.inputs)


def _suitable(case: Case) -> bool:
    sizes = [math.prod(i.shape) for i in case.inputs]
    return (
        not case.error
        and not case.has_golden_gradients
        and "double" in case.types
        and 0 < min(sizes) <= max(sizes) <= _LARGEST
    )


def _other_type(case: Case) -> str:
    others = [name for name in case.types if name != "double"]
    return others[zlib.crc32(case.op.encode()) % len(others)] if others else "double"


def options() -> dict[str, dict[str, Any]]:
    """The options of `check_library` for each op that has cases."""
    by_op: dict[str, list[Case]] = {}
    for case in case_files.read_all():
        if _suitable(case):
            by_op.setdefault(case.op, []).append(case)
    return {op: _options(min(cases, key=_fitness)) for op, cases in by_op.items()}


def _options(case: Case) -> dict[str, Any]:
    dtype = _other_type(case)
    attrs = {name: _value(value, dtype) for name, value in case.attrs.items()}
    for argument in op_def_registry.get(case.op).input_arg:
        types = [_type(i.dtype, dtype) for i in case.inputs if i.argument == argument.name]
        if argument.number_attr:
            attrs[argument.number_attr] = len(types)
        if argument.type_list_attr:
            attrs[argument.type_list_attr] = types
        elif argument.type_attr:
            attrs[argument.type_attr] = types[0]

    def inputs(given: dict[str, Any]) -> dict[str, Any] | None:
        if any(given[name] != value for name, value in attrs.items()):
            return None
        return _by_argument(case, case.make_inputs(dtype))

    return {
        "inputs": inputs,
        "attrs": {name: [value] for name, value in attrs.items()},
        "surrogate": bool(case.loss),
        "tolerance": 16.0 * case.tolerance,
    }


def _type(name: str, dtype: str) -> tf.DType:
    return tf.as_dtype(DTYPES[resolve_type(name, dtype)])


def _value(value: object, dtype: str) -> object:
    return _type(value.name, dtype) if isinstance(value, TypeName) else value


def _by_argument(case: Case, arrays: list[np.ndarray]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for declared, array in zip(case.inputs, arrays, strict=True):
        if declared.in_list:
            found.setdefault(declared.argument, []).append(array)
        else:
            found[declared.argument] = array
    return found
