"""The core: finding, checking, planning and expanding a gradient.

Clients are the C interface (tensorflow_ext._runtime._library) and TF_AddGradients
(c_client). faulty_ops.cc holds the ops.
"""

import os

import pytest
import tensorflow as tf
from c_client import ClientError, Graph
from graphs import CLIENT, gradient, graph_with, in_threads, unary_graph
from tensorflow.core.framework import graph_pb2, node_def_pb2

from tensorflow_ext._runtime import _library
from tensorflow_ext._runtime._attributes import to_node_def


@pytest.fixture(scope="module", autouse=True)
def faulty_ops() -> None:
    CLIENT.load(os.environ["FAULTY_OPS"])
    op = "Faulty>TooFewArguments"
    assert _library.Registries.CLIENT_BRIDGED not in _library.registries(op)
    unary_graph("Exp")  # TensorFlow looks up the op of a node, and that hands them over.
    assert _library.Registries.CLIENT_BRIDGED in _library.registries(op)
    assert _library.register_gradients() == 0


def plan(op: str, wanted: list[bool] | None = None, **attributes: object) -> dict:
    """The plan's nodes by name."""
    node = to_node_def(op, attributes).SerializeToString()
    graph = graph_pb2.GraphDef.FromString(_library.gradient_plan(node, wanted))
    return {node.name: node for node in graph.node}


# Fragments of the message, by op.
FAULTS = {
    "TooManyResults": ["2 results (float, float)", "expected (float)"],
    "TooFewArguments": ["1 argument", "(float, float)"],
    "ArgumentType": ["argument 1", "int64", "float"],
    "ResultType": ["result 0", "bool", "float"],
    "UnknownAttribute": ["'sharpness'", "Faulty>UnknownAttribute does not have", "T, scale"],
    "UnknownPlaceholder": ["'dx' of op Mul", "'T' is $U", "T, scale"],
    "DefinedWrong": ["'dx' of op Mul", "'slope'"],
    "Throws": ["its creator throws: the table is on fire"],
    "ThrowsANumber": ["throws something that is not a std::exception"],
    "CreatorFails": ["scale=0 is not supported"],
    "EmptyDefinition": ["0 arguments"],
    "UnknownOp": ["'a'", "Faulty>Nonexistent", "load"],
    "UnknownInput": ["'a' of op Identity", "elsewhere"],
    "UnknownResult": ["elsewhere"],
    "MissingNodeAttribute": ["'a' of op Cast", "DstT"],
    "NodeInputType": ["'a' of op Identity", "'dy'", "float", "int32 is expected (T=float)"],
    "Cycle": ["cycle"],
}
# The code is FAILED_PRECONDITION, except for these.
CODES = {"DefinedWrong": tf.errors.INVALID_ARGUMENT, "CreatorFails": tf.errors.UNIMPLEMENTED}


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_definition_is_an_error_that_names_the_mistake(name: str) -> None:
    code = CODES.get(name, tf.errors.FAILED_PRECONDITION)
    op = f"Faulty>{name}"
    graph = unary_graph(op)
    before = graph.nodes()
    for _ in range(2):  # an error is not cached as a plan
        with pytest.raises(ClientError) as caught:
            graph.gradients(["f:0"], ["x:0"], ["u:0"])
        assert caught.value.code == code
        for fragment in [op, *FAULTS[name]]:
            assert fragment in str(caught.value)
    assert graph.nodes() == before, "nodes were left behind"
    with pytest.raises(tf.errors.OpError, match=op) as raised:
        plan(op, T=tf.float32)
    assert raised.value.error_code == code


def test_an_op_with_no_gradient_anywhere() -> None:
    graph = unary_graph("Faulty>NoGradientAnywhere")
    with pytest.raises(ClientError, match="No gradient defined for op"):
        graph.gradients(["f:0"], ["x:0"], ["u:0"])
    with pytest.raises(tf.errors.NotFoundError, match="REGISTER_OP_GRADIENT"):
        plan("Faulty>NoGradientAnywhere", T=tf.float32)


def test_an_op_that_is_not_registered() -> None:
    absent = node_def_pb2.NodeDef(op="Faulty>Absent").SerializeToString()
    with pytest.raises(tf.errors.NotFoundError, match="'Faulty>Absent' is not"):
        _library.gradient_plan(absent, None)


@pytest.mark.parametrize("bytes_", [b"", b"\xff\xff\xff", b"nonsense"])
def test_bytes_that_are_not_a_node(bytes_: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="NodeDef"):
        _library.gradient_plan(bytes_, None)


def test_attributes_of_the_op_that_are_missing_or_wrong() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Featured>Pair.*T"):
        plan("Featured>Pair")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Featured>Pair"):
        plan("Featured>Pair", T=tf.string)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 2"):
        plan("Featured>Pair", wanted=[True], T=tf.float32)


