"""TfExt_DescribeMetaGraph, which describes a SavedModel to a C client."""

import pathlib

import keras
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from tensorflow_ext._runtime import _library

v1 = tf.compat.v1


def read(model: pathlib.Path) -> meta_graph_pb2.MetaGraphDef:
    saved = saved_model_pb2.SavedModel.FromString((model / "saved_model.pb").read_bytes())
    (meta_graph,) = saved.meta_graphs
    return meta_graph


def describe(meta_graph: meta_graph_pb2.MetaGraphDef) -> list[list[str]]:
    return _library.describe_meta_graph(meta_graph.SerializeToString())


class Module(tf.Module):
    """Two signatures, one of which uses only a variable; a nested call."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([3, 2], tf.float64), name="w")
        self.b = tf.Variable(tf.zeros([2], tf.float64), name="b", trainable=False)
        self.steps = tf.Variable(0, name="steps", dtype=tf.int64)

    @tf.function
    def affine(self, x: tf.Tensor) -> tf.Tensor:
        return x @ self.w + self.b

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64, "x")])
    def predict(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": self.affine(x), "total": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int64, "by")])
    def count(self, by: tf.Tensor) -> tf.Tensor:
        return self.steps + by


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("module")
    saved = Module()
    signatures = {"predict": saved.predict, "count": saved.count}
    tf.saved_model.save(saved, str(folder), signatures)
    return folder


@pytest.fixture
def module(folder: pathlib.Path) -> meta_graph_pb2.MetaGraphDef:
    """The saved module, for a test to change."""
    return read(folder)


def test_module(module: meta_graph_pb2.MetaGraphDef) -> None:
    lines = ["\t".join(line) for line in describe(module)]
    count, predict = (module.signature_def[name] for name in ("count", "predict"))
    saver = module.saver_def
    variables = {
        "w": "signature predict variable w double [3,2] trainable",
        "b": "signature predict variable b double [2] fixed",
    }
    in_the_graph = [n.name for n in module.graph_def.node if n.name in variables]
    expected = [
        "signature count input by count_by:0 int64 unknown",
        f"signature count output output_0 {count.outputs['output_0'].name} int64 unknown",
        "signature count variable steps int64 [] trainable",
        "signature predict input x predict_x:0 double [-1,3]",
        f"signature predict output total {predict.outputs['total'].name} double []",
        f"signature predict output y {predict.outputs['y'].name} double [-1,2]",
        *(variables[name] for name in in_the_graph),
        f"saver filename {saver.filename_tensor_name}",
        f"saver save {saver.save_tensor_name}",
        f"saver restore {saver.restore_op_name}",
    ]
    assert lines == [line.replace(" ", "\t") for line in expected]


def test_keras_says_which_variables_are_fixed(tmp_path: pathlib.Path) -> None:
    norm = keras.layers.BatchNormalization(name="norm")
    frozen = keras.layers.Dense(3, use_bias=False, name="frozen", trainable=False)
    model = keras.Sequential([keras.Input((4,)), norm, keras.layers.Dense(3, name="named"), frozen])
    model.export(tmp_path, verbose=False)
    lines = describe(read(tmp_path))
    variables = {
        line[3].partition("/")[2].rstrip("_0123456789"): line[5:]
        for line in lines
        if line[:3] == ["signature", "serving_default", "variable"]
    }
    assert variables == {
        "norm/gamma": ["[4]", "trainable"],
        "norm/beta": ["[4]", "trainable"],
        "norm/moving_mean": ["[4]", "fixed"],
        "norm/moving_variance": ["[4]", "fixed"],
        "named/kernel": ["[4,3]", "trainable"],
        "named/bias": ["[3]", "trainable"],
        "frozen/kernel": ["[3,3]", "fixed"],
    }
    nodes = {node.name: node for node in read(tmp_path).graph_def.node}
    copied = {
        nodes[nodes[line[2]].input[1]].input[0] for line in lines if line[:2] == ["saver", "copy"]
    }
    # Keras lists each of them twice.
    assert copied == {line[3] for line in lines if line[2] == "variable"}


def test_keras_2_says_which_layers_are_frozen(tmp_path: pathlib.Path) -> None:
    layers = tf_keras.layers
    inner = tf_keras.Sequential([layers.Dense(2, input_shape=(4,), name="a", trainable=False)])
    model = tf_keras.Sequential([inner, layers.Dense(1, name="b")])
    tf_keras.models.save_model(model, str(tmp_path / "m"), save_format="tf")
    lines = describe(read(tmp_path / "m"))
    assert {line[3]: line[6] for line in lines if line[2] == "variable"} == {
        "a/kernel": "fixed",
        "a/bias": "fixed",
        "b/kernel": "trainable",
        "b/bias": "trainable",
    }


def test_tensorflow_1(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.get_variable("w", [2], use_resource=True)
        c = v1.get_variable("c", [], use_resource=True, trainable=False)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": x * w + c})
    lines = describe(read(tmp_path / "m"))
    assert [line[3:] for line in lines if line[2] == "variable"] == [
        ["w", "float", "[2]", "trainable"],
        ["c", "float", "[]", "fixed"],
    ]
    assert [line[1] for line in lines if line[0] == "saver"] == ["filename", "save", "restore"]


def test_without_saved_objects_trainable_is_unknown(module: meta_graph_pb2.MetaGraphDef) -> None:
    module.ClearField("object_graph_def")
    module.ClearField("saver_def")
    lines = describe(module)
    assert {line[-1] for line in lines if line[2] == "variable"} == {"unknown"}
    assert {line[0] for line in lines} == {"signature"}


def test_control_inputs_of_a_call_are_no_captures(module: meta_graph_pb2.MetaGraphDef) -> None:
    before = [line for line in describe(module) if line[:2] == ["signature", "predict"]]
    for node in module.graph_def.node:
        if node.op == "StatefulPartitionedCall":
            node.input.append("^w")
    assert [line for line in describe(module) if line[:2] == ["signature", "predict"]] == before


def test_composite_tensors() -> None:
    meta_graph = meta_graph_pb2.MetaGraphDef()
    for name in ("a", "b", "c"):
        meta_graph.graph_def.node.add(name=name, op="Placeholder")
    inputs = meta_graph.signature_def["s"].inputs
    sparse = inputs["sparse"]
    sparse.dtype = tf.float32.as_datatype_enum
    sparse.coo_sparse.values_tensor_name = "a:0"
    sparse.coo_sparse.indices_tensor_name = "b:0"
    sparse.coo_sparse.dense_shape_tensor_name = "c:0"
    for name in ("a:0", "b:0"):
        part = inputs["ragged"].composite_tensor.components.add(name=name)
        part.dtype = tf.int64.as_datatype_enum
        part.tensor_shape.dim.add(size=-1)
    assert describe(meta_graph) == [
        ["signature", "s", "input", *line]
        for line in [
            ["ragged/0", "a:0", "int64", "[-1]"],
            ["ragged/1", "b:0", "int64", "[-1]"],
            ["sparse/dense_shape", "c:0", "int64", "unknown"],
            ["sparse/indices", "b:0", "int64", "unknown"],
            ["sparse/values", "a:0", "float", "unknown"],
        ]
    ]


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (None, "got NULL"),
        (b"", "got 0 bytes of something else"),
        (b"\xff" * 40, "got 40 bytes of something else"),
        (meta_graph_pb2.MetaGraphDef().SerializeToString(), "got 0 bytes"),
    ],
)
def test_not_a_meta_graph(content: bytes | None, got: str) -> None:
    message = f"expected a serialized tensorflow.MetaGraphDef with a graph.*{got}"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _library.describe_meta_graph(content)


def test_what_a_signature_names_must_exist(module: meta_graph_pb2.MetaGraphDef) -> None:
    module.signature_def["predict"].outputs["y"].name = "nowhere:3"
    message = "output 'y' of signature 'predict' is 'nowhere:3', and the graph has no"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        describe(module)


@pytest.mark.parametrize("separator", ["\t", "\n"])
def test_names_that_would_break_a_line(separator: str, module: meta_graph_pb2.MetaGraphDef) -> None:
    module.signature_def["predict"].inputs[f"a{separator}b"].name = "predict_x:0"
    with pytest.raises(tf.errors.InvalidArgumentError, match="holds a tab or a line end"):
        describe(module)


def test_a_variable_without_attributes(module: meta_graph_pb2.MetaGraphDef) -> None:
    for node in module.graph_def.node:
        if node.op == "VarHandleOp":
            node.ClearField("attr")
    with pytest.raises(tf.errors.OpError, match="dtype"):
        describe(module)
