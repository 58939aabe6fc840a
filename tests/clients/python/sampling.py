"""Sampling, because all combinations for each case take too long for every change.

The choice depends on the case's name, so it is the same in every run; that of second orders also
depends on the commit. With `--test_env=EVERY_CASE=1`, as in the release check, nothing is skipped.
"""

import os
import zlib
from collections.abc import Sequence
from typing import Protocol, TypeVar

import pytest
from protocol import PROGRAMS

# Besides C, which runs every case, and C++, which has the same registry.
LANGUAGES = tuple(language for language in PROGRAMS if language not in ("C", "C++"))


class _Case(Protocol):
    @property
    def id(self) -> str: ...


class _CaseOfOp(_Case, Protocol):
    op: str


T = TypeVar("T")
C = TypeVar("C", bound=_Case)
P = TypeVar("P", bound=_CaseOfOp)


def turn(name: str, of: Sequence[T]) -> tuple[T, ...]:
    """The one of `of` that this case runs; all of them with EVERY_CASE=1."""
    if not of or os.environ.get("EVERY_CASE") == "1":
        return tuple(of)
    return (of[zlib.crc32(name.encode()) % len(of)],)


def is_turn(name: str, one_in: int) -> bool:
    """True for about one case in that many; always with EVERY_CASE=1."""
    return 0 in turn(name, range(one_in))


def is_turn_of_commit(name: str, one_in: int) -> bool:
    """The same, but each commit chooses others. `./run test` says which commit it is (COMMIT); with
    --cached the choice stays."""
    return is_turn(name + os.environ.get("COMMIT", ""), one_in)


def of_commit(name: str, of: Sequence[T], number: int = 1) -> list[T]:
    """So many of these, others in each commit; all of them with EVERY_CASE=1."""
    if not of or os.environ.get("EVERY_CASE") == "1":
        return [*of]
    (first,) = turn(name + os.environ.get("COMMIT", ""), range(len(of)))
    return [*of[first:], *of[:first]][:number]


def of_every_op(cases: Sequence[P], one_in: int) -> list[P]:
    """The first case of each op, and the chosen ones of the others."""
    firsts = {case.op: case.id for case in reversed(cases)}
    return [c for c in cases if firsts[c.op] == c.id or is_turn(c.id, one_in)]


def in_languages(cases: Sequence[C]) -> list[tuple[str, C]]:
    """Each case in one of LANGUAGES, which all run the same library."""
    return [(name, case) for case in cases for name in turn(case.id, LANGUAGES)]


def every_turn(pairs: Sequence[tuple[str, _Case]]) -> pytest.MarkDecorator:
    """Runs a test of a `language` and a `case` for each of `in_languages`."""
    names = [f"{language}-{case.id}" for language, case in pairs]
    return pytest.mark.parametrize(("language", "case"), pairs, ids=names)
