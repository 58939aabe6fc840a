"""TfExt_Minimize in graphs of C: whole variables, rows of tables, scaled losses, errors."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi, Training
from graphs import client_error, graph_of, in_threads

from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
DRAWS = np.random.default_rng(9)
TABLE = DRAWS.normal(size=[6, 3]).astype(np.float32)
KERNEL = DRAWS.normal(size=[3, 2]).astype(np.float32)
BATCHES = [np.array(ids, np.int32) for ids in ([4, 1, 4], [0, 4, 1], [1, 1, 1])]
ROWS = [0, 1, 4]  # of these batches

Optimizer = Callable[[], Any]


def loss(table: Any, kernel: Any, ids: Any) -> Any:
    return tf.reduce_sum(tf.tanh(tf.gather(table, ids) @ kernel) ** 2)


def model(factor: float = 1.0) -> Graph:
    def build() -> None:
        ids = v1.placeholder(tf.int32, [None], name="ids")
        table = v1.get_variable("table", initializer=TABLE, use_resource=True)
        kernel = v1.get_variable("kernel", initializer=KERNEL, use_resource=True)
        v1.get_variable("unused", initializer=KERNEL, use_resource=True)
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3, 2], shared_name="kernel", name="again")
        tf.cast(kernel, tf.complex64, name="complex")
        tf.multiply(loss(table, kernel, ids), factor, name="loss")

    return graph_of(build)


VARIABLES = ["table:0", "kernel:0", "unused:0"]


def start(graph: Graph, training: Training) -> None:
    graph.run([], {}, targets=[f"{v[:-2]}/Assign" for v in VARIABLES] + [training.initialize])


def values(graph: Graph) -> list[np.ndarray]:
    return graph.run([f"{v[:-2]}/Read/ReadVariableOp:0" for v in VARIABLES], {})


def train(graph: Graph, training: Training) -> list[np.ndarray]:
    """The losses, each of which is of the values before its step."""
    return [graph.run(["loss:0"], {"ids:0": ids}, targets=[training.step])[0] for ids in BATCHES]


def keras_training(optimizer: Any) -> tuple[list[Any], list[np.ndarray]]:
    variables = [keras.Variable(TABLE), keras.Variable(KERNEL)]
    losses = []
    for ids in BATCHES:
        with tf.GradientTape() as tape:
            losses.append(loss(*[v.value for v in variables], ids))
        gradients = tape.gradient(losses[-1], [v.value for v in variables])
        optimizer.apply([tf.convert_to_tensor(g) for g in gradients], variables)
    return losses, [v.numpy() for v in variables]


def text(optimizer: Any, **keys: Any) -> str:
    found = keras.optimizers.serialize(optimizer)
    found["config"].update(keys, name="o")
    return json.dumps(found)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.optimizers.SGD(0.1),  # by rows
        lambda: keras.optimizers.Adagrad(0.1),  # by rows
        lambda: keras.optimizers.Adagrad(0.1, global_clipnorm=0.2),
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.Adam(0.1, weight_decay=0.1, clipnorm=0.3),
    ],
)
def test_training_equals_keras(make: Optimizer) -> None:
    graph = model()
    training = API.minimize(graph, "loss:0", VARIABLES, text(make(), fused=False))
    start(graph, training)
    losses, expected = keras_training(make())
    np.testing.assert_allclose(train(graph, training), losses, rtol=2e-6)
    found = values(graph)
    for value, other in zip(found, [*expected, KERNEL], strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        lambda: keras.optimizers.RMSprop(0.1, momentum=0.5),
        lambda: keras.optimizers.Adadelta(1.0),
        lambda: keras.optimizers.Adam(0.1, amsgrad=True),
        lambda: keras.optimizers.Adamax(0.1),
        lambda: keras.optimizers.Nadam(0.1),
        lambda: keras.optimizers.Ftrl(0.1),
        lambda: keras.optimizers.Lion(0.1),
    ],
)
def test_lazy_updates_touch_gathered_rows_alone(make: Optimizer) -> None:
    """While all rows in use are in each batch, laziness changes nothing for them."""
    graph = model()
    training = API.minimize(graph, "loss:0", VARIABLES, text(make(), lazy=True))
    start(graph, training)
    whole = np.array(ROWS, np.int32)
    losses = [graph.run(["loss:0"], {"ids:0": whole}, targets=[training.step])[0] for _ in range(3)]
    optimizer = make()
    variables = [keras.Variable(TABLE), keras.Variable(KERNEL)]
    for found in losses:
        with tf.GradientTape() as tape:
            expected = loss(*[v.value for v in variables], whole)
        gradients = tape.gradient(expected, [v.value for v in variables])
        optimizer.apply([tf.convert_to_tensor(g) for g in gradients], variables)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    table, *_ = values(graph)
    np.testing.assert_allclose(table[ROWS], variables[0].numpy()[ROWS], rtol=1e-4, atol=1e-5)
    others = [2, 3, 5]
    np.testing.assert_array_equal(table[others], TABLE[others])


def test_scaled_losses() -> None:
    """A step whose scaled gradients overflow halves the scale and changes no variable."""
    plain = model(64.0)
    training = API.minimize(plain, "loss:0", VARIABLES, text(keras.optimizers.SGD(0.01)))
    start(plain, training)
    plain.run([], {"ids:0": BATCHES[0]}, targets=[training.step])
    expected = values(plain)
    graph = model(64.0)
    scaling = {
        "inner_optimizer": json.loads(text(keras.optimizers.SGD(0.01))),
        "initial_scale": 2.0**127,
    }
    optimizer = json.dumps({"class_name": "LossScaleOptimizer", "config": scaling})
    training = API.minimize(graph, "loss:0", VARIABLES, optimizer)
    handle = training.state["loss_scale_optimizer/dynamic_scale"]
    assert handle == "loss_scale_optimizer/dynamic_scale:0"
    start(graph, training)
    halved = 0
    while np.array_equal(values(graph)[1], KERNEL):
        graph.run([], {"ids:0": BATCHES[0]}, targets=[training.step])
        (scale,) = graph.run(["loss_scale_optimizer/scale:0"], {})
        halved += 1
    assert 1 < halved < 20
    assert scale == 2.0 ** (127 - halved + 1)
    for value, other in zip(values(graph), expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-6)


def test_two_optimizers_in_one_graph() -> None:
    graph = model()
    first = API.minimize(graph, "loss:0", ["unused:0", "table:0"], "adam")
    second = API.minimize(graph, "loss:0", ["kernel:0"], "Adam")
    # In Keras, 2 and 3 are the slots of the unused variable.
    assert first.state == {
        "adam/_iterations": "adam/iteration:0",
        "adam/_learning_rate": "adam/learning_rate:0",
        "adam/_variables/4": "adam/table_momentum:0",
        "adam/_variables/5": "adam/table_velocity:0",
    }
    assert all(name.startswith("adam_1/") for name in second.state)
    start(graph, first)
    graph.run([], {}, targets=[second.initialize])
    train(graph, first)
    table, kernel, _ = values(graph)
    np.testing.assert_array_equal(kernel, KERNEL)
    train(graph, second)
    np.testing.assert_array_equal(values(graph)[0], table)
    assert not np.array_equal(values(graph)[1], KERNEL)


def test_many_threads() -> None:
    graph = model()
    made = in_threads(lambda: API.minimize(graph, "loss:0", VARIABLES, "lion"))
    assert len({training.step for training in made}) == len(made)


WRONG: Sequence[tuple[str, str]] = [
    ("", "expected one of adadelta, .*got ''"),
    ("adamm", "got 'adamm'"),
    ("{", "expected a name, or JSON"),
    ('{"config": {}}', '"class_name": a string'),
    (
        '{"class_name": "Adam", "config": {"beta1": 0.9}}',
        "has no 'beta1'; expected one of:.*beta_1",
    ),
    ('{"class_name": "Adam", "config": {"beta_1": "x"}}', 'beta_1 must be a number, got "x"'),
    ('{"class_name": "Adam", "config": {"beta_1": 2}}', r"beta_1 must be a number in \[0, 1\]"),
    ('{"class_name": "SGD", "config": {"nesterov": 1}}', "nesterov must be true or false"),
    ('{"class_name": "SGD", "config": {"clipnorm": 1, "clipvalue": 1}}', "the only one of"),
    (
        '{"class_name": "SGD", "config": {"gradient_accumulation_steps": 1}}',
        "must be an integer >= 2, got 1",
    ),
    (
        '{"class_name": "SGD", "config": {"learning_rate": {"class_name": "X"}}}',
        "learning_rate: expected a number or one of CosineDecay,.*got 'X'",
    ),
    (
        '{"class_name": "SGD", "config": {"learning_rate": {"class_name": "CosineDecay"}}}',
        "initial_learning_rate must be a number, got nothing",
    ),
    (
        '{"class_name": "LossScaleOptimizer"}',
        "inner_optimizer must be another optimizer as Keras serializes it",
    ),
]


@pytest.mark.parametrize(("optimizer", "message"), WRONG)
def test_a_wrong_optimizer_is_an_error(optimizer: str, message: str) -> None:
    graph = model()
    before = graph.nodes()
    with client_error(tf.errors.INVALID_ARGUMENT, message):
        API.minimize(graph, "loss:0", VARIABLES, optimizer)
    assert graph.nodes() == before


def test_wrong_variables_are_errors() -> None:
    graph = model()
    for again in ("kernel:0", "again:0"):
        with client_error(tf.errors.INVALID_ARGUMENT, "'kernel' is listed twice"):
            API.minimize(graph, "loss:0", ["kernel:0", again], "sgd")
    with client_error(tf.errors.INVALID_ARGUMENT, "loss: 'complex' has the type complex64"):
        API.minimize(graph, "complex:0", ["kernel:0"], "sgd")
    with client_error(tf.errors.INVALID_ARGUMENT, "gradient of at least one variable"):
        API.minimize(graph, "loss:0", ["unused:0"], "sgd")
    with client_error(tf.errors.INVALID_ARGUMENT, "VarHandleOp nodes, got 'loss' of type"):
        API.minimize(graph, "loss:0", ["loss:0"], "sgd")
    assert re.match("sgd", API.minimize(graph, "loss:0", VARIABLES, "sgd").step)
