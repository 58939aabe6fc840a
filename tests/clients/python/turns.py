# SPDX-License-Identifier: Apache-2.0
"""Takes turns, where all that a case could be run with takes too long for every change.

Which is a case's turn follows from its name: it is the same in every run. With
`--test_env=EVERY_CASE=1`, as the release check has it, nothing is left out.
"""

import os
import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def turn(name: str, of: Sequence[T]) -> tuple[T, ...]:
    """The one of `of` that is this case's turn; all of them with EVERY_CASE=1."""
    if not of or os.environ.get("EVERY_CASE") == "1":
        return tuple(of)
    return (of[zlib.crc32(name.encode()) % len(of)],)
