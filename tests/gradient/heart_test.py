# SPDX-License-Identifier: Apache-2.0
"""The heart: finding, checking, planning and expanding a gradient.

Clients are the C interface (tensorflow_ext._library) and TF_AddGradients
(c_client). faulty_ops.cc and faulty_checks.cc hold the ops.
"""

import os
import threading

import pytest
import tensorflow as tf
from c_client import Client, ClientError, Graph, tensorflow_dir
from tensorflow.core.framework import graph_pb2, node_def_pb2

from tensorflow_ext import _library

FAULTY_OPS = os.environ["FAULTY_OPS"]

NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED = 5, 3, 9, 12


@pytest.fixture(scope="module")
def client() -> Client:
    client = Client(tensorflow_dir(), str(_library.PATH))
    client.load(FAULTY_OPS)
    assert _library.register_gradients() > 0
    # All of them are known by now.
    assert _library.register_gradients() == 0
    return client


def node_def(op: str, **attributes: object) -> node_def_pb2.NodeDef:
    node = node_def_pb2.NodeDef(op=op)
    for name, value in attributes.items():
        attribute = node.attr[name]
        if isinstance(value, tf.DType):
            attribute.type = value.as_datatype_enum
        elif isinstance(value, float):
            attribute.f = value
        else:
            assert isinstance(value, int)
            attribute.i = value
    return node


def plan(op: str, wanted: list[bool] | None = None, **attributes: object) -> dict:
    """The plan's nodes by name."""
    graph = graph_pb2.GraphDef.FromString(
        _library.gradient_plan(node_def(op, **attributes).SerializeToString(), wanted)
    )
    return {node.name: node for node in graph.node}


def graph_with(client: Client, op: str, device: str = "", **attributes: object) -> Graph:
    """A graph with float placeholders x, u and `op` on x, called f."""
    graph_def = graph_pb2.GraphDef()
    for name in ("x", "u"):
        placeholder = graph_def.node.add(name=name, op="Placeholder")
        placeholder.attr["dtype"].type = tf.float32.as_datatype_enum
        placeholder.attr["shape"].shape.dim.add(size=3)
    node = node_def(op, T=tf.float32, **attributes)
    node.name, node.device = "f", device
    node.input.append("x")
    graph_def.node.append(node)
    return client.import_graph(graph_def.SerializeToString())


# Op, status code, fragments of the message.
FAULTS = [
    ("TooManyResults", FAILED_PRECONDITION, ["2 results (float, float)", "expected (float)"]),
    ("TooFewArguments", FAILED_PRECONDITION, ["1 argument", "(float, float)"]),
    ("ArgumentType", FAILED_PRECONDITION, ["argument 1", "int64", "float"]),
    ("ResultType", FAILED_PRECONDITION, ["result 0", "bool", "float"]),
    (
        "UnknownAttribute",
        FAILED_PRECONDITION,
        ["'sharpness'", "Faulty>UnknownAttribute has not", "T, scale"],
    ),
    ("UnknownPlaceholder", FAILED_PRECONDITION, ["'dx' of op Mul", "'T' is $U", "T, scale"]),
    ("DefinedWrong", INVALID_ARGUMENT, ["'dx' of op Mul", "'slope'"]),
    ("Throws", FAILED_PRECONDITION, ["its creator throws: the table is on fire"]),
    ("ThrowsANumber", FAILED_PRECONDITION, ["throws what is no std::exception"]),
    ("CreatorFails", UNIMPLEMENTED, ["scale=0 is not supported"]),
    ("EmptyDefinition", FAILED_PRECONDITION, ["0 arguments"]),
    ("UnknownOp", FAILED_PRECONDITION, ["'a'", "Faulty>Nonexistent", "load"]),
    ("UnknownInput", FAILED_PRECONDITION, ["'a' of op Identity", "elsewhere"]),
    ("UnknownResult", FAILED_PRECONDITION, ["elsewhere"]),
    ("MissingNodeAttribute", FAILED_PRECONDITION, ["'a' of op Cast", "DstT"]),
    (
        "NodeInputType",
        FAILED_PRECONDITION,
        ["'a' of op Identity", "'dy'", "float", "int32 is expected (T=float)"],
    ),
    ("Cycle", FAILED_PRECONDITION, ["cycle"]),
]


