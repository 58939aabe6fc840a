"""The gradients that a model brings (tf.custom_gradient): how a model is handed over, and the
errors where it was not. tests/models compares the gradients themselves with Python's."""

import ctypes
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import commands
import numpy as np
import pytest
import tensorflow as tf
from c_client import UNOPTIMIZED, Client, ClientError, Graph, tensorflow_dir
from graph_api import GraphApi
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from with_gradients import TABLE, X, Y, gradient, reversing, save

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library

API = GraphApi(str(_library.PATH))
LIBRARY = ctypes.CDLL(str(_library.PATH))
HERE = pathlib.Path(__file__).absolute().parent


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), _library.PATH)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return save(tmp_path_factory.mktemp("reversed"), reversing(-3.0))


def meta_graph(model: pathlib.Path) -> meta_graph_pb2.MetaGraphDef:
    saved = saved_model_pb2.SavedModel.FromString((model / "saved_model.pb").read_bytes())
    return saved.meta_graphs[0]


def hand_over_folder(graph: Graph, folder: pathlib.Path, tag: str = "serve") -> None:
    tags = (ctypes.c_char_p * 1)(tag.encode())
    with graph._client.status() as status:
        LIBRARY.TfExt_UseSavedModelGradients(
            graph._graph, str(folder).encode(), tags, ctypes.c_int(1), status
        )


def test_three_ways_to_hand_over(client: Client, model: pathlib.Path) -> None:
    by_folder, by_op = (client.load_saved_model(model, handed_over=False) for _ in range(2))
    hand_over_folder(by_folder, model)
    by_op.add(raw_ops.saved_model_gradients(str(model)).numpy())
    # TfExt_UseModelGradients
    for graph in (client.load_saved_model(model), by_folder, by_op):
        assert gradient(graph) == -6


def test_ctc_loss_of_dense_labels(client: Client, tmp_path: pathlib.Path) -> None:
    """It makes zeros by Empty with `init`, whose OpDef says that two runs may differ."""
    logits = np.random.default_rng(0).normal(size=[1, 4, 3]).astype(np.float32)

    def loss(x: tf.Tensor) -> tf.Tensor:
        labels, lengths = tf.constant([[1, 2]]), ([2], [4])
        losses = tf.nn.ctc_loss(labels, x * logits, *lengths, logits_time_major=False)
        return tf.reduce_sum(losses)

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(2 * x)
    graph = client.load_saved_model(save(tmp_path, loss, experimental_custom_gradients=True))
    np.testing.assert_allclose(gradient(graph), tape.gradient(y, x), rtol=1e-5)


def test_again(client: Client, model: pathlib.Path) -> None:
    """A second call changes nothing, and a session may have run before."""
    graph = client.load_saved_model(model, handed_over=False)
    assert graph.run([Y], {X: np.array(1, np.float32)}) == [2]
    for _ in range(2):
        hand_over_folder(graph, model)
    assert gradient(graph) == -6
    assert gradient(graph) == -6


def test_two_models_with_the_same_names(client: Client, tmp_path: pathlib.Path) -> None:
    """Such names count in each process that exports, so models share them."""
    models = [tmp_path / str(k) for k in range(2)]
    script = (
        "import os, pathlib, sys; import tensorflow; child = os.fork(); import with_gradients as t;"
        "folder, factor = sys.argv[1:3] if child else sys.argv[3:]; pathlib.Path(folder).mkdir();"
        "t.save(pathlib.Path(folder), t.reversing(float(factor)));"
        "child and sys.exit(os.waitpid(child, 0)[1])"
    )
    commands.python("-c", script, models[0], "-3", models[1], "5", cwd=HERE)
    found = [
        {row[3] for row in tfe.describe_saved_model(m / "model") if row[0] == "gradient"}
        for m in models
    ]
    assert found[0] == found[1]
    graphs = [client.load_saved_model(m / "model") for m in models]
    assert [gradient(graph) for graph in graphs] == [-6, 10]


def test_survives_export_and_import(client: Client, model: pathlib.Path) -> None:
    exported = client.load_saved_model(model).graph_def()
    graph = client.import_graph(exported)
    (name,) = graph.gradients([Y], [X], [])
    assert name is not None


