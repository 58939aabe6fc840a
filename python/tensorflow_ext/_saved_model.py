# SPDX-License-Identifier: Apache-2.0
"""What a SavedModel's signatures, variables and saver are called."""

import os
from collections.abc import Sequence

from tensorflow.python.eager import context

from tensorflow_ext import raw_ops


def describe_saved_model(
    directory: str | os.PathLike[str], tags: str | Sequence[str] = ("serve",)
) -> list[list[str]]:
    """Reads what a client that trains a SavedModel has to name, without loading it.

    The same for clients in other languages are the op `TfExt>DescribeSavedModel` and,
    in C, TfExt_DescribeMetaGraph (saved_model/describe_meta_graph.h), which says more.

    Args:
      directory: A folder with a saved_model.pb or saved_model.pbtxt, as
        `tf.saved_model.save` and `keras.Model.export` write it.
      tags: The tags of the graph to describe, all of them, in any order; or the one
        that it has.

    Returns:
      Rows of one thing each:
      ["signature", NAME, "input" or "output", KEY, TENSOR, TYPE, SHAPE],
      ["signature", NAME, "variable", NODE, TYPE, SHAPE, "trainable" or "fixed" or
      "unknown"], ["saver", "filename" or "save", TENSOR] and
      ["saver", "copy" or "restore", NODE].

    Raises:
      tf.errors.NotFoundError: There is no SavedModel, or no graph with these tags;
        then the message names those there are.
      tf.errors.OpError: The file is no SavedModel, or names in it are wrong.
    """
    listed = [tags] if isinstance(tags, str) else list(tags)
    with context.eager_mode():  # where the caller builds a graph, too
        lines = raw_ops.describe_saved_model(os.fspath(directory), tags=listed)
        return [line.decode().split("\t") for line in lines.numpy().tolist()]
