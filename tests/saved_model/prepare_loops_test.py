"""python -m tensorflow_ext prepare: models and frozen graphs with loops of TensorFlow 1."""

import pathlib
from typing import Any

import numpy as np
import old_loops
import pytest
import tensorflow as tf
from c_client import Client, tensorflow_dir
from old_loops import SHAPE, UNITS, v1
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

import tensorflow_ext as tfe
from tensorflow_ext import __main__ as command_line
from tensorflow_ext._runtime import _library

FEEDS = {"x:0": old_loops.draw(3, *SHAPE)}
WEIGHTS = old_loops.draw(1, 2 * UNITS, 4 * UNITS)
UPSTREAM = old_loops.draw(5, SHAPE[0], SHAPE[1] + 1, UNITS)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), _library.PATH)


def save(folder: pathlib.Path, trained: bool, **options: Any) -> list[np.ndarray]:
    """Saves an LSTM as TensorFlow 1 does, with a table from a file; returns y, dy/dx, dy/dw.

    Args:
      folder: A new folder.
      trained: Also saves the gradients and the ops that train.
      **options: Of the variable.
    """
    words = folder.parent / "words.txt"
    words.write_text("one\ntwo\n")
    with tf.Graph().as_default(), old_loops.control_flow(1), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, *SHAPE[1:]], name="x")
        word = v1.placeholder_with_default("two", [], name="word")
        w = v1.get_variable("w", initializer=tf.constant(WEIGHTS), **options)
        asset = tf.constant(str(words), name="asset")
        lines = tf.lookup.TextFileInitializer(
            asset, tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        y = tf.identity(old_loops.dynamic_lstm(x, w), name="y")
        index = tf.identity(tf.lookup.StaticHashTable(lines, -1).lookup(word), name="index")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])

        def write() -> None:
            v1.saved_model.simple_save(
                session,
                str(folder),
                {"x": x, "word": word},
                {"y": y, "index": index},
                legacy_init_op=v1.tables_initializer(),
            )

        if not trained:
            write()
        expected = session.run([y, *tf.gradients(y, [x, w], UPSTREAM)], FEEDS)
        if trained:
            v1.train.GradientDescentOptimizer(0.1).minimize(y)
            write()
        return expected


def meta_graph(folder: pathlib.Path) -> Any:
    content = (folder / "saved_model.pb").read_bytes()
    (found,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    return found


def check_in_c(client: Client, folder: pathlib.Path, expected: list[np.ndarray]) -> None:
    """Compares y, and the gradients by x and, if it is a resource, by the variable."""
    rows = [row for row in tfe.describe_saved_model(folder) if row[0] == "signature"]
    tensors = {row[3]: row[4] for row in rows if row[2] in ("input", "output")}
    variables = [f"{row[3]}:0" for row in rows if row[2] == "variable"]
    graph = client.load_saved_model(folder)
    with tf.Graph().as_default() as other:
        tf.constant(UPSTREAM, name="upstream")
    graph.add(other.as_graph_def().SerializeToString())
    xs = [tensors["x"], *variables]
    gradients = [str(g) for g in graph.gradients([tensors["y"]], xs, ["upstream:0"])]
    feeds = {tensors["x"]: FEEDS["x:0"], tensors["word"]: np.array(b"two", object)}
    found = graph.run([tensors["y"], *gradients, tensors["index"]], feeds)
    assert found.pop() == 1
    check(found, expected[: len(found)])


def check_in_python(folder: pathlib.Path, expected: list[np.ndarray]) -> None:
    loaded = tf.saved_model.load(str(folder))
    predict = loaded.signatures["serving_default"]
    x = tf.constant(FEEDS["x:0"])
    variables = [v for v in predict.graph.variables if v.dtype == tf.float32]
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = predict(x=x, word=tf.constant("two"))
    assert found["index"].numpy() == 1
    check([found["y"], *tape.gradient(found["y"], [x, *variables], UPSTREAM)], expected)


def check(found: list[Any], expected: list[np.ndarray]) -> None:
    np.testing.assert_array_equal(found[0], expected[0])
    for value, wanted in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[np.ndarray]]:
    folder = tmp_path_factory.mktemp("old") / "model"
    return folder, save(folder, trained=False, use_resource=True)


