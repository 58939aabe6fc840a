"""Cases of every op in every client."""

import os
import warnings
from collections.abc import Sequence

import case_files
import check
import judge
import pytest
from cases import Case
from protocol import LEFT_OUT
from sampling import LANGUAGES, is_turn_of_commit, of_every_op, turn


def _choose(one_in: int) -> list[Case]:
    """A part of the cases, another in each commit, and all of an op whose folder it changes."""
    return [
        case
        for path, cases in case_files.table().items()
        for case in of_every_op(cases, one_in, f"/ops/{path.parent.name}/")
    ]


_ALL = _choose(4)
# XLA takes half a second or more to compile a case, so it runs a part of them.
_COMPILED = _choose(12)
_GOOD = [case for case in _ALL if not case.error]
_BAD = [case for case in _ALL if case.error]
for _name in LEFT_OUT:
    warnings.warn(f"left out, no toolchain when this was built: {_name}", stacklevel=1)


def _assert_ok(checks: list[check.Check]) -> None:
    failures = [str(c) for c in checks if not c.ok]
    assert not failures, "\n".join(failures)


# Groups of clients that take turns: in all tests, and where the first order took the same path.
_IN_TURNS = (LANGUAGES,)
_IN_TURNS_AGAIN = (LANGUAGES, ("tf.function", "tf.gradients"), ("C", "C++"))


_ONE_IN = {"EagerC": 3, "EagerJava": 20, "EagerRust": 20}


def _pairs(
    clients: Sequence[str], cases: Sequence[Case], in_turns: Sequence[Sequence[str]] = _IN_TURNS
) -> list[tuple[str, Case]]:
    """Runs each case in every client, or in one of those that take turns. Tapes have the same
    gradients as C, so they run a part of the cases, and another in each commit."""
    return [
        (name, case)
        for name in clients
        for case in cases
        if all(name not in some or name in turn(case.id, some) for some in in_turns)
        and (name != "jit_compile" or case in _COMPILED)
        and (name not in judge.EAGER or is_turn_of_commit(f"{name} {case.id}", _ONE_IN[name]))
    ]


def _every(pairs: Sequence[tuple[str, Case]]) -> pytest.MarkDecorator:
    ids = [f"{client}-{case.id}" for client, case in pairs]
    return pytest.mark.parametrize(("client", "case"), pairs, ids=ids)


_TWICE = [case for case in _GOOD if check.has_second(case)]
_COMPILED_TWICE = [case for case in _TWICE if is_turn_of_commit(f"twice {case.id}", 2)]


def _by_turns(client: str, case: Case, types: Sequence[str]) -> tuple[str, ...]:
    """All types in eager mode; the other clients take turns."""
    return tuple(types) if client == "eager" else turn(f"{client} {case.id}", types)


def _types(client: str, case: Case) -> list[str]:
    """Double, where gradients are compared with differences, and one other type by turns.

    XLA runs double if it also compiles the second order in double, else another type.
    """
    others = [dtype for dtype in case.types if dtype != "double"]
    double = ["double"] if "double" in case.types else []
    if client == "jit_compile" and os.environ.get("EVERY_CASE") != "1":
        if case in _COMPILED_TWICE or not others:
            return double
        double = []
    return [*double, *_by_turns(client, case, others)]


@_every(_pairs(judge.CLIENTS, _GOOD))
def test_gradients(client: str, case: Case) -> None:
    for dtype in _types(client, case):
        _assert_ok(check.check_first(case, judge.find_client(client), dtype))


@_every(
    [
        (client, case)
        for client, case in _pairs(judge.WITH_SECOND_ORDER, _TWICE, _IN_TURNS_AGAIN)
        if client != "jit_compile" or case in _COMPILED_TWICE
    ]
)
def test_second_order(client: str, case: Case) -> None:
    _assert_ok(check.check_second(case, judge.find_client(client)))


@_every(_pairs(judge.WITH_UNKNOWN_SHAPES, _GOOD, _IN_TURNS_AGAIN))
def test_unknown_shapes(client: str, case: Case) -> None:
    dtypes = _by_turns(client, case, case.types)
    _assert_ok(check.check_unknown_shapes(case, judge.find_client(client), dtypes))


@_every(_pairs(judge.WITH_ERRORS, _BAD))
def test_errors(client: str, case: Case) -> None:
    exact = client in judge.WITH_CODES
    dtypes = _by_turns(client, case, case.types)
    _assert_ok(check.check_errors(case, judge.find_client(client), exact, dtypes))
