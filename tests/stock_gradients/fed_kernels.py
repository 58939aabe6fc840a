# SPDX-License-Identifier: Apache-2.0
"""Nodes whose outputs a case feeds, as their ops have no kernel for the CPU."""

from contextlib import AbstractContextManager

import tensorflow as tf


def outputs_are_fed(op: str) -> AbstractContextManager[None]:
    """Nodes of `op` that are added within get the kernel of fed_kernels.cc."""
    graph = tf.compat.v1.get_default_graph()
    return graph._kernel_label_map({op: "fed"})