@pytest.mark.parametrize("inlined", [False, True])
def test_not_handed_over(client: Client, model: pathlib.Path, inlined: bool) -> None:
    graph = client.load_saved_model(model, handed_over=False)
    y = API.inline_calls(graph, [Y])[0] if inlined else Y
    for differentiate in (graph.gradients, lambda *given: API.add_gradients(graph, *given)):
        with pytest.raises(ClientError) as raised:
            differentiate([y], [X], [])
        message = str(raised.value)
        assert raised.value.code == tf.errors.FAILED_PRECONDITION
        (row,) = (row for row in tfe.describe_saved_model(model) if row[0] == "gradient")
        assert f"names the gradient '{row[3]}' (tf.custom_gradient)" in message
        for way in (
            "run the op TfExt>SavedModelGradients with its folder and import the GraphDef",
            "in C also TfExt_UseModelGradients or TfExt_UseSavedModelGradients",
            "in C++ tensorflow_ext::UseModelGradients",
            "python -m tensorflow_ext prepare MODEL",
        ):
            assert way in message
    if not inlined:
        hand_over_folder(graph, model)
        assert gradient(graph) == -6


def test_inlined_after_the_hand_over(client: Client, model: pathlib.Path) -> None:
    """The inlined nodes keep their gradient, even in another graph."""
    graph = client.load_saved_model(model)
    (y,) = API.inline_calls(graph, [Y])
    (dx,) = graph.gradients([y], [X], [])
    assert dx is not None
    assert graph.run([dx], {X: np.array(1, np.float32)}) == [-6]
    again = client.import_graph(graph.graph_def())
    assert again.gradients([y], [X], []) != [None]


def test_saved_without_gradients(client: Client, tmp_path: pathlib.Path) -> None:
    model = save(tmp_path, reversing(-3.0), experimental_custom_gradients=False)
    (row,) = (row for row in tfe.describe_saved_model(model) if row[0] == "gradient")
    assert row[-1] == "missing"
    graph = client.load_saved_model(model)
    message = "experimental_custom_gradients=False.*save it again.*which is the default"
    with pytest.raises(ClientError, match=message):
        gradient(graph)


@pytest.fixture
def allowed() -> Iterator[None]:
    before = _library.allow_missing_gradients(True)
    yield
    _library.allow_missing_gradients(before)


def test_allowed(client: Client, model: pathlib.Path, allowed: None) -> None:
    graph = client.load_saved_model(model, handed_over=False)
    assert gradient(graph) == 2  # that of the op itself
    assert _library.allow_missing_gradients() is True
    _library.allow_missing_gradients(False)
    with pytest.raises(ClientError, match="names the gradient"):
        gradient(graph)


