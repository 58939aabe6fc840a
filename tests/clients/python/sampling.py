"""The cases that a commit runs in each language (commit_sampling.py)."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import pytest
from commit_sampling import is_named, is_turn, is_turn_of_commit, of_commit, turn
from protocol import PROGRAMS

__all__ = ["is_named", "is_turn", "is_turn_of_commit", "of_commit", "turn"]

# Besides C, which runs each chosen case, and C++, which has the same registry.
LANGUAGES = tuple(language for language in PROGRAMS if language not in ("C", "C++"))


class _Case(Protocol):
    @property
    def id(self) -> str: ...


class _CaseOfOp(_Case, Protocol):
    op: str


C = TypeVar("C", bound=_Case)
P = TypeVar("P", bound=_CaseOfOp)


def of_every_op(cases: Sequence[P], one_in: int, *parts: str) -> list[P]:
    """The first case of each op, and others by turns of the commit; all of an op that a changed
    file names, and all if `is_changed(*parts)`."""
    firsts = {case.op: case.id for case in reversed(cases)}
    return [
        case
        for case in cases
        if firsts[case.op] == case.id
        or is_named(case.op)
        or is_turn_of_commit(case.id, one_in, *parts)
    ]


def in_languages(cases: Sequence[C]) -> list[tuple[str, C]]:
    """Each case in one of LANGUAGES, which all run the same library."""
    return [(name, case) for case in cases for name in turn(case.id, LANGUAGES)]


def every_turn(pairs: Sequence[tuple[str, _Case]]) -> pytest.MarkDecorator:
    """Runs a test of a `language` and a `case` for each of `in_languages`."""
    names = [f"{language}-{case.id}" for language, case in pairs]
    return pytest.mark.parametrize(("language", "case"), pairs, ids=names)
