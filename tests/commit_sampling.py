"""The checks that a commit runs, because all of them take too long for every change.

The choice depends on a name, so it is the same in every run; most choices also depend on the
commit. `./run test` says which commit it is (COMMIT) and what this and the commits of three hours
before it change (CHANGED): files, and ops that they name. With --cached, the choice stays. With
`--test_env=EVERY_CASE=1`, as in the release check, nothing is skipped.
"""

import os
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Test = Callable[..., None]


def turn(name: str, of: Sequence[T]) -> tuple[T, ...]:
    """The one of `of` that this case runs; all of them with EVERY_CASE=1."""
    if not of or os.environ.get("EVERY_CASE") == "1":
        return tuple(of)
    return (of[zlib.crc32(name.encode()) % len(of)],)


def is_turn(name: str, one_in: int) -> bool:
    """True for about one case in that many; always with EVERY_CASE=1."""
    return 0 in turn(name, range(one_in))


def is_changed(*parts: str) -> bool:
    """True if something changed in a file whose path contains one of `parts`."""
    changed = os.environ.get("CHANGED", "").split()
    return any(part in path for path in changed for part in parts)


def is_named(op: str) -> bool:
    """True if a changed gradient or table of cases names this op."""
    return op in os.environ.get("CHANGED", "").split()


def turn_of_commit(name: str, of: Sequence[T], *parts: str) -> tuple[T, ...]:
    """As `turn`, but each commit chooses another; all of them if `is_changed(*parts)`."""
    return tuple(of) if is_changed(*parts) else turn(name + os.environ.get("COMMIT", ""), of)


def is_turn_of_commit(name: str, one_in: int, *parts: str) -> bool:
    """True in one commit of about that many, and if `is_changed(*parts)`."""
    return 0 in turn_of_commit(name, range(one_in), *parts)


def of_commit(name: str, of: Sequence[T], number: int = 1) -> list[T]:
    """So many of these, others in each commit; all of them with EVERY_CASE=1."""
    firsts = turn_of_commit(name, range(len(of)))
    if len(firsts) != 1:
        return [*of]
    return [*of[firsts[0] :], *of[: firsts[0]]][:number]


def by_turns(one_in: int, *parts: str) -> Callable[[Test], Test | None]:
    """Decorates a test that runs if `is_turn_of_commit`."""
    return lambda test: test if is_turn_of_commit(test.__name__, one_in, *parts) else None


def share_of_commit(name: str, of: Sequence[T], one_in: int, *parts: str) -> list[T]:
    """One of that many shares; all of them if `is_changed(*parts)`."""
    shares = turn_of_commit(name, range(one_in), *parts)
    return [x for first in shares for x in of[first::one_in]]
