"""Sessions of every language on three servers. The last server lacks the library."""

import contextlib
import pathlib
import unittest.mock
from collections.abc import Iterator
from typing import NamedTuple

import forked
import judge
import launch
import loopback
import numpy as np
import processes
import pytest
import tensorflow as tf
from client_process import ClientProcess
from loopback import Loopback, Task

import tensorflow_ext as tfe
from tensorflow_ext import _version
from tensorflow_ext.distribute import check_cluster

LIMIT = 240.0  # seconds for the life of the servers
ROOT = pathlib.Path(__file__).absolute().parents[2]
LACKING = 2
SERVER = f"""
import json, os, runpy, sys, types

if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == {LACKING}:
    sys.modules["tensorflow_ext"] = types.ModuleType("nothing")
runpy.run_path({str(ROOT / "examples" / "cluster" / "server.py")!r}, None, "__main__")
"""
SHAPE = (3, 5)
INPUTS = {"x": SHAPE, "scale": SHAPE[1:], "offset": SHAPE[1:]}
UPSTREAMS = {"dy": SHAPE, "ddx": SHAPE}


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    """The addresses of the servers; the last server lacks the library."""
    with contextlib.ExitStack() as stack:
        with unittest.mock.patch.object(loopback, "new_process", forked.Process):
            cluster = stack.enter_context(Loopback(["-c", SERVER], {"worker": LACKING + 1}, LIMIT))
        serving: set[Task] = set()
        for task, line in cluster.lines([Task("worker", 0)]):
            serving |= {task} if line == "serving" else set()
            if len(serving) == LACKING + 1:
                break
        yield cluster.cluster["worker"]


def graph_def(first: str = "", second: str = "") -> bytes:
    """y as a function of x, scale and offset; ops of the library on two devices, there and back."""
    with tf.Graph().as_default() as graph:
        x, scale, offset, _, _ = (
            tf.compat.v1.placeholder(tf.float32, shape, name)
            for name, shape in {**INPUTS, **UPSTREAMS}.items()
        )
        with tf.device(first):
            y = tfe.layer_norm(tfe.mish(x), scale, offset)[0]
        with tf.device(second):
            y = tfe.lisht(y)
        with tf.device(first):
            tf.identity(tfe.sparsemax(y), "y")
    return graph.as_graph_def().SerializeToString()


def tasks(*indices: int) -> list[str]:
    return [f"/job:worker/task:{index}" for index in indices]


class Computed(NamedTuple):
    """The results of a client, and its graph afterwards."""

    values: list[np.ndarray]
    fetches: list[str]
    graph_def: bytes


def compute(client: ClientProcess, graph: bytes) -> Computed:
    """y, its gradients, and the gradient of the first of them by all inputs."""
    client.import_graph(graph)
    xs = [f"{name}:0" for name in INPUTS]
    gradients = client.add_gradients(["y:0"], xs, ["dy:0"])
    second = client.add_gradients(gradients[:1], xs[:2], ["ddx:0"])
    fetches = ["y:0", *gradients, *second]
    assert None not in fetches
    return Computed(client.run(feeds(), fetches), fetches, client.export_graph())


def feeds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        f"{name}:0": rng.normal(size=shape).astype(np.float32)
        for name, shape in {**INPUTS, **UPSTREAMS}.items()
    }


def placed(computed: Computed, target: str) -> dict[str, set[str]]:
    """The library's ops that run in each task."""
    options = tf.compat.v1.RunOptions(output_partition_graphs=True)
    metadata = tf.compat.v1.RunMetadata()
    graph_def = tf.compat.v1.GraphDef.FromString(computed.graph_def)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(target) as session:
            session.run(computed.fetches, feeds(), options, metadata)
        del graph
    found: dict[str, set[str]] = {}
    for partition in metadata.partition_graphs:
        for node in partition.node:
            if node.op.startswith("TfExt>"):
                task = node.device.partition("/device")[0].replace("/replica:0", "")
                found.setdefault(task, set()).add(node.op.removeprefix("TfExt>"))
    return found


