# SPDX-License-Identifier: Apache-2.0
"""Nodes whose outputs a case feeds, as their ops have no kernel for the CPU."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf
from rows import call


def outputs_are_fed(op: str) -> AbstractContextManager[None]:
    """Nodes of `op` that are added within get the kernel of fed_kernels.cc."""
    graph = tf.compat.v1.get_default_graph()
    return graph._kernel_label_map({op: "fed"})


def fed(op: str, gradient: str | None = None) -> Callable[..., Any]:
    """For `build` of a row: the op as a node "fed", with Python's gradient that is
    registered as `gradient`.
    """

    def build(*inputs: Any, **attributes: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({op: gradient} if gradient else {})
        with override, outputs_are_fed(op):
            return call(op, *inputs, **{"name": "fed", **attributes})

    return build
