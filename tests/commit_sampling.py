"""The checks that a commit runs, because all of them take too long for every change.

The choice depends on a name, so it is the same in every run; most choices also depend on the
commit. `./run test` says which commit it is (COMMIT) and which files it changes (CHANGED); with
--cached, the choice stays. With `--test_env=EVERY_CASE=1`, as in the release check, nothing is
skipped.
"""

import os
import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def turn(name: str, of: Sequence[T]) -> tuple[T, ...]:
    """The one of `of` that this case runs; all of them with EVERY_CASE=1."""
    if not of or os.environ.get("EVERY_CASE") == "1":
        return tuple(of)
    return (of[zlib.crc32(name.encode()) % len(of)],)


def is_turn(name: str, one_in: int) -> bool:
    """True for about one case in that many; always with EVERY_CASE=1."""
    return 0 in turn(name, range(one_in))


def turn_of_commit(name: str, of: Sequence[T]) -> tuple[T, ...]:
    """As `turn`, but each commit chooses another."""
    return turn(name + os.environ.get("COMMIT", ""), of)


def is_turn_of_commit(name: str, one_in: int) -> bool:
    """As `is_turn`, but each commit chooses others."""
    return 0 in turn_of_commit(name, range(one_in))


def is_changed(*parts: str) -> bool:
    """True if the commit, or a change since, is in a file whose path contains one of `parts`."""
    changed = os.environ.get("CHANGED", "").split()
    return any(part in path for path in changed for part in parts)


def share_of_commit(name: str, of: Sequence[T], one_in: int, *files: str) -> list[T]:
    """One of so many shares; all of them if `files` are changed (see is_changed)."""
    if is_changed(*files):
        return [*of]
    return [x for first in turn_of_commit(name, range(one_in)) for x in of[first::one_in]]
