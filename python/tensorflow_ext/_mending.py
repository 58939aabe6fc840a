# SPDX-License-Identifier: Apache-2.0
"""Puts gradients of this library in the place of TensorFlow's Python gradients."""

import threading
from collections.abc import Iterable
from typing import Any

from tensorflow.python.framework import op_def_registry, ops

from tensorflow_ext import _library, _registration

# The ops whose gradient in TensorFlow's Python is wrong, fails or is missing where
# this library's is right: those of docs/known_differences.md, by theme.
_MENDED = {
    "math": "",
}
MENDED = tuple(op for names in _MENDED.values() for op in names.split())

_lock = threading.Lock()
# TensorFlow's entries of Python's registry, by op, of those that are mended.
_originals: dict[str, dict[str, Any]] = {}


def mend(names: Iterable[str] | None) -> list[str]:
    """See tensorflow_ext.gradients.mend."""
    wanted = MENDED if names is None else _checked(names)
    entries = ops.gradient_registry._registry
    with _lock:
        changed = []
        for op in wanted:
            if op in _originals or op not in entries:
                continue
            if _is_own(entries[op]["type"]):
                continue
            _originals[op] = entries[op]
            gradient = _registration.make_gradient(op)
            entries[op] = {**entries[op], "type": gradient}
            changed.append(op)
        return sorted(changed)


def restore(names: Iterable[str] | None) -> list[str]:
    """See tensorflow_ext.gradients.restore."""
    entries = ops.gradient_registry._registry
    with _lock:
        chosen = set(_originals if names is None else _checked(names))
        changed = sorted(chosen & _originals.keys())
        for op in changed:
            entries[op] = _originals.pop(op)
        return changed


def _is_own(gradient: Any) -> bool:
    return getattr(gradient, "__module__", None) == _registration.__name__


def _checked(names: Iterable[str]) -> list[str]:
    """The ops, all of which have a definition that Python can replay."""
    if isinstance(names, str):
        raise TypeError(
            f"ops: expected a list of op types, got the string {names!r}; "
            f"write [{names!r}]"
        )
    bits = _library.Registries
    checked = []
    for name in names:
        if op_def_registry.get(name) is None:
            raise ValueError(
                f"ops: there is no op {name!r}; expected op types, such as 'Cumprod'"
            )
        found = _library.registries(name)
        if bits.FUNCTION_OWN not in found or bits.FUNCTION_RUNTIME_ALONE in found:
            raise ValueError(
                f"ops: this library has no gradient of {name!r} for Python; "
                "tensorflow_ext.gradients.mend() without arguments mends all that "
                "are wrong"
            )
        checked.append(name)
    return checked
