"""The gradients that are currently replaced, in this thread or asyncio task."""

import contextvars
import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

# Attaches the gradient to an op that has run. It takes the op's attributes (names and
# values alternating), outputs and inputs, and returns the outputs to use instead.
Attach = Callable[[tuple[Any, ...], Any, Any], list[Any]]


class Frame(NamedTuple):
    """The replacements of a block."""

    attach: Mapping[str, Attach]
    # Tells tf.function which replacements a trace is for.
    key: Hashable
    outer: "Frame | None"
    owner: object


NOTHING = Frame({}, None, None, None)

current: contextvars.ContextVar[Frame] = contextvars.ContextVar(
    "override_gradient", default=NOTHING
)


def without(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that its ops keep their own gradients.

    The ops of a gradient keep their gradients. Second derivatives, and forward mode,
    which transposes gradients, are thus the same in the block and after it.
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