@pytest.mark.parametrize(("name", "code", "fragments"), FAULTS)
def test_a_wrong_definition_is_an_error_that_says_what(
    client: Client, name: str, code: int, fragments: list[str]
) -> None:
    op = f"Faulty>{name}"
    graph = graph_with(client, op)
    before = graph.nodes()
    for _ in range(2):  # an error is not kept as a plan
        with pytest.raises(ClientError) as caught:
            graph.gradients(["f:0"], ["x:0"], ["u:0"])
        assert caught.value.code == code
        for fragment in [op, *fragments]:
            assert fragment in str(caught.value)
    assert graph.nodes() == before, "nodes were left behind"
    with pytest.raises(tf.errors.OpError, match=op) as raised:
        plan(op, T=tf.float32)
    assert raised.value.error_code == code


def test_an_op_with_no_gradient_anywhere(client: Client) -> None:
    graph = graph_with(client, "Faulty>NoGradientAnywhere")
    with pytest.raises(ClientError, match="No gradient defined for op"):
        graph.gradients(["f:0"], ["x:0"], ["u:0"])
    with pytest.raises(tf.errors.NotFoundError, match="REGISTER_OP_GRADIENT"):
        plan("Faulty>NoGradientAnywhere", T=tf.float32)


def test_an_op_that_is_not_registered(client: Client) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="'Faulty>Absent' is not"):
        plan("Faulty>Absent")


@pytest.mark.parametrize("bytes_", [b"", b"\xff\xff\xff", b"nonsense"])
def test_bytes_that_are_no_node(bytes_: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="NodeDef"):
        _library.gradient_plan(bytes_, None)


def test_attributes_of_the_op_that_are_missing_or_wrong(client: Client) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Featured>Pair.*T"):
        plan("Featured>Pair")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Featured>Pair"):
        plan("Featured>Pair", T=tf.string)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 2"):
        plan("Featured>Pair", wanted=[True], T=tf.float32)


def test_expansion_that_fails_leaves_no_nodes(client: Client) -> None:
    graph = graph_with(client, "Faulty>ShapesNeverFit")
    before = graph.nodes()
    with pytest.raises(ClientError, match=r"gradient of node 'f' of op Faulty>Shapes"):
        graph.gradients(["f:0"], ["x:0"], ["u:0"])
    assert graph.nodes() == before
    # The graph is still good for another gradient.
    assert graph.gradients(["x:0"], ["x:0"], ["u:0"]) == ["u:0"]


def test_the_forward_op_is_reused_and_the_unused_left_out(client: Client) -> None:
    nodes = plan("Featured>Pair", T=tf.float64, scale=2.0)
    ops = sorted(node.op for node in nodes.values() if node.op[0] != "_")
    # Neither the forward op nor what only the integer's gradient needs.
    assert ops == ["AddV2", "Identity", "Mul"]
    # Inputs 0 and 1, upstream 2 and 3, outputs 4 and 5: dy and the statistic.
    assert list(nodes["product"].input) == ["_Arg_2:0", "_Arg_5:0", "^checked"]
    assert nodes["product"].device == "/device:CPU:0"
    assert nodes["product"].attr["T"].type == tf.float64.as_datatype_enum
    assert nodes["_Retval_0"].input[0] == "dx:0"
    assert "_Retval_1" not in nodes


def test_another_attribute_makes_another_op(client: Client) -> None:
    nodes = plan("Featured>Rescaled", T=tf.float32, scale=2.0)
    assert [n.attr["scale"].f for n in nodes.values() if "scale" in n.attr] == [3.0]
    # With scale=3 both are the forward op.
    nodes = plan("Featured>Rescaled", T=tf.float32, scale=3.0)
    assert not [n for n in nodes.values() if n.op == "Featured>Rescaled"]


