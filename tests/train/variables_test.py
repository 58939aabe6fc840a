"""TfExt_NewVariable: the initial values of Keras. TfExt_AddSaver: checkpoints that Python reads."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi
from graphs import client_error, graph_of
from steps import KEY
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
initializers = keras.initializers

INITIALIZERS: dict[str, Callable[[], Any]] = {
    "zeros": initializers.Zeros,
    "ones": initializers.Ones,
    "constant": lambda: initializers.Constant(2.5),
    "random normal": lambda: initializers.RandomNormal(mean=1.0, stddev=2.0, seed=3),
    "random uniform": lambda: initializers.RandomUniform(minval=-2.0, maxval=1.0, seed=4),
    "truncated normal": lambda: initializers.TruncatedNormal(mean=1.0, stddev=2.0, seed=5),
    "glorot uniform": lambda: initializers.GlorotUniform(seed=6),
    "glorot normal": lambda: initializers.GlorotNormal(seed=7),
    "he uniform": lambda: initializers.HeUniform(seed=8),
    "he normal": lambda: initializers.HeNormal(seed=9),
    "lecun uniform": lambda: initializers.LecunUniform(seed=10),
    "lecun normal": lambda: initializers.LecunNormal(seed=-11),
    "variance scaling": lambda: initializers.VarianceScaling(
        3.0, mode="fan_out", distribution="untruncated_normal", seed=12
    ),
    "he uniform by axes": lambda: initializers.HeUniform(seed=14, input_axes=[0], output_axes=[-1]),
    "orthogonal": lambda: initializers.Orthogonal(gain=2.0, seed=13),
    "identity": lambda: initializers.Identity(gain=2.0),
}

LEAST_RANKS = {"orthogonal": 2, "he uniform by axes": 1}


def empty_graph() -> Graph:
    return graph_of(lambda: tf.constant(0.0))


def read_by_saver(graph: Graph, handles: list[str], folder: pathlib.Path) -> dict[str, Any]:
    """The values of variables, by a checkpoint."""
    saver = API.add_saver(graph, handles)
    graph.run([], {saver.prefix: np.array(str(folder / "saved"), object)}, targets=[saver.save])
    reader = tf.train.load_checkpoint(str(folder / "saved"))
    return {handle[:-2]: reader.get_tensor(handle[:-2] + KEY) for handle in handles}


def _serialized(initializer: Any) -> str:
    found = initializers.serialize(initializer)
    if isinstance(initializer, initializers.Identity):
        found["config"]["gain"] = initializer.gain  # Keras forgets it.
    return json.dumps(found)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 2, 3, 4), (6,), ()])
def test_initial_values_equal_those_of_keras(
    shape: tuple[int, ...], tmp_path: pathlib.Path
) -> None:
    made = {
        name: make()
        for name, make in INITIALIZERS.items()
        if len(shape) >= LEAST_RANKS.get(name, 0) and (name != "identity" or len(shape) == 2)
    }
    graph = empty_graph()
    handles, targets = [], []
    for name, initializer in made.items():
        for dtype in (tf.float32, tf.float64):
            handle, node = API.new_variable(
                graph,
                f"{name.replace(' ', '_')}/{dtype.name}",
                dtype.as_datatype_enum,
                shape,
                _serialized(initializer),
            )
            handles.append(handle)
            targets.append(node)
    graph.run([], {}, targets=targets)
    found = read_by_saver(graph, handles, tmp_path)
    for name, initializer in made.items():
        for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-14)):
            np.testing.assert_allclose(
                found[f"{name.replace(' ', '_')}/{dtype}"],
                initializer(shape, dtype=dtype),
                rtol=tolerance,
                atol=tolerance,
                err_msg=name,
            )


def test_draws_without_a_seed_differ(tmp_path: pathlib.Path) -> None:
    graph = empty_graph()
    made = [
        API.new_variable(graph, name, tf.float32.as_datatype_enum, (9,), "glorot_uniform")
        for name in ("a", "b")
    ]
    graph.run([], {}, targets=[node for _, node in made])
    a, b = read_by_saver(graph, [handle for handle, _ in made], tmp_path).values()
    assert not np.array_equal(a, b)


def variables_graph(dtypes: dict[str, Any]) -> Graph:
    def build() -> None:
        for name, value in dtypes.items():
            handle = tf.raw_ops.VarHandleOp(
                dtype=value.dtype, shape=value.shape, shared_name=name, name=name
            )
            tf.raw_ops.AssignVariableOp(resource=handle, value=value, name=f"{name}_assign")
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=value.dtype, name=f"{name}_read")

    return graph_of(build)


VALUES = {
    "dense/kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
    "dense/bias": np.arange(3, dtype=np.float64),
    "step": np.array(7, np.int64),
    "with.dots": np.array(8, np.int64),
}


def test_python_reads_a_checkpoint_and_writes_one_back(tmp_path: pathlib.Path) -> None:
    graph = variables_graph(VALUES)
    saver = API.add_saver(graph, [f"{name}:0" for name in VALUES])
    graph.run([], {}, targets=[f"{name}_assign" for name in VALUES])
    prefix = np.array(str(tmp_path / "first"), object)
    graph.run([], {saver.prefix: prefix}, targets=[saver.save])
    variables = [tf.Variable(tf.zeros_like(value)) for value in VALUES.values()]
    kernel, bias, step, dotted = variables
    dense = tf.train.Checkpoint(kernel=kernel, bias=bias)
    checkpoint = tf.train.Checkpoint(dense=dense, step=step, **{"with.dots": dotted})
    checkpoint.read(str(tmp_path / "first")).assert_consumed()
    for variable, value in zip(variables, VALUES.values(), strict=True):
        np.testing.assert_array_equal(variable, value)
    kernel.assign(-kernel)
    path = checkpoint.write(str(tmp_path / "second"))
    graph.run([], {saver.prefix: np.array(path, object)}, targets=[saver.restore])
    (found,) = graph.run(["dense/kernel_read:0"], {})
    np.testing.assert_array_equal(found, -VALUES["dense/kernel"])
    graph.run([], {saver.prefix: prefix}, targets=[saver.restore])
    (found,) = graph.run(["dense/kernel_read:0"], {})
    np.testing.assert_array_equal(found, VALUES["dense/kernel"])


def test_a_file_that_does_not_fit_is_an_error(tmp_path: pathlib.Path) -> None:
    graph = variables_graph(VALUES)
    graph.run([], {}, targets=[f"{name}_assign" for name in VALUES])
    saver = API.add_saver(graph, ["dense/kernel:0"])
    prefix = {saver.prefix: np.array(str(tmp_path / "first"), object)}
    with client_error(tf.errors.NOT_FOUND, "Unsuccessful TensorSliceReader|Failed to find any"):
        graph.run([], prefix, targets=[saver.restore])
    graph.run([], prefix, targets=[saver.save])
    other = API.add_saver(graph, ["dense/bias:0"])
    with client_error(tf.errors.NOT_FOUND, "Key dense/bias/.* not found in checkpoint"):
        graph.run([], {other.prefix: prefix[saver.prefix]}, targets=[other.restore])
    small = variables_graph({"dense/kernel": np.zeros([2, 2], np.float32)})
    wrong = API.add_saver(small, ["dense/kernel:0"])
    message = r"\[2,3\] is not compatible with .*\[2,2\](.|\n)*checked/dense/kernel"
    with client_error(tf.errors.INVALID_ARGUMENT, message):
        small.run([], {wrong.prefix: prefix[saver.prefix]}, targets=[wrong.restore])


def test_wrong_arguments_are_errors() -> None:
    graph = variables_graph(VALUES)
    before = graph.nodes()
    float32 = tf.float32.as_datatype_enum
    for initializer, message in (
        ("ones_like", "initializer: expected one of constant, .*got 'ones_like'"),
        ('{"class_name": "HeNormal", "config": {"seeds": 1}}', "HeNormal has no 'seeds'"),
        ('{"class_name": "HeNormal", "config": {"seed": 1.5}}', "seed must be an integer"),
        ("orthogonal", r"orthogonal expects a shape of at least two dimensions, got \[3\]"),
    ):
        with client_error(tf.errors.INVALID_ARGUMENT, message):
            API.new_variable(graph, "new", float32, (3,), initializer)
    for dtype in (tf.string.as_datatype_enum, 9999):
        with client_error(tf.errors.INVALID_ARGUMENT, "'new' has the type .*; expected numbers"):
            API.new_variable(graph, "new", dtype, (3,), "zeros")
    with client_error(tf.errors.INVALID_ARGUMENT, "'step' cannot name a node, or the graph has"):
        API.new_variable(graph, "step", float32, (3,), "zeros")
    with client_error(tf.errors.INVALID_ARGUMENT, "expected none, or one for each of 1"):
        API.add_saver(graph, ["step:0"], "a\nb")
    for names in ("a\na", "b\na/"):
        with client_error(
            tf.errors.INVALID_ARGUMENT, "'a/?' cannot name a variable .*listed twice"
        ):
            API.add_saver(graph, ["step:0", "dense/bias:0"], names)
    with client_error(tf.errors.INVALID_ARGUMENT, "got 'step_read' of type ReadVariableOp"):
        API.add_saver(graph, ["step_read:0"])
    assert graph.nodes() == before


def test_the_ops(tmp_path: pathlib.Path) -> None:
    """A program without functions of C makes variables, saves them and reads them."""
    nodes, handles, initialize = raw_ops.new_variables(
        graph_pb2.GraphDef().SerializeToString(),
        ["layer/w", "layer/n"],
        dtypes=[tf.float32, tf.int64],
        shapes=[[2, 3], []],
        initializers=['{"class_name": "HeNormal", "config": {"seed": 1}}', "ones"],
    )
    more, prefix, save, _ = raw_ops.add_saver(nodes, handles, tf.zeros([0], tf.string))
    with tf.Graph().as_default(), v1.Session() as session:
        graph = graph_pb2.GraphDef.FromString(nodes.numpy() + more.numpy())
        tf.import_graph_def(graph, name="")
        session.run(initialize.numpy().decode())
        path = str(tmp_path / "saved")
        session.run(save.numpy().decode(), {prefix.numpy().decode() + ":0": path})
    reader = tf.train.load_checkpoint(path)
    np.testing.assert_allclose(
        reader.get_tensor("layer/w" + KEY), initializers.HeNormal(seed=1)((2, 3)), rtol=1e-6
    )
    assert reader.get_tensor("layer/n" + KEY) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="a dtype, shape and initializer for"):
        raw_ops.new_variables("", ["a", "b"], dtypes=["float"], shapes=[[]], initializers=["ones"])
