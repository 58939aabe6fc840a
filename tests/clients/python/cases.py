"""A case of the table that every client runs, and its numbers.

tests/clients/cases.md describes the table; case_files.py reads it.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    "half": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
}
_MARGIN = 1 / 16  # between generated values and values to avoid


def type_name(dtype: Any) -> str:
    """The name of a NumPy or TensorFlow type, as cases write it."""
    wanted = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    return next(name for name, known in DTYPES.items() if known == wanted)


def resolve_type(name: str, dtype: str) -> str:
    """The type that a case names, which may be T or compute, if T is `dtype`."""
    if name == "compute":
        return "float" if dtype in ("half", "bfloat16") else dtype
    return dtype if name == "T" else name


def is_floating(dtype: str) -> bool:
    """True if values of this type have gradients."""
    return not np.issubdtype(DTYPES[dtype], np.integer)


@dataclasses.dataclass
class Values:
    """The description of a tensor's values."""

    kind: str  # values, uniform, choose, permutation or none
    seed: int = 0
    numbers: tuple[float, ...] = ()  # listed, to choose from, or to avoid
    low: float = 0
    high: float = 0
    step: float = 0

    def golden(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """The listed values as a tensor of this shape, if they fit.

        They fit if there is one for all elements, or exactly one for each.
        """
        size = math.prod(shape)
        fits = len(self.numbers) in (1, size)
        return self.listed(size).reshape(shape) if fits else None

    def listed(self, size: int) -> np.ndarray:
        """The listed values; a list shorter than the tensor repeats."""
        return np.resize(np.array(self.numbers or (0.0,), np.float64), size)


@dataclasses.dataclass
class TypeName:
    """The value of an attribute that is a type: T, compute, or a type."""

    name: str


@dataclasses.dataclass
class Input:
    """An input of the op; `values.0`, `values.1` are elements of a list."""

    argument: str
    in_list: bool
    dtype: str  # T, compute, or a type
    shape: tuple[int, ...]
    values: Values


@dataclasses.dataclass
class Node:
    """One node of a chain of stock ops."""

    name: str
    op: str
    arguments: tuple[str, ...]


@dataclasses.dataclass(eq=False)
class Case:
    """One case. It is only equal to itself, so it can be a key.

    Gradients, upstreams and outputs are keyed by the index of the input or output that the case
    describes.
    """

    op: str
    name: str = ""
    types: tuple[str, ...] = ()
    attrs: dict[str, object] = dataclasses.field(default_factory=dict)
    inputs: list[Input] = dataclasses.field(default_factory=list)
    gradients: dict[int, Values] = dataclasses.field(default_factory=dict)
    upstreams: dict[int, Values] = dataclasses.field(default_factory=dict)
    outputs: dict[int, Values] = dataclasses.field(default_factory=dict)
    reference: list[Node] = dataclasses.field(default_factory=list)
    loss: list[Node] = dataclasses.field(default_factory=list)
    tolerance: float = 4
    error: str = ""
    fragments: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name that pytest shows."""
        return f"{self.op.removeprefix('TfExt>')}-{self.name}"

    @property
    def has_golden_gradients(self) -> bool:
        """True if golden gradients replace central differences."""
        return any(values.kind == "values" for values in self.gradients.values())

    def input_type(self, index: int, dtype: str) -> str:
        """The type of an input if T is `dtype`."""
        return resolve_type(self.inputs[index].dtype, dtype)

    def type_of_t(self, inputs: Sequence[Any]) -> str:
        """T, as arrays or tensors for the inputs have it; empty if no input is of type T."""
        declared = zip(self.inputs, inputs, strict=True)
        return next((type_name(x.dtype) for i, x in declared if i.dtype == "T"), "")

    def make_attrs(self, dtype: str) -> dict[str, object]:
        """The attributes if T is `dtype`."""
        return {
            name: DTYPES[resolve_type(value.name, dtype)] if isinstance(value, TypeName) else value
            for name, value in self.attrs.items()
        }

    def make_inputs(self, dtype: str) -> list[np.ndarray]:
        """The inputs if T is `dtype`."""
        return [
            self._fill(i.values, i.shape, self.input_type(k, dtype))
            for k, i in enumerate(self.inputs)
        ]

    def make_upstream(self, index: int, output: np.ndarray) -> np.ndarray:
        """The upstream gradient of an output."""
        dtype = type_name(output.dtype)
        values = self.upstreams.get(index, Values("uniform", 1001 + index, (), -2, 2))
        return self._fill(values, output.shape, dtype)

    def _fill(self, values: Values, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        size = math.prod(shape)
        floating = is_floating(dtype)
        if values.kind == "values":
            numbers = values.listed(size)
        elif values.kind == "uniform":
            span = values.high - values.low
            numbers = values.low + span * uniforms(values.seed, size)
            if floating:
                numbers = self._exact(numbers)
            numbers = _avoid(values.numbers, numbers)
        elif values.kind == "choose":
            picked = randoms(values.seed, size) % np.uint64(len(values.numbers))
            numbers = np.array(values.numbers)[picked.astype(np.int64)]
        elif values.kind == "permutation":
            numbers = values.step * _permutation(values.seed, size)
        else:
            numbers = np.zeros(size)
        numbers = self._exact(numbers) if floating else np.trunc(numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            return numbers.reshape(shape).astype(DTYPES[dtype])

    def _exact(self, numbers: np.ndarray) -> np.ndarray:
        """Rounds to a value that every type of the case holds; tiny values become 0."""
        with np.errstate(over="ignore"):
            for dtype in self.types:
                if is_floating(dtype):
                    numbers = numbers.astype(DTYPES[dtype]).astype(np.float64)
                if dtype == "half":
                    tiny = np.abs(numbers) < 2**-14
                    numbers = np.where(tiny & (numbers != 0), 0.0, numbers)
        return numbers


def _avoid(kinks: Sequence[float], numbers: np.ndarray) -> np.ndarray:
    result = numbers.copy()
    for kink in reversed(kinks):  # The first one in the list that is near wins.
        near = np.abs(numbers - kink) < _MARGIN
        moved = np.where(numbers < kink, kink - _MARGIN, kink + _MARGIN)
        result = np.where(near, moved, result)
    return result


def randoms(seed: int, size: int) -> np.ndarray:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    steps = np.arange(1, size + 1, dtype=np.uint64)
    z = np.uint64(seed) + steps * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(seed: int, size: int) -> np.ndarray:
    """Uniform in [0, 1)."""
    return (randoms(seed, size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _permutation(seed: int, size: int) -> np.ndarray:
    numbers = np.arange(size, dtype=np.float64) - size // 2
    draws = randoms(seed, max(size - 1, 0))
    for i in range(size - 1, 0, -1):  # Fisher and Yates
        j = int(draws[size - 1 - i]) % (i + 1)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers
