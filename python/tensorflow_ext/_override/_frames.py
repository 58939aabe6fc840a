# SPDX-License-Identifier: Apache-2.0
"""Which gradients are replaced at the moment, in this thread or task of asyncio."""

import contextvars
import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

# Gives an op that has run its gradient: takes the op's attributes (names and values
# alternating), outputs and inputs, returns the outputs that take the others' place.
Attach = Callable[[tuple[Any, ...], Any, Any], list[Any]]


class Frame(NamedTuple):
    """What is replaced in a block."""

    attach: Mapping[str, Attach]
    # Says to a tf.function for which replacements it was traced.
    key: Hashable
    outer: "Frame | None"
    owner: object


NOTHING = Frame({}, None, None, None)

current: contextvars.ContextVar[Frame] = contextvars.ContextVar(
    "override_gradient", default=NOTHING
)


def without(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for whose ops nothing is replaced.

    A gradient's own ops keep their gradients: second derivatives, and forward mode,
    which transposes gradients, are the same whether asked for in the block or after it.
    """

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        frame = current.get()
        if not frame.attach:
            return function(*arguments, **keywords)
        current.set(NOTHING._replace(outer=frame))
        try:
            return function(*arguments, **keywords)
        finally:
            current.set(frame)

    return run
