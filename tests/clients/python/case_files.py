"""Reads files of cases; tests/clients/cases.md describes the format."""

import copy
import functools
import pathlib
import re
from collections.abc import Iterator, Sequence

import standard_cases
from cases import DTYPES, Case, Input, Node, TypeName, Values

# No op has more inputs or outputs that a case can describe.
_LARGEST_INDEX = 15


class MalformedCaseError(ValueError):
    """A file of cases that cannot be read; the message is `file:line: what is wrong`."""


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"'{word}' is not a number") from None


def _numbers(words: Sequence[str]) -> tuple[float, ...]:
    return tuple(map(_number, words))


def _values(words: Sequence[str]) -> Values:
    """Reads the words after the name or the index of a tensor."""
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
    """A type, or T or compute, which are placeholders."""
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


def _input(name: str, declared: Sequence[str]) -> Input:
    argument, dot, _ = name.partition(".")
    match declared:
        case [dtype, shape, *values] if values:
            return Input(argument, bool(dot), _type(dtype), _shape(shape), _values(values))
    raise ValueError("expected NAME: TYPE SHAPE VALUES")


def _add_input(case: Case, new: Input) -> None:
    """Adds an input, or replaces the op's input of the same name."""
    for index, old in enumerate(case.inputs):
        if old.argument == new.argument and not new.in_list:
            case.inputs[index] = new
            return
    case.inputs.append(new)


_INDEX = f"INDEX (0 to {_LARGEST_INDEX})"
# The statement that each keyword begins.
_EXPECTED = {
    "op": "op TYPE",
    "case": "case NAME",
    "types": "types TYPE...",
    "attr": "attr NAME KIND VALUE",
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
    """Adds the contents of one statement to the case."""
    match words:
        case ["types", *types] if types:
            case.types = _types(types)
        case ["attr", name, kind, value]:
            case.attrs[name] = _attr(kind, value)
        case [name, *declared] if name.endswith(":"):
            _add_input(case, _input(name.removesuffix(":"), declared))
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
            raise ValueError(f"'{keyword}' begins no statement")


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The words of each statement and the number of its line, the last one if it has several."""
    pending = ""
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        code = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].rstrip()
        pending += code.removesuffix("\\")
        if code.endswith("\\"):
            continue
        for statement in pending.split(";"):
            if words := statement.split():
                yield number, words
        pending = ""


def parse(text: str, path: str = "text") -> list[Case]:
    """Reads the cases of a file.

    Args:
      text: The contents of the file.
      path: The path for messages.

    Raises:
      MalformedCaseError: A statement is malformed.
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
                    raise ValueError("the first statement is op TYPE")
                case ["case", name]:
                    if not defaults.types:
                        raise ValueError("op and types come before the first case")
                    current = copy.deepcopy(defaults)
                    current.name = name
                    cases.append(current)
                case _:
                    _read_statement(current, words)
        except ValueError as error:
            raise MalformedCaseError(f"{path}:{number}: {error}") from None
    return cases


_OPS = pathlib.Path(__file__).absolute().parents[3] / "tensorflow_ext" / "ops"


@functools.cache
def table() -> dict[pathlib.Path, list[Case]]:
    """The cases of all ops by the file that describes them."""
    found = {path: read(path) for path in sorted(_OPS.glob("*/*.cases"))}
    has_cases = {case.op for cases in found.values() for case in cases}
    return found | standard_cases.of_ops(has_cases, parse)


def read_all() -> list[Case]:
    """The cases of all ops."""
    return [case for cases in table().values() for case in cases]


def read(*paths: str | pathlib.Path) -> list[Case]:
    """Reads the cases of several files, in order."""
    return [case for path in paths for case in parse(pathlib.Path(path).read_text(), str(path))]
