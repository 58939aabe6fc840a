"""Loops of TensorFlow 1, which become While ops."""

from collections.abc import Iterable, Sequence

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2, variable_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from tensorflow_ext._runtime import _library

# Collections in which tf.compat.v1 describes loops and branches; the names in them are gone.
_CONTEXTS = ("cond_context", "while_context")
# Collections of nodes that initialize a model.
_INITIALIZERS = (
    "init_op",
    "legacy_init_op",
    "local_init_op",
    "ready_op",
    "ready_for_local_init_op",
    "saved_model_main_op",
    "table_initializer",
)


def functionalize_graph_def(
    graph_def: graph_pb2.GraphDef, outputs: Sequence[str] | None = None
) -> graph_pb2.GraphDef:
    """Turns the loops of TensorFlow 1 into While ops, which every client differentiates.

    Such loops come from TensorFlow 1, or from `tf.compat.v1` without control flow v2. Python
    differentiates them only in the process that made them, and other clients not at all.
    TensorArrays become lists. The names of nodes outside loops and the values of all tensors stay
    the same (functionalize/functionalize_graph_def.h).

    Args:
      graph_def: A graph; it is not changed.
      outputs: Tensors "node:index" and nodes "node". Only nodes that lead to them are kept; None
        keeps all. Name them for a graph that has gradients from Python.

    Returns:
      The graph without such loops.

    Raises:
      tf.errors.InvalidArgumentError: The graph is invalid, has no such output, or has a loop
        without a condition or an exit.
      tf.errors.UnimplementedError: The outputs need a gradient from Python, or a loop has a form
        that `tf.while_loop` does not make.
    """
    content = _library.functionalize_graph_def(graph_def.SerializeToString(), outputs)
    return graph_pb2.GraphDef.FromString(content)


def loops(
    graph_def: graph_pb2.GraphDef, outputs: Sequence[str] | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Describes what `functionalize_graph_def` does with these arguments.

    Returns:
      The rows ["loop", FUNCTION, NAME] of the loops of TensorFlow 1, and ["removed", "", NODE] of
      the nodes that are left out.
    """

    def names(nodes: Iterable[node_def_pb2.NodeDef]) -> list[str]:
        entries = [node for node in nodes if node.op in ("Enter", "RefEnter")]
        return sorted({node.attr["frame_name"].s.decode() for node in entries})

    removed = [] if outputs is None else _not_leading_to(graph_def, outputs)
    gone = set(removed)
    rows = [["loop", "", name] for name in names(n for n in graph_def.node if n.name not in gone)]
    for function in graph_def.library.function:
        rows += [["loop", function.signature.name, name] for name in names(function.node_def)]
    return rows, [["removed", "", name] for name in removed]


def functionalize_meta_graph(meta_graph: meta_graph_pb2.MetaGraphDef) -> list[list[str]]:
    """Turns the loops of a model's graph into While ops.

    Returns:
      The rows of `loops`. Nodes are left out only if the graph has gradients from Python.
    """
    before = meta_graph.graph_def
    rows, removed = loops(before)
    if not rows:
        return []
    needed = sorted(_needed(meta_graph))
    try:
        after = functionalize_graph_def(before)
    except tf.errors.UnimplementedError:
        if not any(node.op.startswith("TensorArrayGrad") for node in before.node):
            raise
        rows, removed = loops(before, needed)
        after = functionalize_graph_def(before, needed)
    names = {node.name for node in after.node}
    missing = [name for name in needed if name.split(":")[0] not in names]
    if missing:
        raise tf.errors.UnimplementedError(
            None, None, f"tensor '{missing[0]}' of a signature is in a loop of TensorFlow 1"
        )
    if any(not function for _, function, _ in rows + removed):
        _clean_collections(meta_graph, names)
    before.CopyFrom(after)
    return rows + removed


def _not_leading_to(graph_def: graph_pb2.GraphDef, ends: Iterable[str]) -> list[str]:
    """The nodes that no tensor or node of `ends` needs."""
    inputs = {node.name: node.input for node in graph_def.node}
    left = [end.split(":")[0] for end in ends]
    needed = set()
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += [value.lstrip("^").split(":")[0] for value in inputs[name]]
    return [node.name for node in graph_def.node if node.name not in needed]


def _needed(meta_graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
    """The tensors and nodes that loading and running a model uses."""
    nodes = {node.name for node in meta_graph.graph_def.node}
    found = {
        meta_graph.saver_def.filename_tensor_name,
        meta_graph.saver_def.save_tensor_name,
        meta_graph.saver_def.restore_op_name,
    }
    infos = [asset.tensor_info for asset in meta_graph.asset_file_def]
    for signature in meta_graph.signature_def.values():
        infos += [*signature.inputs.values(), *signature.outputs.values()]
    for info in infos:
        found |= _tensors(info)
    for name, collection in meta_graph.collection_def.items():
        if name in _INITIALIZERS:
            found.update(collection.node_list.value)
        elif name.endswith("variables"):
            for content in collection.bytes_list.value:
                variable = variable_pb2.VariableDef.FromString(content)
                found |= {
                    variable.variable_name,
                    variable.initializer_name,
                    variable.initial_value_name,
                    variable.snapshot_name,
                }
    return {name for name in found if name.split(":")[0] in nodes}


def _tensors(info: meta_graph_pb2.TensorInfo) -> set[str]:
    sparse = info.coo_sparse
    found = {info.name, sparse.values_tensor_name, sparse.indices_tensor_name}
    found.add(sparse.dense_shape_tensor_name)
    for component in info.composite_tensor.components:
        found |= _tensors(component)
    return found


def _clean_collections(meta_graph: meta_graph_pb2.MetaGraphDef, names: set[str]) -> None:
    """Drops what names nodes that are gone."""
    for name in _CONTEXTS:
        meta_graph.collection_def.pop(name, None)
    for name, collection in list(meta_graph.collection_def.items()):
        old = list(collection.node_list.value)
        kept = [value for value in old if value.split(":")[0].lstrip("^") in names]
        if kept == old:
            continue
        if kept:
            collection.node_list.value[:] = kept
        else:
            del meta_graph.collection_def[name]
