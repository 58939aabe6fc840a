"""Invalid inputs for an op, made from the table of cases.

Each call starts as a case of the table (tests/clients/cases.md) in one of its types. Then shapes,
values, attributes and lists are changed at random, one or several at a time.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case

_FLOATS = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 7.0),
    *(1e-30, 1e4, -1e4, 1e9, 2.0**31, 2.0**32, -(2.0**31), 2.0**63, 1e30, -1e30),
)
_INTEGERS = (0, 1, -1, 2, 3, 5, 100, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63))
_INT_ATTRIBUTES = (0, 1, 2, 3, 4, 7, -1, 64, 2**15, 2**30, 2**31 - 1, 2**40, -(2**31))
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 17)
_MOST_ELEMENTS = 1 << 16
# NumPy also limits the product of the nonzero sizes of an array of any type.
_MOST_NOT_0 = np.iinfo(np.intp).max // np.dtype(complex).itemsize


@dataclasses.dataclass
class Call:
    """The arguments of an op; an input is an array, or a list of them."""

    op: str
    inputs: dict[str, Any]
    attributes: dict[str, Any]

    def __str__(self) -> str:
        inputs = ", ".join(f"{k}={_describe(v)}" for k, v in self.inputs.items())
        attributes = ", ".join(f"{k}={v!r}" for k, v in self.attributes.items())
        return f"{self.op}({inputs}; {attributes})"


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_describe, value))}]"
    numbers = np.array2string(value.reshape(-1)[:12], separator=",", max_line_width=999)
    return f"{value.dtype}{list(value.shape)} {numbers}"


def make(case: Case, dtype: str) -> Call:
    """A case as it is in the table."""
    inputs: dict[str, Any] = {}
    for declared, array in zip(case.inputs, case.make_inputs(dtype), strict=True):
        if declared.in_list:
            inputs.setdefault(declared.argument, []).append(array)
        else:
            inputs[declared.argument] = array
    return Call(case.op, inputs, case.make_attrs(dtype))


def mutate(call: Call, random: np.random.Generator) -> None:
    """Changes a call several times, or not at all."""
    for _ in range(random.integers(0, 4)):
        pick(random, _CHANGES)(call, random)


def pick(random: np.random.Generator, values: Any) -> Any:
    return values[random.integers(len(values))]


def _of_some_array(
    change: Callable[[np.ndarray, np.random.Generator], np.ndarray],
) -> Callable[[Call, np.random.Generator], None]:
    """Makes a change of a call from a change of an array."""

    def changed(call: Call, random: np.random.Generator) -> None:
        name = pick(random, list(call.inputs))
        value = call.inputs[name]
        if not isinstance(value, list):
            call.inputs[name] = change(value, random)
        elif value:
            i = random.integers(len(value))
            call.inputs[name] = [*value[:i], change(value[i], random), *value[i + 1 :]]

    return changed


@_of_some_array
def _reshape(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    shape = list(array.shape)
    kind = random.integers(4)
    if kind == 0 and shape:
        shape[random.integers(len(shape))] = int(pick(random, _SIZES))
    elif kind == 1 and shape:
        del shape[random.integers(len(shape))]
    elif kind == 2:
        shape.insert(random.integers(len(shape) + 1), int(pick(random, _SIZES)))
    else:
        shape = [int(pick(random, _SIZES)) for _ in range(random.integers(6))]
    not_0 = [size for size in shape if size]
    if math.prod(shape) > _MOST_ELEMENTS or math.prod(not_0) > _MOST_NOT_0:
        return array
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


@_of_some_array
def _fill(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Puts unusual values in a few places, or everywhere."""
    if np.issubdtype(array.dtype, np.integer):
        limits = np.iinfo(array.dtype)
        odd = np.clip(np.array(_INTEGERS, object), limits.min, limits.max)
    else:
        odd = np.array(_FLOATS)
    share = pick(random, (0.02, 0.2, 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        chosen = random.choice(odd, array.shape).astype(array.dtype)
    return np.where(random.random(array.shape) < share, chosen, array)


def _swap(call: Call, random: np.random.Generator) -> None:
    one, other = (pick(random, list(call.inputs)) for _ in range(2))
    call.inputs[one], call.inputs[other] = call.inputs[other], call.inputs[one]


def _change_list(call: Call, random: np.random.Generator) -> None:
    lists = [name for name, value in call.inputs.items() if isinstance(value, list)]
    if lists:
        name = pick(random, lists)
        value = call.inputs[name]
        call.inputs[name] = value[:-1] if random.integers(2) else value + value[:1]


def _change_attribute(call: Call, random: np.random.Generator) -> None:
    if not call.attributes:
        return
    name = pick(random, list(call.attributes))
    match call.attributes[name]:
        case bool(value):
            call.attributes[name] = not value
        case int():
            call.attributes[name] = pick(random, _INT_ATTRIBUTES)
        case float():
            call.attributes[name] = pick(random, _FLOATS)
        case str():
            call.attributes[name] = pick(random, ("", "sum", "nonsense"))


_CHANGES = (_reshape, _reshape, _fill, _fill, _change_attribute, _change_list, _swap)
