"""SavedModels: the names of their parts, and what clients need to differentiate them."""

import argparse
import os
import pathlib
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.eager import context

from tensorflow_ext import _functionalize, raw_ops
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
    """Makes a SavedModel ready for every client.

    It writes into the model which gradients its nodes have (`tf.custom_gradient`), so that clients
    in C, C++, Go, Rust and Java need no call to use these. It turns loops of TensorFlow 1 into
    While ops, which have a gradient (`functionalize_graph_def`). TensorFlow reads the model as
    before, and its signatures give the same values.

    Args:
      directory: A folder with a saved_model.pb.
      out: A folder that does not exist, for a copy of the model. By default the model itself
        is changed.

    Returns:
      Rows of all graphs of the model: ["gradient", FUNCTION, NODE, NAME, "present" or "missing"] of
      `describe_saved_model`; a gradient that the model lacks stays an error for clients.
      ["loop", FUNCTION, NAME] for each loop that became a While; FUNCTION is empty for the graph
      itself. ["removed", "", NODE] for each node that is gone, because only gradients that Python
      added to the graph needed it.

    Raises:
      tf.errors.NotFoundError: There is no saved_model.pb.
      tf.errors.AlreadyExistsError: `out` exists.
      tf.errors.InvalidArgumentError: The file is not a SavedModel.
      tf.errors.UnimplementedError: A loop has a form that `tf.while_loop` does not make.
    """
    folder = pathlib.Path(directory)
    model = _read(folder / "saved_model.pb")
    rows = []
    for meta_graph in model.meta_graphs:
        rows += _functionalize.functionalize_meta_graph(meta_graph)
        content = meta_graph.SerializeToString()
        rows += [row for row in _library.describe_meta_graph(content) if row[0] == "gradient"]
        records = graph_pb2.GraphDef.FromString(_library.model_gradients(content)).library
        names = {function.signature.name for function in records.function}
        library = meta_graph.graph_def.library
        kept = [function for function in library.function if function.signature.name not in names]
        del library.function[:]
        library.function.extend([*kept, *records.function])
    if out is not None:
        _check_new(out)
        shutil.copytree(folder, out)
        folder = pathlib.Path(out)
    _write(folder / "saved_model.pb", model.SerializeToString(deterministic=True))
    return rows


def _prepare_graph_def(
    path: pathlib.Path, out: str | None, outputs: Sequence[str] | None
) -> list[list[str]]:
    """The same for a file with a GraphDef, such as a frozen graph: its loops."""
    graph_def = _parsed(path, graph_pb2.GraphDef)
    if not graph_def.node:
        raise tf.errors.InvalidArgumentError(
            None, None, f"{path} is not a GraphDef with nodes; for a SavedModel, give its folder"
        )
    if out is not None:
        _check_new(out)
    functional = _functionalize.functionalize_graph_def(graph_def, outputs)
    target = path if out is None else pathlib.Path(out)
    _write(target, functional.SerializeToString(deterministic=True))
    rows, removed = _functionalize.loops(graph_def, outputs)
    return rows + removed


def _write(path: pathlib.Path, content: bytes) -> None:
    written = path.with_name(path.name + ".new")
    written.write_bytes(content)
    written.replace(path)


def _read(path: pathlib.Path) -> saved_model_pb2.SavedModel:
    if not path.is_file():
        raise tf.errors.NotFoundError(None, None, f"{path} is not there: expected a SavedModel")
    return _parsed(path, saved_model_pb2.SavedModel)


def _parsed(path: pathlib.Path, message: Any) -> Any:
    """The file as a message of this type."""
    try:
        return message.FromString(path.read_bytes())
    except Exception as error:  # Protobuf's DecodeError, whose module differs between versions
        raise tf.errors.InvalidArgumentError(
            None, None, f"{path} is not a {message.__name__}: {error}"
        ) from error


def _check_new(out: str | os.PathLike[str]) -> None:
    if os.path.lexists(out):
        raise tf.errors.AlreadyExistsError(None, None, f"{os.fspath(out)} exists already")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a folder with a saved_model.pb, or a file with a GraphDef (a frozen graph)",
    )
    parser.add_argument(
        "--out", metavar="PATH", help="a new folder or file; by default MODEL is changed"
    )
    parser.add_argument(
        "--outputs",
        metavar="NODE:INDEX",
        nargs="+",
        help="tensors of a GraphDef; only nodes that lead to them are kept",
    )


def run(arguments: argparse.Namespace) -> None:
    """The command `python -m tensorflow_ext prepare`."""
    path = pathlib.Path(arguments.model)
    if path.is_file():
        rows = _prepare_graph_def(path, arguments.out, arguments.outputs)
    elif arguments.outputs:
        raise tf.errors.InvalidArgumentError(
            None, None, f"--outputs is for a file with a GraphDef; {path} is none"
        )
    else:
        rows = prepare_saved_model(path, arguments.out)
        found = [row for row in rows if row[0] == "gradient"]
        ready = sum(row[-1] == "present" for row in found)
        print(f"gradients of the model that are ready for every client: {ready}")
        _print_missing(found)
    loops = sum(row[0] == "loop" for row in rows)
    removed = [row[-1] for row in rows if row[0] == "removed"]
    if loops or path.is_file():
        print(f"loops of TensorFlow 1 that became While ops: {loops}")
    if removed:
        print(f"nodes removed, because no output needs them: {len(removed)}")


def _print_missing(rows: list[list[str]]) -> None:
    for _, function, node, name, there in rows:
        if there == "present":
            continue
        place = f"function {function}" if function else "the graph"
        print(
            f"node {node} of {place} names the gradient {name}, which the model does not have; "
            "save it again with experimental_custom_gradients=True, which is the default",
            file=sys.stderr,
        )
