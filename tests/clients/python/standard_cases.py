"""The cases of elementwise ops that have none in a file: of every shape that such an op must take
and refuse, with the results of the reference in the op's module."""

import pathlib
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
from cases import Case, Values
from op_definitions import Definition, definitions

_TYPES = "half bfloat16 float double"
_RANGE = -2, 2
_TOLERANCE = 16

Parse = Callable[[str, str], list[Case]]


def _inputs(one: Definition, *shapes: str) -> str:
    """The statements of inputs; the last shapes are those of the last inputs."""
    low, high = one.facts.get("range", _RANGE)
    kinks = one.facts.get("kinks", ())
    avoid = " ".join(map(str, ("avoid", *kinks))) if kinks else ""
    shapes = shapes[-len(one.inputs) :]
    return "".join(
        f"; {name}: T {shape} uniform {seed} {low} {high} {avoid}"
        for seed, (name, shape) in enumerate(zip(one.inputs, shapes, strict=True), 1)
    )


def _kind(value: object) -> str:
    return {bool: "bool", int: "int", float: "float", str: "string"}[type(value)]


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f"; attr {k} {_kind(v)} {_word(v)}" for k, v in values.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_gradient(one: Definition) -> Iterator[str]:
    first, x = one.inputs[:2]
    yield f"case odd_size{_inputs(one, *['[3,5]'] * 3)}"
    yield f"case empty{_inputs(one, *['[0,3]'] * 3)}"
    if one.broadcasts:
        yield f"case row_by_column{_inputs(one, '[3,4]', '[3,1]', '[4]')}"
    shapes = ["[3]", *["[4]"] * (len(one.inputs) - 1)]
    wrong = f"argument '{x}' has shape [4], expected that of '{first}', [3]"
    if one.broadcasts:
        wrong = f"argument '{first}' has shape [3]"
    yield f"case shapes_differ{_inputs(one, *shapes)}; error InvalidArgument {wrong}"


def _of_op(one: Definition) -> Iterator[str]:
    names = {
        "scalar": "[]",
        "odd_size": "[3,5]",
        "rank_5": "[2,1,3,1,2]",
        "empty": "[2,0]",
        "several_shards": "[101,1009]",
    }
    for name, shape in names.items():
        yield f"case {name}{_inputs(one, shape, shape)}"
    for number, attributes in enumerate(one.facts.get("more_attributes", [])):
        own = _attributes(attributes)
        yield f"case other_attributes_{number}{own}{_inputs(one, '[17]', '[17]')}"
    for name, value in one.facts.get("wrong_attributes", {}).items():
        own, wrong = _attributes({name: value}), f"attribute '{name}' is"
        inputs = _inputs(one, "[2]", "[2]")
        yield f"case wrong_{name}{own}{inputs}; error InvalidArgument {wrong}"
    if len(one.inputs) == 1:
        return
    x, y = one.inputs
    if one.broadcasts:
        yield f"case row_by_column{_inputs(one, '[3,1]', '[4]')}"
        yield f"case with_a_scalar{_inputs(one, '[]', '[2,3]')}"
        wrong = f"argument '{x}' has shape [3] and '{y}' [4]"
    else:
        wrong = f"argument '{y}' has shape [4], expected that of '{x}', [3]"
    yield f"case shapes_differ{_inputs(one, '[3]', '[4]')}; error InvalidArgument {wrong}"


def _text(one: Definition) -> str:
    tolerance = one.facts.get("roundoffs", _TOLERANCE)
    lines = [
        f"op TfExt>{one.op}; types {_TYPES}; tolerance {tolerance}{_attributes(one.attributes)}"
    ]
    lines += _of_gradient(one) if one.is_gradient else _of_op(one)
    return "\n".join(lines)


def of_ops(has_cases: Collection[str], parse: Parse) -> dict[pathlib.Path, list[Case]]:
    """The cases of ops without cases, by the path of the op's module.

    Args:
      has_cases: The ops that have cases.
      parse: Reads the text of cases.
    """
    found: dict[pathlib.Path, list[Case]] = {}
    for one in definitions().values():
        if f"TfExt>{one.op}" in has_cases:
            continue
        for case in parse(_text(one), f"{one.path} (standard cases)"):
            if not case.error:
                with np.errstate(all="ignore"):
                    inputs = case.make_inputs("double")
                    results = one.facts["reference"](np, *inputs, **case.make_attrs("double"))
                outputs = results if isinstance(results, tuple) else (results,)
                for index, output in enumerate(outputs):
                    case.outputs[index] = Values("values", numbers=tuple(output.ravel().tolist()))
            found.setdefault(one.path, []).append(case)
    return found