@pytest.mark.parametrize("op", ["Identity", "Sin", "Floor", "Relu", "TfExt>Relu", "Erfc"])
def test_overridden_in_a_graph_of_tensorflow_1(client: Client, op: str) -> None:
    """No table of gradients belongs to such a graph."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        with graph.gradient_override_map({op: "SomeGradient"}):
            made = graph.create_op(op, [x], [tf.float32], attrs=_type(tf.float32), name="node")
        tf.identity(made.outputs[0], name="y")
    imported = client.import_graph(graph.as_graph_def().SerializeToString())
    calls = (imported.gradients, lambda *given: API.add_gradients(imported, *given))
    for differentiate in calls:
        with pytest.raises(ClientError, match="node 'node' names the gradient 'SomeGradient'"):
            differentiate(["y:0"], ["x:0"], [])
    # The gradient by the output of the node does not need its own.
    assert API.add_gradients(imported, ["y:0"], ["node:0"]) != [None]


def _type(dtype: tf.DType) -> dict[str, Any]:
    return {"T": tf.compat.v1.AttrValue(type=dtype.as_datatype_enum)}


def test_function_runtime(client: Client) -> None:
    """SymbolicGradient does not see the graph around its function, so it refuses such nodes."""
    spec = tf.TensorSpec([], tf.float32)
    function = tf.function(reversing(-3.0)).get_concrete_function(spec).function_def
    graph_def = graph_pb2.GraphDef()
    graph_def.library.function.append(function)
    for name in ("x", "dy"):
        node = graph_def.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
    node = graph_def.node.add(name="dx", op="SymbolicGradient", input=["x", "dy"])
    node.attr["Tin"].list.type.extend(2 * [tf.float32.as_datatype_enum])
    node.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    node.attr["f"].func.name = function.signature.name
    graph = client.import_graph(graph_def.SerializeToString())
    # Grappler removes IdentityN from functions before the function runtime sees it, so by default
    # the result is the gradient of the op itself: docs/saved_models.md.
    graph.config = UNOPTIMIZED
    one = np.array(1, np.float32)
    with pytest.raises(ClientError, match="a node names the gradient 'CustomGradient"):
        graph.run(["dx:0"], {"x:0": one, "dy:0": one})


def test_bad_input(client: Client, model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    graph = client.load_saved_model(model)
    with pytest.raises(ClientError, match="Could not find SavedModel"):
        hand_over_folder(graph, tmp_path)
    with pytest.raises(ClientError, match=r"no graph with the tags \[train\].*\[serve\]"):
        hand_over_folder(graph, model, "train")
    with pytest.raises(tf.errors.InvalidArgumentError, match="meta_graph_def: expected"):
        _library.model_gradients(b"no model")
    with pytest.raises(tf.errors.InvalidArgumentError, match="got NULL"):
        _library.model_gradients(None)
    with (
        pytest.raises(ClientError, match="graph: expected a graph, got NULL"),
        client.status() as status,
    ):
        LIBRARY.TfExt_UseModelGradients(None, None, status)
    with pytest.raises(ClientError, match="expected a folder, and tags"), client.status() as status:
        LIBRARY.TfExt_UseSavedModelGradients(graph._graph, None, None, 0, status)
    with pytest.raises(tf.errors.NotFoundError, match="argument 'directory' is"):
        raw_ops.saved_model_gradients(str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'directory'"):
        raw_ops.saved_model_gradients([str(model)])


def _without_function(saved: meta_graph_pb2.MetaGraphDef) -> None:
    rows = saved.graph_def.library.registered_gradients
    (rows[0].gradient_func) = "absent"


def _without_objects(saved: meta_graph_pb2.MetaGraphDef) -> None:
    saved.object_graph_def.Clear()


def _with_wrong_capture(saved: meta_graph_pb2.MetaGraphDef) -> None:
    (row,) = saved.graph_def.library.registered_gradients
    saved.object_graph_def.concrete_functions[row.gradient_func].bound_inputs.append(1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_function, "does not have this gradient"),
        (_without_objects, "does not say what its gradient .* captured"),
        (_with_wrong_capture, "captured the object 1000, which the model does not have"),
    ],
)
def test_broken_model(
    client: Client, model: pathlib.Path, tmp_path: pathlib.Path, change: Any, message: str
) -> None:
    """A model that another tool wrote gives an error at the node, and never a wrong gradient."""
    saved = saved_model_pb2.SavedModel.FromString((model / "saved_model.pb").read_bytes())
    change(saved.meta_graphs[0])
    graph = client.load_saved_model(model, handed_over=False)
    content = _library.model_gradients(saved.meta_graphs[0].SerializeToString())
    graph.add(content)
    with pytest.raises(ClientError, match=message):
        gradient(graph)


def test_gradients_that_python_overrides(client: Client, tmp_path: pathlib.Path) -> None:
    with tfe.override_gradient({"Sign": lambda op, dy: 5 * dy, "Mul": lambda op, dz: [7 * dz, dz]}):
        model = save(tmp_path, tf.sign)
    assert gradient(client.load_saved_model(model)) == 35


@tf.custom_gradient
def sparse(x: tf.Tensor) -> Any:
    """A gradient that is tf.IndexedSlices."""
    rows = tf.constant([0], tf.int64)
    return x * 1.0, lambda dy: tf.IndexedSlices(tf.reshape(dy, [1]), rows, rows + 1)


def looked_up(x: tf.Tensor) -> tf.Tensor:
    """The gradient uses a table that the function does not receive."""

    @tf.custom_gradient
    def of_table(x: tf.Tensor) -> Any:
        size = tf.raw_ops.LookupTableSizeV2
        return x * 1.0, lambda dy: dy * tf.cast(size(table_handle=TABLE.resource_handle), dy.dtype)

    return of_table(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (sparse, "has the type IndexedSlicesSpec; return a dense tensor"),
        (looked_up, "captured the object .*, which its function does not receive. Pass it"),
    ],
)
def test_refused(client: Client, tmp_path: pathlib.Path, function: Any, message: str) -> None:
    graph = client.load_saved_model(save(tmp_path, function))
    with pytest.raises(ClientError, match=message):
        gradient(graph)


def test_second_order_that_the_model_lacks(client: Client, tmp_path: pathlib.Path) -> None:
    """TensorFlow does not save the gradient of a function that only a gradient calls."""

    @tf.custom_gradient
    def outer(x: tf.Tensor) -> Any:
        return x * x, lambda dy: reversing(-3.0)(dy * x)

    graph = client.load_saved_model(save(tmp_path, outer))
    (dx,) = graph.gradients([Y], [X], [])
    assert dx is not None
    assert graph.run([dx], {X: np.array(1, np.float32)}) == [4]
    with pytest.raises(ClientError, match="does not have this gradient"):
        graph.gradients([dx], [X], [])


def test_every_list_has_each_gradient_once(model: pathlib.Path) -> None:
    rows = [row for row in tfe.describe_saved_model(model) if row[0] == "gradient"]
    listed = meta_graph(model).graph_def.library.registered_gradients
    assert [row[3] for row in rows] == [row.registered_op_type for row in listed]
    for function, node in ((row[1], row[2]) for row in rows):
        functions = meta_graph(model).graph_def.library.function
        nodes = itertools.chain(*(f.node_def for f in functions if f.signature.name == function))
        assert node in [n.name for n in nodes]
