"""Models with loops of TensorFlow 1: their graphs, and Python's gradients before they are saved."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

BATCH, STEPS, UNITS = 2, 4, 3
SHAPE = (BATCH, STEPS, UNITS)


@contextlib.contextmanager
def control_flow(version: int) -> Iterator[None]:
    """Selects the control flow of TensorFlow 1 or 2."""
    if version == 1:
        v1.disable_control_flow_v2()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


class Cell:
    """A cell as dynamic_rnn expects it."""

    output_size = UNITS

    def __init__(self, weights: Any) -> None:
        self._weights = weights

    def zero_state(self, batch: Any, dtype: tf.DType) -> Any:
        zeros = [tf.zeros([batch, UNITS], dtype) for _ in self._states]
        return tuple(zeros) if len(zeros) > 1 else zeros[0]

    @property
    def state_size(self) -> Any:
        return tuple(self._states) if len(self._states) > 1 else UNITS

    _states = (UNITS,)

    def _gates(self, *parts: tf.Tensor) -> tf.Tensor:
        return tf.matmul(tf.concat(parts, 1), self._weights)


class Lstm(Cell):
    _states = (UNITS, UNITS)

    def __call__(self, x: tf.Tensor, state: Any, scope: Any = None) -> Any:
        c, h = state
        i, j, f, o = tf.split(self._gates(x, h), 4, 1)
        c = c * tf.sigmoid(f + 1) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


class Gru(Cell):
    def __call__(self, x: tf.Tensor, h: Any, scope: Any = None) -> Any:
        z, r, _ = tf.split(self._gates(x, h), 3, 1)
        c = tf.tanh(self._gates(x, tf.sigmoid(r) * h)[:, -UNITS:])
        h = tf.sigmoid(z) * h + (1 - tf.sigmoid(z)) * c
        return h, h


def lstm_cell(weights: Any = None) -> Lstm:
    return Lstm(tf.constant(draw(1, 2 * UNITS, 4 * UNITS)) if weights is None else weights)


def gru_cell() -> Gru:
    return Gru(tf.constant(draw(2, 2 * UNITS, 3 * UNITS)))


def dynamic_lstm(x: tf.Tensor, weights: Any = None) -> tf.Tensor:
    y, (c, _) = v1.nn.dynamic_rnn(lstm_cell(weights), x, [STEPS, STEPS - 1], dtype=tf.float32)
    return tf.concat([y, c[:, None]], 1)


def dynamic_gru(x: tf.Tensor) -> tf.Tensor:
    return v1.nn.dynamic_rnn(gru_cell(), x, dtype=tf.float32, time_major=True)[0]


def bidirectional(x: tf.Tensor) -> tf.Tensor:
    cells = gru_cell(), lstm_cell()
    outputs, _ = v1.nn.bidirectional_dynamic_rnn(*cells, x, [STEPS, STEPS - 1], dtype=tf.float32)
    return outputs[0] * outputs[1]


def scan(x: tf.Tensor) -> tf.Tensor:
    return v1.scan(lambda a, e: tf.sin(a) * e + a, tf.transpose(x, [1, 0, 2]))


def map_fn(x: tf.Tensor) -> tf.Tensor:
    return v1.map_fn(lambda e: tf.sin(e) * tf.reduce_sum(e), x)


def nested_maps(x: tf.Tensor) -> tf.Tensor:
    return v1.map_fn(lambda e: v1.map_fn(lambda f: tf.sin(f) * f, e) * e, x)


def plain(x: tf.Tensor) -> tf.Tensor:
    return v1.while_loop(lambda i, _: i < 4, lambda i, v: (i + 1, tf.sin(v) * x + v), [0, x])[1]


def nested(x: tf.Tensor) -> tf.Tensor:
    def outer(i: Any, v: Any) -> Any:
        inner = v1.while_loop(lambda j, _: j < i, lambda j, u: (j + 1, tf.sin(u) * x + u), [0, v])
        return i + 1, inner[1]

    return v1.while_loop(lambda i, _: i < 3, outer, [0, x], parallel_iterations=3)[1]


def branch_in_loop(x: tf.Tensor) -> tf.Tensor:
    def body(i: Any, v: Any) -> Any:
        return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: tf.sin(v) * x, lambda: v * v)

    return v1.while_loop(lambda i, _: i < 4, body, [0, x])[1]


def loop_in_branch(x: tf.Tensor) -> tf.Tensor:
    """One branch that is taken and one that is not."""
    taken = v1.cond(tf.reduce_sum(x) > -100, lambda: plain(x), lambda: x * 2)
    return taken + v1.cond(tf.reduce_sum(x) < -100, lambda: plain(x), lambda: x * x)


def growing(x: tf.Tensor) -> tf.Tensor:
    """A loop variable that changes its shape."""
    none = tf.TensorShape([None, UNITS])
    loop = v1.while_loop(
        lambda i, _: i < 3,
        lambda i, v: (i + 1, tf.concat([v, tf.sin(v[-1:])], 0)),
        [0, x[0]],
        [tf.TensorShape([]), none],
    )
    return loop[1]


def arrays(x: tf.Tensor) -> tf.Tensor:
    """Splits, concatenations, arrays that grow, elements that are never written."""
    options: dict[str, Any] = {"infer_shape": False, "clear_after_read": False}
    rows = tf.TensorArray(tf.float32, 3, **options)
    rows = rows.split(tf.reshape(x, [-1, UNITS]), [2, 1, 5])
    more = tf.TensorArray(tf.float32, 0, dynamic_size=True, **options)
    more = more.split(tf.sin(x[0]), [1, 3])
    grown = tf.TensorArray(tf.float32, 0, dynamic_size=True, **options)
    some = tf.TensorArray(tf.float32, 4, element_shape=[UNITS], clear_after_read=False)

    def body(i: Any, grown: Any, some: Any) -> Any:
        item = tf.sin(rows.read(i)) * tf.cast(rows.size(), tf.float32)
        return i + 1, grown.write(i * 2, item), some.write(i, x[0, i] * x[1, i])

    _, grown, some = v1.while_loop(lambda i, *_: i < 3, body, [0, grown, some])
    parts = [rows.concat(), more.concat(), grown.read(2) * grown.read(0)[:1], some.stack()]
    parts.append(some.gather([1, 3, 0]))
    return tf.concat(parts, 0) * tf.cast(grown.size(), tf.float32)


_MODELS: list[Callable[..., tf.Tensor]] = [
    dynamic_lstm,
    dynamic_gru,
    bidirectional,
    scan,
    map_fn,
    nested_maps,
    plain,
    nested,
]
_MODELS += [branch_in_loop, loop_in_branch, growing, arrays]
MODELS = {model.__name__: model for model in _MODELS}


@dataclasses.dataclass
class Old:
    """A graph with loops of TensorFlow 1, without gradients, and Python's results.

    Attributes:
      graph_def: The graph, with the nodes x, y, dy and the second upstream gradient ddx.
      feeds: Random values, also of the upstream gradients.
      y: The forward value.
      dx: Python's gradient, from the graph that made the loops.
    """

    graph_def: Any
    feeds: dict[str, np.ndarray]
    y: np.ndarray
    dx: np.ndarray


def build(model: Callable[..., tf.Tensor], version: int = 1) -> tuple[tf.Tensor, Any, tf.Tensor]:
    """Adds x, y and the upstream gradients; returns y, the GraphDef so far, and the gradient."""
    graph = tf.Graph()
    with graph.as_default(), control_flow(version):
        x = v1.placeholder(tf.float32, SHAPE, name="x")
        v1.placeholder(tf.float32, SHAPE, name="ddx")
        y = tf.identity(model(x), name="y")
        dy = v1.placeholder(tf.float32, name="dy")
        graph_def = graph.as_graph_def()
        (dx,) = tf.gradients(y, x, dy)
    return y, graph_def, dx


def old(name: str) -> Old:
    y, graph_def, dx = build(MODELS[name])
    feeds = {"x:0": draw(3, *SHAPE), "ddx:0": draw(4, *SHAPE)}
    with v1.Session(graph=y.graph) as session:
        value = session.run(y, feeds)
        feeds["dy:0"] = draw(5, *value.shape)
        return Old(graph_def, feeds, value, session.run(dx, feeds))


def second(name: str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Python's gradients of the gradient by x and dy, with the control flow of TensorFlow 2. That
    of TensorFlow 1 has no second order."""
    _, _, dx = build(MODELS[name], version=2)
    with dx.graph.as_default(), v1.Session() as session:
        tensor = dx.graph.get_tensor_by_name
        found = tf.gradients(dx, [tensor("x:0"), tensor("dy:0")], tensor("ddx:0"))
        return session.run(found, feeds)