def test_expansion_that_fails_leaves_no_nodes() -> None:
    graph = unary_graph("Faulty>ShapesNeverFit")
    before = graph.nodes()
    with pytest.raises(ClientError, match=r"gradient of node 'f' of op Faulty>Shapes"):
        graph.gradients(["f:0"], ["x:0"], ["u:0"])
    assert graph.nodes() == before
    # The graph still works for another gradient.
    assert graph.gradients(["x:0"], ["x:0"], ["u:0"]) == ["u:0"]


def test_the_forward_op_is_reused_and_unused_nodes_are_omitted() -> None:
    nodes = plan("Featured>Pair", T=tf.float64, scale=2.0)
    ops = sorted(node.op for node in nodes.values() if node.op[0] != "_")
    # The plan has neither the forward op nor what only the integer's gradient needs.
    assert ops == ["AddV2", "Identity", "Mul"]
    # 0 and 1 are inputs, 2 and 3 upstream, 4 and 5 outputs: dy and the statistic.
    assert list(nodes["product"].input) == ["_Arg_2:0", "_Arg_5:0", "^checked"]
    assert nodes["product"].device == "/device:CPU:0"
    assert nodes["product"].attr["T"].type == tf.float64.as_datatype_enum
    assert nodes["_Retval_0"].input[0] == "dx:0"
    assert "_Retval_1" not in nodes


def test_another_attribute_makes_another_op() -> None:
    nodes = plan("Featured>Rescaled", T=tf.float32, scale=2.0)
    assert [n.attr["scale"].f for n in nodes.values() if "scale" in n.attr] == [3.0]
    # With scale=3 both are the forward op.
    nodes = plan("Featured>Rescaled", T=tf.float32, scale=3.0)
    assert not [n for n in nodes.values() if n.op == "Featured>Rescaled"]


def test_lists_and_no_gradient() -> None:
    nodes = plan("Featured>Lists", N=2)
    assert list(nodes["copies"].input) == ["_Arg_3:0", "_Arg_4:0"]
    assert nodes["_Retval_1"].input[0] == "copies:1"
    assert "_Retval_2" not in nodes
    assert not [n for n in nodes.values() if n.op == "TfExt>NoGradient"]


def test_unwanted_gradients_are_omitted() -> None:
    assert plan("Featured>Pair", wanted=[False, True], T=tf.float32) == {}
    nodes = plan("Featured>Lists", wanted=[False, True, True], N=2)
    assert {name for name in nodes if name.startswith("_Retval")} == {"_Retval_1"}


def pair_graph(device: str = "") -> Graph:
    node = to_node_def("Featured>Pair", {"T": tf.float32})
    node.name, node.device = "tower/pair", device
    return graph_with(node, None, x=tf.float32, count=tf.int32)


def test_names_devices_and_missing_upstream_gradients() -> None:
    graph = pair_graph("/job:worker/task:3")
    # Only y is differentiated: the statistic's upstream gradient is missing.
    name = gradient(graph, "tower/pair:0", "x:0", "u:0")
    assert name == "gradients/tower/pair_grad/dx:0"
    nodes = graph_pb2.GraphDef.FromString(graph.graph_def()).node
    added = {node.name: node for node in nodes if node.name.startswith("gradients")}
    product = added["gradients/tower/pair_grad/product"]
    # The definition's device takes precedence over the forward op's.
    assert product.device == "/device:CPU:0"
    assert added["gradients/tower/pair_grad/dx"].device == "/job:worker/task:3"
    assert "^gradients/tower/pair_grad/checked" in product.input
    assert "tower/pair:1" in product.input
    assert [n.op for n in added.values()].count("ZerosLike") == 1
    # A second call finds names of its own.
    again = gradient(graph, "tower/pair:0", "x:0", "u:0")
    assert again == "gradients_1/tower/pair_grad/dx:0"


def test_many_threads_ask_at_once() -> None:
    def ask() -> None:
        for i in range(20):
            nodes = plan("Featured>Rescaled", T=tf.float32, scale=float(i % 4))
            assert "_Retval_0" in nodes
            gradient(pair_graph(), "tower/pair:0", "x:0", "u:0")

    in_threads(ask)


def test_registries() -> None:
    bits = _library.Registries
    bridged = bits.FUNCTION_GRADIENT | bits.CLIENT_GRADIENT | bits.CLIENT_BRIDGED
    assert _library.registries("Featured>Pair") == bridged
    # TensorFlow's own client gradient is kept where it is right.
    product = _library.registries("MatMul")
    own = bits.FUNCTION_GRADIENT | bits.FUNCTION_OWN | bits.FUNCTION_STANDS_IN
    assert product == own | bits.CLIENT_GRADIENT
    none = bits.FUNCTION_NO_GRADIENT | bits.CLIENT_NO_GRADIENT
    assert _library.registries("Faulty>DeclaredNone") == none
    assert _library.registries("Faulty>Absent") == 0
    # TensorFlow has a function gradient of these and no client gradient.
    arrays = ["Concat", "ConjugateTranspose", "MaxPoolGrad", "Reverse", "StridedSliceGrad"]
    for op in [*arrays, "MulNoNan", "Xdivy", "Xlog1py", "Xlogy"]:
        assert bridged in _library.registries(op), op
