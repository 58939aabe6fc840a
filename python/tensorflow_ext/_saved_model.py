# SPDX-License-Identifier: Apache-2.0
"""SavedModels: the names of their parts, and the gradients that they bring."""

import argparse
import os
import pathlib
import shutil
import sys
from collections.abc import Sequence

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.eager import context

from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library


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
      "unknown"], ["saver", "filename" or "save", TENSOR],
      ["saver", "copy" or "restore", NODE] and
      ["gradient", FUNCTION, NODE, NAME, "present" or "missing"].

    Raises:
      tf.errors.NotFoundError: There is no SavedModel, or no graph with these tags. The
        message names the existing tags.
      tf.errors.OpError: The file is not a SavedModel, or names in it are wrong.
    """
    listed = [tags] if isinstance(tags, str) else list(tags)
    with context.eager_mode():  # even if the caller builds a graph
        lines = raw_ops.describe_saved_model(os.fspath(directory), tags=listed)
        return [line.decode().split("\t") for line in lines.numpy().tolist()]


def prepare_saved_model(
    directory: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> list[list[str]]:
    """Writes into a SavedModel which gradients its nodes have (`tf.custom_gradient`).

    Clients in C, C++, Go, Rust and Java that load the result need no call to use these
    gradients. TensorFlow reads the model as before.

    Args:
      directory: A folder with a saved_model.pb.
      out: A folder that does not exist, for a copy of the model. By default the model itself
        is changed.

    Returns:
      The rows ["gradient", FUNCTION, NODE, NAME, "present" or "missing"] of
      `describe_saved_model`, of all graphs of the model. A gradient that the model lacks stays
      an error for clients.

    Raises:
      tf.errors.NotFoundError: There is no saved_model.pb.
      tf.errors.AlreadyExistsError: `out` exists.
      tf.errors.InvalidArgumentError: The file is not a SavedModel.
    """
    folder = pathlib.Path(directory)
    model = _read(folder / "saved_model.pb")
    rows = []
    for meta_graph in model.meta_graphs:
        content = meta_graph.SerializeToString()
        rows += [row for row in _library.describe_meta_graph(content) if row[0] == "gradient"]
        records = graph_pb2.GraphDef.FromString(_library.model_gradients(content)).library
        names = {function.signature.name for function in records.function}
        library = meta_graph.graph_def.library
        kept = [function for function in library.function if function.signature.name not in names]
        del library.function[:]
        library.function.extend([*kept, *records.function])
    if out is not None:
        if os.path.lexists(out):
            raise tf.errors.AlreadyExistsError(None, None, f"{os.fspath(out)} exists already")
        shutil.copytree(folder, out)
        folder = pathlib.Path(out)
    written = folder / "saved_model.pb.new"
    written.write_bytes(model.SerializeToString(deterministic=True))
    written.replace(folder / "saved_model.pb")
    return rows


def _read(path: pathlib.Path) -> saved_model_pb2.SavedModel:
    if not path.is_file():
        raise tf.errors.NotFoundError(None, None, f"{path} is not there: expected a SavedModel")
    model = saved_model_pb2.SavedModel()
    try:
        model.ParseFromString(path.read_bytes())
    except Exception as error:  # Protobuf's DecodeError, whose module differs between versions
        raise tf.errors.InvalidArgumentError(
            None, None, f"{path} is not a SavedModel: {error}"
        ) from error
    return model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a folder with a saved_model.pb")
    parser.add_argument(
        "--out", metavar="DIR", help="a new folder for a copy; by default MODEL is changed"
    )


def run(arguments: argparse.Namespace) -> None:
    """The command `python -m tensorflow_ext prepare`."""
    rows = prepare_saved_model(arguments.model, arguments.out)
    missing = [row for row in rows if row[-1] == "missing"]
    print(f"gradients of the model that are ready for every client: {len(rows) - len(missing)}")
    for _, function, node, name, _ in missing:
        place = f"function {function}" if function else "the graph"
        print(
            f"node {node} of {place} names the gradient {name}, which the model does not have; "
            "save it again with experimental_custom_gradients=True, which is the default",
            file=sys.stderr,
        )