@pytest.mark.parametrize("language", judge.PROGRAMS)
def test_gradients_on_two_servers(language: str, addresses: list[str]) -> None:
    client = judge.find_client(language)
    assert isinstance(client, ClientProcess)
    here = compute(client, graph_def())
    client.connect(f"grpc://{addresses[0]}")
    try:
        there = compute(client, graph_def(*tasks(0, 1)))
    finally:
        client.connect("")
    for one, other in zip(here.values, there.values, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.any(one != 0)
    on = placed(there, f"grpc://{addresses[0]}")
    first, second = tasks(0, 1)
    assert on.keys() == {first, second}
    assert on[first] >= {"Mish", "MishGrad", "LayerNorm", "LayerNormGrad", "Sparsemax"}
    assert on[second] >= {"Lisht", "LishtGrad"}
    assert not on[first] & {"Lisht", "LishtGrad"}


@pytest.mark.parametrize("language", judge.PROGRAMS)
def test_server_without_the_library(language: str, addresses: list[str]) -> None:
    client = judge.find_client(language)
    assert isinstance(client, ClientProcess)
    client.connect(f"grpc://{addresses[0]}")
    try:
        client.import_graph(graph_def(*tasks(0, LACKING)))
        # A NotFoundError; TensorFlow Java does not tell which error it is.
        with pytest.raises(tf.errors.OpError) as raised:
            client.run(feeds(), ["y:0"])
    finally:
        client.connect("")
    assert "'TfExt>Lisht'" in str(raised.value)
    assert f"/job:worker/replica:0/task:{LACKING}" in str(raised.value)


def test_example() -> None:
    done = launch.run_session(LIMIT)
    assert done.returncode == 0, done.stderr
    assert "the same bits as in this process" in done.stdout


# ----- check_cluster.


def test_ready_cluster(addresses: list[str]) -> None:
    cluster = {"worker": addresses[:LACKING]}
    expected = dict.fromkeys(tasks(0, 1), tfe.__version__)
    assert check_cluster(cluster) == expected
    assert check_cluster(tf.train.ClusterSpec(cluster)) == expected
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type="worker", task_id=0
    )
    assert check_cluster(resolver) == {tasks(1)[0]: tfe.__version__}


def test_one_machine_has_no_tasks() -> None:
    assert check_cluster() == {}
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        assert check_cluster() == {}


def test_task_without_the_library(addresses: list[str]) -> None:
    with pytest.raises(RuntimeError) as raised:
        check_cluster({"worker": addresses})
    (line,) = str(raised.value).splitlines()[1:]
    assert f"{tasks(LACKING)[0]} ({addresses[LACKING]})" in line
    assert "TfExt>CheckGradientShape" in line
    assert "`import tensorflow_ext` in every process" in line


def test_task_that_does_not_answer(addresses: list[str]) -> None:
    with pytest.raises(RuntimeError, match=r"task:1 \(127.0.0.1:1\).* within 1 s"):
        check_cluster({"worker": [addresses[0], "127.0.0.1:1"]}, timeout=1)


def test_task_with_another_version(addresses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_version, "read_stamp", lambda _: ("9.8.7", tf.__version__))
    with pytest.raises(RuntimeError) as raised:
        check_cluster({"worker": addresses[:LACKING]})
    message = str(raised.value)
    assert f"has loaded tensorflow_ext {tfe.__version__} for TensorFlow" in message
    assert f"and this process tensorflow_ext 9.8.7 for TensorFlow {tf.__version__}" in message


def test_task_without_another_library(addresses: list[str]) -> None:
    """Runs last, because the library stays loaded."""
    library = processes.other_library()
    tfe.load_op_library(library)
    with pytest.raises(RuntimeError) as raised:
        check_cluster({"worker": addresses[:1]})
    assert "does not know the ops Other>" in str(raised.value)
    assert f"tensorflow_ext.load_op_library({library!r})" in str(raised.value)
