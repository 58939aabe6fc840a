# SPDX-License-Identifier: Apache-2.0
"""The names of a SavedModel's signatures, variables and saver."""

import os
from collections.abc import Sequence

from tensorflow.python.eager import context

from tensorflow_ext import raw_ops


def describe_saved_model(
    directory: str | os.PathLike[str], tags: str | Sequence[str] = ("serve",)
) -> list[list[str]]:
    """Reads the names that a client needs to train a SavedModel, without loading it.

    Clients in other languages use the op `TfExt>DescribeSavedModel` or, in C,
    TfExt_DescribeMetaGraph (saved_model/describe_meta_graph.h), which says more.

    Args:
      directory: A folder with a saved_model.pb or saved_model.pbtxt, as
        `tf.saved_model.save` and `keras.Model.export` write it.
      tags: All tags of the graph to describe, in any order; or its only tag.

    Returns:
      Rows that describe one item each:
      ["signature", NAME, "input" or "output", KEY, TENSOR, TYPE, SHAPE],
      ["signature", NAME, "variable", NODE, TYPE, SHAPE, "trainable" or "fixed" or
      "unknown"], ["saver", "filename" or "save", TENSOR] and
      ["saver", "copy" or "restore", NODE].

    Raises:
      tf.errors.NotFoundError: There is no SavedModel, or no graph with these tags. The
        message names the existing tags.
      tf.errors.OpError: The file is not a SavedModel, or names in it are wrong.
    """
    listed = [tags] if isinstance(tags, str) else list(tags)
    with context.eager_mode():  # even if the caller builds a graph
        lines = raw_ops.describe_saved_model(os.fspath(directory), tags=listed)
        return [line.decode().split("\t") for line in lines.numpy().tolist()]