def test_lists_and_no_gradient(client: Client) -> None:
    nodes = plan("Featured>Lists", N=2)
    assert list(nodes["copies"].input) == ["_Arg_3:0", "_Arg_4:0"]
    assert nodes["_Retval_1"].input[0] == "copies:1"
    assert "_Retval_2" not in nodes
    assert not [n for n in nodes.values() if n.op == "TfExt>NoGradient"]


def test_what_nobody_wants_is_left_out(client: Client) -> None:
    assert plan("Featured>Pair", wanted=[False, True], T=tf.float32) == {}
    nodes = plan("Featured>Lists", wanted=[False, True, True], N=2)
    assert {name for name in nodes if name.startswith("_Retval")} == {"_Retval_1"}


def pair_graph(client: Client, device: str = "") -> Graph:
    graph_def = graph_pb2.GraphDef()
    for name, dtype in [("x", tf.float32), ("count", tf.int32), ("u", tf.float32)]:
        placeholder = graph_def.node.add(name=name, op="Placeholder")
        placeholder.attr["dtype"].type = dtype.as_datatype_enum
    node = node_def("Featured>Pair", T=tf.float32)
    node.name, node.device = "tower/pair", device
    node.input.extend(["x", "count"])
    graph_def.node.append(node)
    return client.import_graph(graph_def.SerializeToString())


def test_names_devices_and_missing_upstream_gradients(client: Client) -> None:
    graph = pair_graph(client, "/job:worker/task:3")
    # Only y is differentiated: the statistic's upstream gradient is missing.
    (name,) = graph.gradients(["tower/pair:0"], ["x:0"], ["u:0"])
    assert name == "gradients/tower/pair_grad/dx:0"
    nodes = graph_pb2.GraphDef.FromString(graph.graph_def()).node
    added = {node.name: node for node in nodes if node.name.startswith("gradients")}
    product = added["gradients/tower/pair_grad/product"]
    # The definition's device wins, then the forward op's.
    assert product.device == "/device:CPU:0"
    assert added["gradients/tower/pair_grad/dx"].device == "/job:worker/task:3"
    assert "^gradients/tower/pair_grad/checked" in product.input
    assert "tower/pair:1" in product.input
    assert [n.op for n in added.values()].count("ZerosLike") == 1
    # A second call finds names of its own.
    (again,) = graph.gradients(["tower/pair:0"], ["x:0"], ["u:0"])
    assert again == "gradients_1/tower/pair_grad/dx:0"


def test_many_threads_ask_at_once(client: Client) -> None:
    failures = []

    def ask(scale: float) -> None:
        try:
            for _ in range(20):
                nodes = plan("Featured>Rescaled", T=tf.float32, scale=scale)
                assert "_Retval_0" in nodes
                graph = pair_graph(client)
                graph.gradients(["tower/pair:0"], ["x:0"], ["u:0"])
        except Exception as error:  # reported below, by the main thread
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(float(i % 4),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_registries(client: Client) -> None:
    bits = _library.Registries
    bridged = bits.FUNCTION_GRADIENT | bits.CLIENT_GRADIENT | bits.CLIENT_BRIDGED
    assert _library.registries("Featured>Pair") == bridged
    # TensorFlow's own client gradient stays where it is right.
    product = _library.registries("MatMul")
    own = bits.FUNCTION_GRADIENT | bits.FUNCTION_OWN | bits.FUNCTION_STANDS_IN
    assert product == own | bits.CLIENT_GRADIENT
    none = bits.FUNCTION_NO_GRADIENT | bits.CLIENT_NO_GRADIENT
    assert _library.registries("Faulty>DeclaredNone") == none
    assert _library.registries("Faulty>Absent") == 0
    # TensorFlow has a function gradient of these and no client gradient.
    for op in [
        "Concat",
        "ConjugateTranspose",
        "MaxPoolGrad",
        "MulNoNan",
        "Reverse",
        "StridedSliceGrad",
        "Xdivy",
        "Xlog1py",
        "Xlogy",
    ]:
        assert bridged in _library.registries(op), op
