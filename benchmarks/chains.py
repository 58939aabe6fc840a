"""TF_AddGradients over chains of ops: the cost of a node, ours against stock.

The C API runs in this process, through the test suite's ctypes client; the graphs are imported
before the clock starts. The cost of a node grows with the graph, for stock ops as for ours, because
nodes, names and shapes outgrow the processor's caches.
"""

import statistics
import time

import measure
import tensorflow as tf
from c_client import Client, tensorflow_dir
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import sysconfig

LENGTHS = (10, 100, 1_000, 10_000, 100_000)
BAR = 1.3
# Our op, and a stock op with TensorFlow's own client gradient of the same form: one node.
PAIRS = {"TfExt>Relu": "Elu", "TfExt>ReverseGradient": "Neg"}


def _chain(op: str, length: int) -> bytes:
    graph = graph_pb2.GraphDef()
    for name in ("x", "u"):
        placeholder = graph.node.add(name=name, op="Placeholder")
        placeholder.attr["dtype"].type = tf.float32.as_datatype_enum
        placeholder.attr["shape"].shape.dim.add(size=8)
    previous = "x"
    for i in range(length):
        node = graph.node.add(name=f"op_{i}", op=op, input=[previous])
        node.attr["T"].type = tf.float32.as_datatype_enum
        previous = node.name
    return graph.SerializeToString()


def _seconds(client: Client, graph_def: bytes, length: int) -> float:
    graph = client.import_graph(graph_def)
    start = time.perf_counter()
    graph.gradients([f"op_{length - 1}:0"], ["x:0"], ["u:0"])
    return time.perf_counter() - start


def run() -> list[measure.Result]:
    client = Client(tensorflow_dir(), f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    results = []
    for ours, stock in PAIRS.items():
        for length in LENGTHS:
            graphs = {op: _chain(op, length) for op in (ours, stock)}
            times: dict[str, list[float]] = {ours: [], stock: []}
            rounds = 41 if length <= 100 else 7 if length <= 10_000 else 3
            for number in range(rounds):
                order = (ours, stock) if number % 2 else (stock, ours)
                for op in order:
                    times[op].append(_seconds(client, graphs[op], length))
            a_node = statistics.median(times[ours]) / length
            results.append(
                measure.Result(
                    "TF_AddGradients",
                    f"{length:,} x {ours}",
                    measure.median(times, ours),
                    f"stock {stock}",
                    measure.ratio(times, ours, stock),
                    BAR,
                    note=f"{a_node * 1e6:.1f} us a node",
                    spread=measure.spread(times, ours, stock),
                )
            )
    return results
