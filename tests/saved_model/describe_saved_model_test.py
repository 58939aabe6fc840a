"""TfExt>DescribeSavedModel, which describes a SavedModel to a client that can only run ops."""

import concurrent.futures
import pathlib

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("saved model")
    module = tf.Module()
    module.w = tf.Variable(tf.ones([3, 2], tf.float64), name="w")
    spec = tf.TensorSpec([None, 3], tf.float64, "x")
    predict = tf.function(lambda x: x @ module.w, input_signature=[spec])
    tf.saved_model.save(module, str(folder), {"predict": predict})
    return folder


def read(folder: pathlib.Path) -> saved_model_pb2.SavedModel:
    content = (folder / "saved_model.pb").read_bytes()
    return saved_model_pb2.SavedModel.FromString(content)


def write(saved: saved_model_pb2.SavedModel, folder: pathlib.Path) -> None:
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())


def described(saved: saved_model_pb2.SavedModel, graph: int = 0) -> list[list[str]]:
    return _library.describe_meta_graph(saved.meta_graphs[graph].SerializeToString())


def test_the_lines_are_those_of_the_c_function(folder: pathlib.Path) -> None:
    rows = tfe.describe_saved_model(folder)
    assert ["signature", "predict", "variable", "w", "double", "[3,2]", "trainable"] in rows
    assert rows == described(read(folder))


def test_in_a_session(folder: pathlib.Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        directory = v1.placeholder(tf.string, [])
        lines = raw_ops.describe_saved_model(directory)
        assert lines.shape.as_list() == [None]
        found = session.run(lines, {directory: str(folder)})
        # The Python function reads it at once, even while a graph is being built.
        assert tfe.describe_saved_model(folder) == [line.decode().split("\t") for line in found]


def test_checkpoints_by_the_saver_of_the_model(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """As docs/languages.md says, in a session with the model's own graph."""
    rows = tfe.describe_saved_model(folder)
    saver = {row[1]: row[2] for row in rows if row[0] == "saver"}
    prefix = str(tmp_path / "step_100")
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(folder))
        (handle,) = (op.outputs[0] for op in graph.get_operations() if op.type == "VarHandleOp")
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64)
        next_value = tf.raw_ops.AssignAddVariableOp(resource=handle, value=value)
        session.run(next_value)
        session.run(saver["save"], {saver["filename"]: prefix})
        session.run(next_value)
        assert (session.run(value) == 4).all()
        session.run(saver["restore"], {saver["filename"]: prefix})
        assert (session.run(value) == 2).all()
        own = str(tmp_path / "own")
        session.run(
            tf.raw_ops.SaveV2(
                prefix=own, tensor_names=["w"], shape_and_slices=[""], tensors=[value]
            )
        )
    assert (tf.train.load_checkpoint(own).get_tensor("w") == 2).all()
    reader = tf.train.load_checkpoint(prefix)
    assert (reader.get_tensor("w/.ATTRIBUTES/VARIABLE_VALUE") == 2).all()


def test_a_session_reads_the_file_as_it_is_now(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    saved = read(folder)
    with tf.Graph().as_default(), v1.Session() as session:
        lines = raw_ops.describe_saved_model(str(tmp_path))
        for signatures in (1, 0):
            if not signatures:
                saved.meta_graphs[0].signature_def.clear()
            write(saved, tmp_path)
            found = [line.split(b"\t")[0] for line in session.run(lines)]
            assert (b"signature" in found) == bool(signatures)


def test_text(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = text_format.MessageToString(read(folder))
    (tmp_path / "saved_model.pbtxt").write_text(text)
    assert tfe.describe_saved_model(tmp_path) == tfe.describe_saved_model(folder)


def test_tags_choose_the_graph(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    saved = read(folder)
    second = saved.meta_graphs.add()
    second.CopyFrom(saved.meta_graphs[0])
    second.meta_info_def.tags[:] = ["serve", "gpu"]
    second.signature_def["again"].CopyFrom(second.signature_def["predict"])
    write(saved, tmp_path)
    assert tfe.describe_saved_model(tmp_path) == described(saved)
    both = tfe.describe_saved_model(tmp_path, ["gpu", "serve"])
    assert both == described(saved, 1) != described(saved)
    assert tfe.describe_saved_model(tmp_path, "serve") == described(saved)
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tfe.describe_saved_model(tmp_path, "train")
    message = str(caught.value)
    assert f"argument 'directory' is '{tmp_path}'" in message
    assert "no graph with the tags [train]; those there are: [serve], [serve, gpu]" in message


def test_no_saved_model(tmp_path: pathlib.Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(tf.errors.NotFoundError) as caught:
            tfe.describe_saved_model(folder)
        assert f"argument 'directory' is '{folder}': Could not find" in str(caught.value)


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_file_that_is_none(name: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / name).write_bytes(b"\xff" * 40)
    with pytest.raises(tf.errors.OpError, match=r"argument 'directory' is '.*[pP]arse"):
        tfe.describe_saved_model(tmp_path)


def test_an_empty_file_has_no_graph(tmp_path: pathlib.Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(tf.errors.NotFoundError, match="those there are: none"):
        tfe.describe_saved_model(tmp_path)


def test_a_wrong_graph(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    saved = read(folder)
    outputs = saved.meta_graphs[0].signature_def["predict"].outputs
    outputs["output_0"].name = "nowhere:3"
    write(saved, tmp_path)
    message = "is 'nowhere:3', and the graph has no"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tfe.describe_saved_model(tmp_path)


def test_directory_is_a_scalar(folder: pathlib.Path) -> None:
    expected = r"argument 'directory' has shape \[1\], expected a scalar, \[\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
        raw_ops.describe_saved_model([str(folder)])
    with tf.Graph().as_default(), pytest.raises(ValueError, match=expected):
        raw_ops.describe_saved_model([str(folder)])


def test_no_gradient(folder: pathlib.Path) -> None:
    registries = _library.registries("TfExt>DescribeSavedModel")
    assert _library.Registries.FUNCTION_NO_GRADIENT in registries
    assert _library.Registries.CLIENT_NO_GRADIENT in registries


def test_many_threads(folder: pathlib.Path) -> None:
    expected = tfe.describe_saved_model(folder)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = threads.map(tfe.describe_saved_model, [folder] * 160)
    assert list(found) == [expected] * 160
