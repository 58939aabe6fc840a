"""A training step that gathers few rows of a large embedding table.

C adds the gradient by the table, takes its slices (TfExt_SliceGradients) and subtracts them with
ResourceScatterSub. The rival is the same step in a tf.function, whose gradient is IndexedSlices.
C runs in this process, through ctypes. The memory is how much the process grows in the steps.
"""

import pathlib
import re

import measure
import numpy as np
import tensorflow as tf
from c_client import Client, Evaluation, Graph, tensorflow_dir
from graph_api import GraphApi
from results import Result
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import sysconfig

ROWS, WIDTH, IDS = 1_000_000, 32, 64
RATE = 0.125
_RIVAL = "tf.function"
_BAR = 1.1
_LIBRARY = f"{sysconfig.get_lib()}/libtensorflow_ext.so"
_FEEDS = {"ids:0": np.arange(IDS, dtype=np.int32) * 97 % ROWS}


def _table() -> tf.Tensor:
    # Grappler would keep ones as a constant of that size.
    return tf.random.stateless_uniform([ROWS, WIDTH], seed=[1, 2])


def _loss(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.tanh(rows) * rows, name="loss")


def _forward() -> graph_pb2.GraphDef:
    """A graph of the loss; `table/Assign` fills the table."""
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int32, [IDS], "ids")
        table = v1.get_variable("table", initializer=_table(), use_resource=True)
        _loss(tf.gather(table, ids))
    return graph.as_graph_def()


def _in_c(sliced: bool) -> measure.Work:
    """A step in C; the table is filled."""
    client = Client(tensorflow_dir(), _LIBRARY)
    api = GraphApi(_LIBRARY)
    graph = client.import_graph(_forward().SerializeToString())
    (gradient,) = api.add_gradients(graph, ["loss:0"], ["table:0"])
    if sliced:
        (found,) = api.slice_gradients(graph, [gradient])
        return _step(graph, "scatter", found.values, found.indices)
    return _step(graph, "subtract", gradient, None)


def _step(graph: Graph, update: str, values: str | None, indices: str | None) -> measure.Work:
    """Adds the update of the table, and a tensor that waits for it."""
    graph_def = graph_pb2.GraphDef.FromString(graph.graph_def())
    with tf.Graph().as_default() as whole:
        values, *rest = tf.import_graph_def(
            graph_def,
            return_elements=[values, "table:0", "loss:0", *([indices] * bool(indices))],
            name="",
        )
        table, loss = rest[:2]
        change = tf.multiply(values, RATE)
        if indices:
            done = tf.raw_ops.ResourceScatterSub(resource=table, indices=rest[2], updates=change)
        else:
            done = tf.raw_ops.AssignSubVariableOp(resource=table, value=change)
        with tf.control_dependencies([done]):
            tf.identity(loss, name="step")
    client = Client(tensorflow_dir(), None)
    step = client.import_graph(whole.as_graph_def().SerializeToString())
    evaluation = Evaluation(step, ["step:0"], _FEEDS)
    evaluation.do("table/Assign")
    return lambda: evaluation.at("ids:0", _FEEDS["ids:0"])


def _in_python() -> measure.Work:
    table = tf.Variable(_table())

    @tf.function
    def step(ids: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = _loss(tf.gather(table, ids))
        gradient = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(RATE * gradient.values, gradient.indices))
        return loss

    ids = _FEEDS["ids:0"]
    # Like C, takes the ids from the client's memory, and returns a number there.
    return lambda: step(tf.constant(ids)).numpy()


_SIDES = {"slices": lambda: _in_c(True), "dense": lambda: _in_c(False), _RIVAL: _in_python}


def _resident(field: str) -> int:
    """Bytes of this process in memory: now (VmRSS), or the most so far (VmHWM)."""
    status = pathlib.Path("/proc/self/status").read_text()
    (kibibytes,) = re.findall(rf"^{field}:\s*(\d+) kB$", status, re.MULTILINE)
    return 1024 * int(kibibytes)


def _growth(side: str) -> int:
    """The bytes by which this process grows in the first steps of one side."""
    work = _SIDES[side]()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM to VmRSS
    before = _resident("VmRSS")
    for _ in range(3):
        work()
    return _resident("VmHWM") - before


def run() -> list[Result]:
    python = _in_python()
    losses = [python() for _ in range(3)]
    memory = measure.in_own_process(_growth, _RIVAL)
    results = []
    for side, rounds, bar in (("slices", 21, _BAR), ("dense", 3, None)):
        work = _SIDES[side]()
        np.testing.assert_allclose([work()[0] for _ in losses], losses, rtol=1e-5)
        results += measure.compare(
            "A table of which few rows are gathered",
            f"{ROWS:,} x {WIDTH}, {IDS} ids: {side}",
            measure.Contender(work, memory=measure.in_own_process(_growth, side)),
            {_RIVAL: measure.Contender(python, bar, memory)},
            rounds=rounds,
        )
    return results
