"""Steps of an optimizer in a graph of a client, and the same steps of Keras."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import raw_ops

v1 = tf.compat.v1
Arrays = list[np.ndarray]
# A key in a checkpoint is a name and this.
KEY = "/.ATTRIBUTES/VARIABLE_VALUE"


def values_of(optimizer: Any) -> dict[str, np.ndarray]:
    """The optimizer's part of a checkpoint of Python, without the variables that it trains."""
    name = re.sub(r"_\d+$", "", optimizer.name)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(**{name: optimizer}).write(f"{folder}/saved")
        reader = tf.train.load_checkpoint(path)
        return {
            key.removesuffix(KEY): reader.get_tensor(key)
            for key in reader.get_variable_to_shape_map()
            if key.endswith(KEY) and "/_trainable_variables/" not in key
        }


def keras_steps(
    optimizer: Any, initial: Mapping[str, np.ndarray], gradients: Sequence[Arrays]
) -> Iterator[tuple[Arrays, dict[str, np.ndarray]]]:
    """The variables and the optimizer's own after each step."""
    variables = []
    for path, value in initial.items():
        scope, name = path.split("/")
        with keras.name_scope(scope):
            variables.append(keras.Variable(value, dtype=value.dtype.name, name=name))
    for step in gradients:
        optimizer.apply([tf.constant(g) for g in step], variables)
        yield [v.numpy() for v in variables], values_of(optimizer)


def our_steps(
    optimizer: str, initial: Mapping[str, np.ndarray], gradients: Sequence[Arrays]
) -> Iterator[tuple[Arrays, dict[str, np.ndarray]]]:
    """The same in a session, by the op TfExt>ApplyGradients."""
    with tf.Graph().as_default() as graph:
        handles = []
        assigns = []
        for name, value in initial.items():
            handles.append(
                tf.raw_ops.VarHandleOp(
                    dtype=value.dtype, shape=value.shape, shared_name=name, name=name
                )
            )
            assigns.append(tf.raw_ops.AssignVariableOp(resource=handles[-1], value=value))
        reads = [
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=value.dtype)
            for handle, value in zip(handles, initial.values(), strict=True)
        ]
        if '"LossScaleOptimizer"' in optimizer:
            tf.raw_ops.VarHandleOp(
                dtype=tf.float32,
                shape=[],
                shared_name="scale",
                name="loss_scale_optimizer/dynamic_scale",
            )
        fed = [v1.placeholder(value.dtype, value.shape) for value in initial.values()]
        serialized = graph.as_graph_def().SerializeToString()
    nodes, step, initialize, state, names, _ = (
        output.numpy()
        for output in raw_ops.apply_gradients(
            serialized, [g.name for g in fed], [h.name for h in handles], optimizer=optimizer
        )
    )
    whole = graph_pb2.GraphDef.FromString(serialized + nodes)
    types = {node.name: node.attr["dtype"].type for node in whole.node}
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(whole, name="")
        states = [
            tf.raw_ops.ReadVariableOp(
                resource=graph.get_tensor_by_name(handle.decode()),
                dtype=types[handle.decode().split(":")[0]],
            )
            for handle in state
        ]
        session.run([assign.name for assign in assigns] + [initialize.decode()])
        for step_gradients in gradients:
            session.run(
                step.decode(), {g.name: v for g, v in zip(fed, step_gradients, strict=True)}
            )
            yield (
                session.run([read.name for read in reads]),
                dict(zip([n.decode() for n in names], session.run(states), strict=True)),
            )


def serialized(optimizer: Any, **keys: Any) -> str:
    """The text that describes an optimizer of Keras, with more keys in its config."""
    found = keras.optimizers.serialize(optimizer)
    found["config"].update(keys)
    return json.dumps(found)