def test_a_model(
    client: Client,
    untrained: tuple[pathlib.Path, list[np.ndarray]],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, expected = untrained
    out = tmp_path / "prepared"
    assert command_line.main(["prepare", str(folder), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "gradients of the model that are ready for every client: 0",
        "loops of TensorFlow 1 that became While ops: 1",
    ]
    check_in_c(client, out, expected)
    check_in_python(out, expected)
    before, after = meta_graph(folder), meta_graph(out)
    assert after.signature_def == before.signature_def
    assert after.meta_info_def.tags == before.meta_info_def.tags
    assert after.saver_def == before.saver_def
    assert after.asset_file_def == before.asset_file_def
    assert set(before.collection_def) - set(after.collection_def) == {"while_context"} | (
        {"cond_context"} & set(before.collection_def)
    )
    # The second call changes nothing.
    content = (out / "saved_model.pb").read_bytes()
    assert tfe.prepare_saved_model(out) == []
    assert (out / "saved_model.pb").read_bytes() == content


@pytest.mark.parametrize("use_resource", [True, False])
def test_a_model_with_its_training(
    client: Client, tmp_path: pathlib.Path, use_resource: bool
) -> None:
    """The gradients that Python saved are removed; the rest of the model stays."""
    folder = tmp_path / "model"
    expected = save(folder, trained=True, use_resource=use_resource)
    before = meta_graph(folder)
    rows = tfe.prepare_saved_model(folder)
    assert [row for row in rows if row[0] == "loop"] == [["loop", "", "rnn/while/while_context"]]
    removed = {row[-1] for row in rows if row[0] == "removed"}
    assert "gradients/AddN" in removed or any(name.startswith("gradients") for name in removed)
    assert not removed & {"x", "w", "y", "index", "save/restore_all", "save/control_dependency"}
    after = meta_graph(folder)
    assert "train_op" not in after.collection_def
    assert after.signature_def == before.signature_def
    check_in_c(client, folder, expected)
    if use_resource:
        check_in_python(folder, expected)


def test_a_model_that_was_saved_again(
    client: Client, untrained: tuple[pathlib.Path, list[np.ndarray]], tmp_path: pathlib.Path
) -> None:
    """TensorFlow 2 writes the loops of such a model into functions."""
    folder, expected = untrained
    loaded = tf.saved_model.load(str(folder))
    again = tmp_path / "again"
    tf.saved_model.save(loaded, str(again), signatures=loaded.signatures)
    rows = tfe.prepare_saved_model(again)
    assert {row[0] for row in rows} == {"loop"}
    assert all(row[1].startswith("__inference_") for row in rows)
    check_in_c(client, again, expected)
    check_in_python(again, expected)


def test_a_frozen_graph(
    client: Client, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y, graph_def, dx = old_loops.build(old_loops.MODELS["scan"])
    file, out = tmp_path / "frozen.pb", tmp_path / "functional.pb"
    file.write_bytes(graph_def.SerializeToString())
    assert command_line.main(["prepare", str(file), "--out", str(out)]) == 0
    assert capsys.readouterr().out == "loops of TensorFlow 1 that became While ops: 1\n"
    content = tfe.functionalize_graph_def(graph_def)
    assert graph_pb2.GraphDef.FromString(out.read_bytes()) == content
    graph = client.import_graph(out.read_bytes())
    (gradient,) = graph.gradients(["y:0"], ["x:0"], ["dy:0"])
    feeds = FEEDS | {"dy:0": old_loops.draw(5, *y.shape)}
    with v1.Session(graph=y.graph) as session:
        expected = session.run([y, dx], feeds)
    check(graph.run(["y:0", str(gradient)], feeds), expected)

    file.write_bytes(y.graph.as_graph_def().SerializeToString())
    assert command_line.main(["prepare", str(file)]) == 1
    assert "a gradient that Python added to the graph" in capsys.readouterr().err
    assert command_line.main(["prepare", str(file), "--outputs", "y:0", "dy"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "loops of TensorFlow 1 that became While ops: 1"
    assert said[1].startswith("nodes removed, because no output needs them: ")
    kept = {node.name for node in graph_pb2.GraphDef.FromString(file.read_bytes()).node}
    assert {"x", "y", "dy"} <= kept
    assert "ddx" not in kept


def test_bad_input(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file.pb"
    folder = tmp_path / "folder"
    folder.mkdir()
    for content, arguments, message in (
        (b"\xffgarbage", [file], "file.pb is not a GraphDef"),
        (b"", [file], "not a GraphDef with nodes; for a SavedModel, give its folder"),
        (None, [folder, "--outputs", "y:0"], "--outputs is for a file with a GraphDef"),
        (None, [tmp_path / "none"], "expected a SavedModel"),
    ):
        if content is not None:
            file.write_bytes(content)
        assert command_line.main(["prepare", *map(str, arguments)]) == 1
        assert message in capsys.readouterr().err
    file.write_bytes(graph_pb2.GraphDef(node=[{"name": "x", "op": "NoOp"}]).SerializeToString())
    assert command_line.main(["prepare", str(file), "--out", str(folder)]) == 1
    assert "folder exists already" in capsys.readouterr().err
