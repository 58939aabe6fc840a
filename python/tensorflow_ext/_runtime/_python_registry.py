"""This library's entries in Python's registry of gradients, which give way to the user's.

TensorFlow refuses a second gradient of an op. An entry of this library is there because nobody else
has a gradient of the op, so a user who registers one later replaces it. A second gradient by the
user is TensorFlow's KeyError again.
"""

from collections.abc import Callable
from typing import Any

from tensorflow.python.framework import ops, registry

# A gradient for Python's registry; None declares that there is none.
Gradient = Callable[..., Any] | None

# This library's gradients in Python's registry, by op.
_own: dict[str, Gradient] = {}
# The ops whose gradient the user registered in place of this library's.
_of_user: set[str] = set()


class _GivingWay(registry.Registry):
    """Python's registry of gradients, where `register` replaces gradients of this library."""

    __slots__ = ()

    def register(self, candidate: Any, name: str | None = None) -> None:
        """See registry.Registry.register."""
        if not name or not is_own(name):
            super().register(candidate, name)
            return
        # Other threads look the op up meanwhile, so it is never without an entry.
        alone = registry.Registry(self._name)
        alone.register(candidate, name)
        _of_user.add(name)
        self._registry[name] = alone._registry[name]


def has_gradient(op: str) -> bool:
    """True if Python has a gradient of this op, or the declaration that there is none."""
    return op in ops.gradient_registry.list()


def add(op: str, gradient: Gradient) -> None:
    """Registers this library's gradient of an op that has none."""
    ops.gradient_registry.register(gradient, op)
    _own[op] = gradient
    if type(ops.gradient_registry) is registry.Registry:
        # Other modules hold this object, so it stays and only its class changes.
        ops.gradient_registry.__class__ = _GivingWay


def replace(op: str, gradient: Gradient) -> None:
    """Replaces an op's gradient, which stays this library's if it was."""
    entries = ops.gradient_registry._registry
    was_own = is_own(op)
    entries[op] = {**entries[op], "type": gradient}
    if was_own:
        _own[op] = gradient


def is_own(op: str) -> bool:
    """True if the gradient of this op in Python is this library's and no one else had one."""
    entry = ops.gradient_registry._registry.get(op)
    return entry is not None and op in _own and entry["type"] is _own[op]


def is_tensorflows(op: str) -> bool:
    """True if TensorFlow registered the op's gradient, or that there is none."""
    gradient = ops.gradient_registry.lookup(op)
    return gradient is None or gradient.__module__.startswith("tensorflow.")


def may_replace(op: str) -> bool:
    """True if the op has a gradient that the user did not register in place of this library's."""
    return has_gradient(op) and op not in _of_user
