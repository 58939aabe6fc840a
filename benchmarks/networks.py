"""TF_AddGradients on whole networks against Python's tf.gradients.

The graph is built once, in Python; then each side adds the gradients of all weights to its own
graph. The comparison covers the time to add them, the number of added nodes, the number of nodes
left after TensorFlow has optimized the whole graph to run, the time of a step, and its peak memory.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence

import measure
import memory
import numpy as np
import tensorflow as tf
from c_client import Client, tensorflow_dir
from tensorflow.python.grappler import tf_optimizer

from tensorflow_ext import sysconfig

NODES_BAR = 1.0
TIME_BAR = 1.0
STEP_BAR = 1.0
GROUP = "TF_AddGradients on networks"
BATCH = 8
RIVAL = "tf.gradients"
v1 = tf.compat.v1


class _Weights:
    """Makes placeholders in place of weights, and remembers them."""

    def __init__(self) -> None:
        self.all: list[tf.Tensor] = []

    def __call__(self, *shape: int) -> tf.Tensor:
        weight = v1.placeholder(tf.float32, shape, name=f"weight_{len(self.all)}")
        self.all.append(weight)
        return weight


def _convolution(
    x: tf.Tensor, weights: _Weights, channels: int, size: int, stride: int
) -> tf.Tensor:
    """A convolution and a batch normalization."""
    y = tf.nn.conv2d(x, weights(size, size, x.shape[-1], channels), stride, "SAME")
    normalized, *_ = v1.nn.fused_batch_norm(y, weights(channels), weights(channels))
    return normalized


def resnet_18(weights: _Weights, batch: int | None) -> tf.Tensor:
    """A residual network of 18 layers (He et al., arXiv:1512.03385); its loss."""
    images = v1.placeholder(tf.float32, [batch, 64, 64, 3], name="images")
    labels = v1.placeholder(tf.int32, [batch], name="labels")
    x = tf.nn.relu(_convolution(images, weights, 64, 7, 2))
    x = tf.nn.max_pool2d(x, 3, 2, "SAME")
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = tf.nn.relu(_convolution(x, weights, channels, 3, stride))
            y = _convolution(y, weights, channels, 3, 1)
            if stride != 1:
                x = _convolution(x, weights, channels, 1, stride)
            x = tf.nn.relu(x + y)
    logits = tf.reduce_mean(x, [1, 2]) @ weights(512, 10) + weights(10)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def lstm_ctc(weights: _Weights, batch: int | None) -> tf.Tensor:
    """An LSTM over 40 steps with a CTC loss (Graves et al., 2006); its loss."""
    steps, units, features, classes = 40, 64, 26, 29
    inputs = v1.placeholder(tf.float32, [steps, batch, features], name="inputs")
    if batch is None:
        batch = tf.shape(inputs)[1]
    kernel, bias = weights(features + units, 4 * units), weights(4 * units)
    state = output = tf.zeros([batch, units])
    outputs = []
    for x in tf.unstack(inputs):
        gates = tf.nn.bias_add(tf.concat([x, output], 1) @ kernel, bias)
        i, g, f, o = tf.split(gates, 4, 1)
        state = tf.sigmoid(f) * state + tf.sigmoid(i) * tf.tanh(g)
        output = tf.sigmoid(o) * tf.tanh(state)
        outputs.append(output)
    logits = tf.tensordot(tf.stack(outputs), weights(units, classes), 1)
    indices = tf.constant([[b, t] for b in range(BATCH) for t in range(5)], tf.int64)
    values = tf.constant(np.arange(5 * BATCH, dtype=np.int32) % (classes - 1))
    loss, _ = tf.raw_ops.CTCLoss(
        inputs=logits,
        labels_indices=indices,
        labels_values=values,
        sequence_length=tf.fill([batch], steps),
    )
    return tf.reduce_mean(loss)


NETWORKS: dict[str, Callable[[_Weights, int | None], tf.Tensor]] = {
    "ResNet-18": resnet_18,
    "LSTM with CTC": lstm_ctc,
}


@dataclasses.dataclass
class Side:
    """A graph of a network and its gradients.

    Attributes:
      graph: The whole graph.
      fetches: The tensors of a step: the loss and the gradients.
      seconds: The time to add the gradients.
      nodes: The number of their nodes.
      batch: The value for unknown sizes.
      restore: The operation that sets the variables, if there are any, and its feeds.
    """

    graph: tf.Graph
    fetches: list[str]
    seconds: float
    nodes: int
    batch: int = BATCH
    restore: tuple[str, dict[str, str]] | None = None

    def optimized_nodes(self) -> int:
        """The number of nodes that TensorFlow runs for this graph after optimization."""
        with self.graph.as_default():
            meta_graph = v1.train.export_meta_graph()
        meta_graph.collection_def["train_op"].node_list.value.extend(self.fetches)
        optimized = tf_optimizer.OptimizeGraph(v1.ConfigProto(), meta_graph)
        return len(optimized.node)

    def contender(self, bar: float | None = None) -> measure.Contender:
        """Computes the loss and all gradients, and measures their memory."""
        rng = np.random.default_rng(0)
        feeds = {}
        for operation in self.graph.get_operations():
            if operation.type != "Placeholder":
                continue
            (fed,) = operation.outputs
            if fed.dtype != tf.string:
                shape = [self.batch if size is None else size for size in fed.shape]
                values = np.abs(rng.normal(scale=0.1, size=shape))  # a label is 0
                feeds[fed] = values.astype(fed.dtype.as_numpy_dtype)
        # Fetching an operation copies nothing to the client.
        operations = [self.graph.get_tensor_by_name(name).op for name in self.fetches]
        session = v1.Session(graph=self.graph)
        if self.restore:
            session.run(*self.restore)
        peak = memory.of_step(session, operations, feeds)
        return measure.Contender(lambda: session.run(operations, feeds), bar, peak)


def differentiate(
    client: Client,
    graph: tf.Graph,
    loss: str,
    xs: Sequence[str],
    batch: int = BATCH,
    restore: tuple[str, dict[str, str]] | None = None,
) -> tuple[Side, Side]:
    """Our side, and Python's, which adds the gradients of the loss by `xs` to `graph` itself.

    See `Side` for the other arguments.
    """
    graph_def = graph.as_graph_def()

    def side(graph: tf.Graph, gradients: Sequence[str | None], seconds: float) -> Side:
        fetches = [loss, *(name for name in gradients if name)]
        assert len(fetches) == 1 + len(xs), "a weight has no gradient"
        nodes = len(graph.get_operations()) - len(graph_def.node)
        return Side(graph, fetches, seconds, nodes, batch, restore)

    with graph.as_default():
        y, *sources = (graph.get_tensor_by_name(name) for name in (loss, *xs))
        start = time.perf_counter()
        found = tf.gradients(y, sources)
        seconds = time.perf_counter() - start
    python = side(graph, [dx.name for dx in found], seconds)

    c_graph = client.import_graph(graph_def.SerializeToString())
    start = time.perf_counter()
    names = c_graph.gradients([loss], xs, [])
    seconds = time.perf_counter() - start
    with tf.Graph().as_default() as graph:
        whole = v1.GraphDef.FromString(c_graph.graph_def())
        tf.graph_util.import_graph_def(whole, name="")
    return side(graph, names, seconds), python


def _compare(
    client: Client, name: str, network: Callable, batch: int | None
) -> list[measure.Result]:
    sides = []
    for _ in range(7):
        with tf.Graph().as_default() as graph:
            weights = _Weights()
            loss = network(weights, batch)
        xs = [weight.name for weight in weights.all]
        sides.append(differentiate(client, graph, loss.name, xs))
    return rows(GROUP, f"{name}, batch {batch or 'unknown'}", sides, TIME_BAR)


def rows(
    group: str, case: str, sides: Sequence[tuple[Side, Side]], time_bar: float, rounds: int = 11
) -> list[measure.Result]:
    """The rows of a network: the median of the times, and the last of the other values.

    Args:
      group: The group of the rows.
      case: The beginning of their cases.
      sides: Our side and Python's, for each differentiation.
      time_bar: The bar for the time to add the gradients.
      rounds: The number of rounds for the time of a step.
    """
    times = {
        "ours": [ours.seconds for ours, _ in sides],
        "python": [python.seconds for _, python in sides],
    }
    ours, python = sides[-1]
    counts = {
        "nodes added": (ours.nodes, python.nodes),
        "nodes that run": (ours.optimized_nodes(), python.optimized_nodes()),
    }
    results = [
        measure.Result(
            group,
            f"{case}: time to add gradients",
            measure.median(times, "ours"),
            RIVAL,
            measure.ratio(times, "ours", "python"),
            time_bar,
            spread=measure.spread(times, "ours", "python"),
        )
    ]
    results += [
        measure.Result(group, f"{case}: {what}", None, RIVAL, a / b, NODES_BAR, note=f"{a} : {b}")
        for what, (a, b) in counts.items()
    ]
    return results + measure.compare(
        group, f"{case}: a step", ours.contender(), {RIVAL: python.contender(STEP_BAR)}, rounds
    )


def run() -> list[measure.Result]:
    client = Client(tensorflow_dir(), f"{sysconfig.get_lib()}/libtensorflow_ext.so")
    return [
        result
        for name, network in NETWORKS.items()
        for batch in (BATCH, None)
        for result in _compare(client, name, network, batch)
    ]
