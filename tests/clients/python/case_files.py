# SPDX-License-Identifier: Apache-2.0
"""Reads files of cases; tests/clients/cases/README.md describes the format."""

import copy
import pathlib
import re
from collections.abc import Iterator, Sequence

from cases import DTYPES, Case, Input, Node, TypeName, Values

# No op has more inputs or outputs that a case could say something about.
_LARGEST_INDEX = 15


class MalformedCaseError(ValueError):
    """A file of cases that cannot be read; says `file:line: what is wrong`."""


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"'{word}' is not a number") from None


def _numbers(words: Sequence[str]) -> tuple[float, ...]:
    return tuple(map(_number, words))


def _values(words: Sequence[str]) -> Values:
    """What follows the name or the index of a tensor."""
    match list(words):
        case ["none"]:
            return Values("none")
        case ["values", *listed]:
            return Values("values", numbers=_numbers(listed))
        case ["choose", seed, *listed] if seed.isdigit() and listed:
            return Values("choose", int(seed), _numbers(listed))
        case ["permutation", seed, step] if seed.isdigit():
            return Values("permutation", int(seed), step=_number(step))
        case ["uniform", seed, low, high] if seed.isdigit():
            return Values("uniform", int(seed), (), _number(low), _number(high))
        case ["uniform", seed, low, high, "avoid", *kinks] if seed.isdigit():
            bounds = _number(low), _number(high)
            return Values("uniform", int(seed), _numbers(kinks), *bounds)
    raise ValueError(
        "expected values V..., uniform SEED LOW HIGH [avoid V...], "
        "choose SEED V..., permutation SEED STEP or none"
    )


def _shape(word: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\[(\d+(,\d+)*)?\]", word):
        raise ValueError(f"'{word}' is not a shape: [2,3]")
    return tuple(map(int, re.findall(r"\d+", word)))


def _type(word: str) -> str:
    """A type, or T or compute, which stand for one."""
    if word not in DTYPES and word not in ("T", "compute"):
        raise ValueError(f"'{word}' is neither T nor compute nor a type")
    return word


def _types(words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if word not in DTYPES:
            raise ValueError(f"'{word}' is not a type")
    return tuple(words)


def _attr(kind: str, word: str) -> object:
    if kind == "string":
        return word
    if kind == "type":
        return TypeName(_type(word))
    read = {"int": int, "float": float, "bool": {"true": True, "false": False}.get}
    if kind not in read:
        raise ValueError(f"'{kind}' is not a kind: int, float, bool, string, type")
    try:
        value = read[kind](word)
    except ValueError:
        value = None
    if value is None:
        raise ValueError(f"'{word}' is not a {kind}")
    return value


def _input(name: str, dtype: str, shape: str, words: Sequence[str]) -> Input:
    argument, dot, _ = name.partition(".")
    return Input(argument, bool(dot), _type(dtype), _shape(shape), _values(words))


_INDEX = f"INDEX (0 to {_LARGEST_INDEX})"
# What each keyword begins.
_EXPECTED = {
    "op": "op TYPE",
    "case": "case NAME",
    "types": "types TYPE...",
    "attr": "attr NAME KIND VALUE",
    "input": "input NAME TYPE SHAPE VALUES",
    "gradient": f"gradient {_INDEX} and values",
    "upstream": f"upstream {_INDEX} and values",
    "output": f"output {_INDEX} and values",
    "reference": "reference NAME OP ARGUMENT... or reference none",
    "loss": "loss NAME OP ARGUMENT... or loss none",
    "tolerance": "tolerance NUMBER",
    "error": "error CODE TEXT",
}


def _index(keyword: str, word: str) -> int:
    if not word.isdigit() or int(word) > _LARGEST_INDEX:
        raise ValueError(f"expected {_EXPECTED[keyword]}")
    return int(word)


def _read_statement(case: Case, words: list[str]) -> None:
    """Adds to the case what one statement says."""
    match words:
        case ["types", *types] if types:
            case.types = _types(types)
        case ["attr", name, kind, value]:
            case.attrs[name] = _attr(kind, value)
        case ["input", name, dtype, shape, *values] if values:
            case.inputs.append(_input(name, dtype, shape, values))
        case ["gradient" | "upstream" | "output" as tensor, index, *values] if values:
            place = getattr(case, f"{tensor}s")
            place[_index(tensor, index)] = _values(values)
        case ["reference" | "loss" as chain, "none"]:
            getattr(case, chain).clear()
        case ["reference" | "loss" as chain, name, op, *arguments] if arguments:
            getattr(case, chain).append(Node(name, op, tuple(arguments)))
        case ["tolerance", factor]:
            case.tolerance = _number(factor)
        case ["error", code, *text] if text:
            case.error, case.fragments = code, tuple(" ".join(text).split(" | "))
        case [keyword, *_] if keyword in _EXPECTED:
            raise ValueError(f"expected {_EXPECTED[keyword]}")
        case [keyword, *_]:
            raise ValueError(f"'{keyword}' is not a line of a case")


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number of a line and its words, comments and continuations dealt with."""
    words: list[str] = []
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        for word in line.split():
            if word.startswith("#"):
                break
            words.append(word)
        if words and words[-1] == "\\":
            words.pop()
            continue
        if words:
            yield number, words
        words = []
    if words:  # The file ends with a continuation.
        yield number, words


def parse(text: str, path: str = "text") -> list[Case]:
    """Reads the cases of a file.

    Args:
      text: What the file holds.
      path: How messages name it.

    Raises:
      MalformedCaseError: A line is malformed.
    """
    cases: list[Case] = []
    current: Case | None = None
    defaults = Case("")
    for number, words in _statements(text):
        try:
            match words:
                case ["op", op]:
                    current = defaults = Case(op)
                case _ if current is None:
                    raise ValueError("the first line is op TYPE")
                case ["case", name]:
                    if not defaults.types:
                        raise ValueError("an op line and a types line come before the first case")
                    current = copy.deepcopy(defaults)
                    current.name = name
                    cases.append(current)
                case _:
                    _read_statement(current, words)
        except ValueError as error:
            raise MalformedCaseError(f"{path}:{number}: {error}") from None
    return cases


def read(*paths: str | pathlib.Path) -> list[Case]:
    """Reads the cases of several files, in that order."""
    return [case for path in paths for case in parse(pathlib.Path(path).read_text(), str(path))]
