"""Gradients of ops that have no CPU kernel: ops of GPUs, TPUs and meshes.

They cannot run here. So the expression that TF_AddGradients adds to the graph (op types, attributes
and inputs) is compared with that of Python's `tf.gradients`, or with an expected expression if
Python's differs on purpose.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import collections
import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import rows
import tensorflow as tf
from c_client import Client, ClientError, tensorflow_dir
from covered_ops import COMPARED_BY_STRUCTURE
from tensorflow.core.framework import graph_pb2
from tensorflow.python.compiler.xla.experimental import xla_sharding

v1 = tf.compat.v1
# The name and the output of a tensor, as in "op:0".
Name = str
REAL, INT = tf.float32, tf.int32


def call(op: str, *inputs: Any, **attributes: Any) -> list[Any]:
    """The outputs of a new node; list arguments are lists."""
    return tf.nest.flatten(rows.call(op, *inputs, **attributes))


@dataclasses.dataclass
class Case:
    """An op on placeholders.

    Attributes:
      op: The op's type.
      name: The subject of the case, unique for the op.
      inputs: The type and shape of each placeholder; a list of them is a list argument.
      attributes: The op's attributes.
      outputs: The number of outputs, from the first, that have an upstream gradient.
      expected: A function of the (flattened) inputs and the upstream gradients that returns the
        gradients by the inputs of floating type, instead of Python's own.
      error: A fragment of the message that the client gives instead.
      twice: True if the gradients are differentiated by the upstream gradients.
    """

    op: str
    name: str
    inputs: Sequence[Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    outputs: int = 1
    expected: Callable[..., list[Any]] | None = None
    error: str | None = None
    twice: bool = False

    @property
    def id(self) -> str:
        return f"{self.op}-{self.name}"


def names(gradients: Sequence[Any]) -> list[Name | None]:
    return [g if g is None else tf.convert_to_tensor(g).name for g in gradients]


class Problem:
    """The graph of a case, and Python's gradients in a separate graph."""

    def __init__(self, case: Case) -> None:
        self.graph, self.reference = tf.Graph(), tf.Graph()
        with self.graph.as_default():
            self._build(case)
        with self.reference.as_default():
            xs, us, ws = self._build(case)
            if case.error is not None:
                self.first, self.second = [], []
                return
            differentiable = [x for x in xs if x.dtype.is_floating]
            if case.expected is None:
                ys = [self.reference.get_tensor_by_name(y) for y in self.ys]
                first = tf.gradients(ys, differentiable, us)
            else:
                first = case.expected(*xs, *us)
            second = tf.gradients(first, us, ws) if case.twice else []
            self.first, self.second = names(first), names(second)

    def _build(self, case: Case) -> tuple[list[Any], list[Any], list[Any]]:
        xs: list[Any] = []

        def placeholder(dtype: Any, shape: Any) -> Any:
            xs.append(v1.placeholder(dtype, shape, name=f"x{len(xs)}"))
            return xs[-1]

        inputs = [
            [placeholder(*one) for one in spec] if isinstance(spec, list) else placeholder(*spec)
            for spec in case.inputs
        ]
        with tf.device("/cpu:0"):  # Python's gradients of NCCL ops need one
            outputs = call(case.op, *inputs, **case.attributes)[: case.outputs]
            us = [v1.placeholder(y.dtype, y.shape, name=f"u{k}") for k, y in enumerate(outputs)]
        ws = [
            v1.placeholder(x.dtype, x.shape, name=f"w{i}")
            for i, x in enumerate(xs)
            if x.dtype.is_floating
        ]
        self.ys = [y.name for y in outputs]
        self.xs = [x.name for x in xs if x.dtype.is_floating]
        self.us, self.ws = [u.name for u in us], [w.name for w in ws]
        return xs, us, ws


def attribute(value: Any) -> Any:
    """A value of an attribute, to compare."""
    if value.HasField("tensor"):
        return tf.make_ndarray(value.tensor).tolist()
    return value.SerializeToString(deterministic=True)


def expression(graph: bytes, tensor: Name | None) -> Any:
    """The expression of a tensor in terms of placeholders, without node names."""
    nodes = {node.name: node for node in graph_pb2.GraphDef.FromString(graph).node}

    def made(name: Name) -> Any:
        name, _, output = name.partition(":")
        node = nodes[name]
        if node.op == "Placeholder":
            return name
        inputs = [made(i) for i in node.input if i[0] != "^"]
        if node.op == "Identity":
            return inputs[0]
        attributes = {key: attribute(value) for key, value in node.attr.items() if key[0] != "_"}
        return node.op, output or "0", attributes, inputs

    return tensor and made(tensor)


# ---- Cases

PAIRS, GROUPS = (INT, [3, 2]), (INT, [1, 2])
TYPES = [tf.float32, tf.bfloat16, tf.float64]


def of_types(op: str, *more: Any, types: Sequence[Any] = TYPES, **settings: Any) -> Any:
    """Cases of an op whose first input is a matrix of these types."""
    return [Case(op, dtype.name, [(dtype, [4, 6]), *more], **settings) for dtype in types]


# ---- Collectives


def permuted_back(x: Any, pairs: Any, u: Any) -> list[Any]:
    """Python uses a strided slice for the reversal."""
    del x
    backwards = tf.raw_ops.ReverseV2(tensor=pairs, axis=[1])
    return call("CollectivePermute", u, backwards)


COLLECTIVES = [
    *(
        Case(
            "AllToAll",
            f"{split}_to_{concat}",
            [(dtype, [4, 6, 2]), GROUPS],
            {"split_dimension": split, "concat_dimension": concat, "split_count": 2},
            twice=True,
        )
        for split, concat, dtype in [(0, 1, tf.float32), (1, 0, tf.bfloat16), (2, 2, tf.float32)]
    ),
    *of_types("CollectivePermute", PAIRS, expected=permuted_back),
    *(
        Case(
            "XlaAllReduce",
            f"{reduction}_{dtype.name}",
            [(dtype, [4, 6]), GROUPS],
            reduced,
            expected=lambda x, groups, u, reduced=reduced: call(
                "XlaAllReduce", u, groups, **reduced
            ),
        )
        for reduction, dtype in [("Add", tf.float32), ("Mean", tf.bfloat16), ("Add", tf.float16)]
        for reduced in [{"reduce_op": reduction, "mode": "CrossReplica"}]
    ),
    Case(
        "XlaAllReduce",
        "largest",
        [(REAL, [4]), GROUPS],
        {"reduce_op": "Max", "mode": "CrossReplica"},
        error='reduce_op = "Max"; only',
    ),
    *of_types("CrossReplicaSum", GROUPS, types=[tf.float32, tf.bfloat16, tf.float16], twice=True),
]


def all_reduce(reduction: str) -> dict[str, Any]:
    return {"reduction": reduction, "num_devices": 2, "shared_name": "all"}


NCCL = [
    *(
        Case("NcclAllReduce", dtype.name, [(dtype, [2])], all_reduce("sum"), twice=True)
        for dtype in (tf.float32, tf.float64)
    ),
    Case("NcclAllReduce", "max", [(REAL, [2])], all_reduce("max"), error='= "max"; on'),
    # The runtime copies between devices, but Python uses NCCL.
    *of_types("NcclBroadcast", attributes={"shape": [4, 6]}, expected=lambda x, u: [u])[::2],
    Case("NcclBroadcast", "vector", [(REAL, [2])], {"shape": [2]}, expected=lambda x, u: [u]),
    *(
        Case(
            "NcclReduce",
            f"{count}_devices",
            [[(REAL, [2])] * count],
            {"reduction": "sum"},
            expected=lambda *tensors: [tensors[-1]] * (len(tensors) - 1),
        )
        for count in (1, 3)
    ),
    Case(
        "NcclReduce",
        "product",
        [[(REAL, [2])] * 2],
        {"reduction": "prod"},
        error='reduction = "prod"; only "sum" has a gradient',
    ),
]

# ---- Sharding

SHARDING: dict[str, Any] = {
    "manual_sharding": xla_sharding.Sharding.tile(np.array([[0], [1]])).proto.SerializeToString()
}
TO_FULL = {**SHARDING, "full_shape": [8, 6]}
OTHER: dict[str, Any] = {"dim": 0, "unspecified_dims": [1]}
UNSPECIFIED: dict[str, Any] = {"layout": "sharding_specs:unsharded, mesh:|x=1|"}
SHARDINGS = [
    *of_types("XlaSpmdFullToShardShape", attributes=SHARDING, types=TYPES[:2], twice=True),
    Case("XlaSpmdFullToShardShape", "axis", [(REAL, [4, 6])], {**SHARDING, **OTHER}, twice=True),
    Case(
        "XlaSpmdFullToShardShape",
        "unknown_shape",
        [(REAL, [None, 6])],
        SHARDING,
        error="the shape of the input is not static",
    ),
    *of_types("XlaSpmdShardToFullShape", attributes=TO_FULL, types=TYPES[:2], twice=True),
    Case("XlaSpmdShardToFullShape", "axis", [(REAL, [4, 6])], {**TO_FULL, **OTHER}),
    *of_types("Relayout", attributes=UNSPECIFIED),
    *of_types("RelayoutLike", (INT, [4, 6])),
    *of_types("CopyToMesh", attributes={"mesh": "|x=1|*"}),
    *(Case("CopyToMeshGrad", dtype.name, [(dtype, [4]), (dtype, [4])]) for dtype in TYPES),
]

# ---- Recurrent layers of cuDNN


def recurrent(op: str, name: str, dtype: Any = REAL, **attributes: Any) -> Case:
    inputs = [(dtype, [5, 2, 3]), (dtype, [1, 2, 4]), (dtype, [1, 2, 4]), (dtype, [99])]
    if op == "CudnnRNNV3":
        inputs.append((INT, [2]))
    return Case(op, name, inputs, attributes, outputs=3)


def recurrents(op: str) -> list[Case]:
    refused = recurrent(op, "inference", is_training=False)
    return [
        recurrent(op, "lstm"),
        recurrent(op, "gru_double", tf.float64, rnn_mode="gru"),
        recurrent(op, "half", tf.float16, input_mode="skip_input", rnn_mode="rnn_relu"),
        recurrent(op, "dropout", dropout=0.5, seed=3, seed2=4),
        recurrent(op, "bidirectional", direction="bidirectional"),
        dataclasses.replace(refused, error="set is_training to true"),
    ]


RECURRENT = [
    *(case for op in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3") for case in recurrents(op)),
    recurrent("CudnnRNNV3", "projection", num_proj=2, time_major=False),
]


def parameters(name: str, dtype: Any, **how: Any) -> list[Case]:
    """The parameters of a layer, 2 weights and 2 biases, put into one tensor and taken out."""
    sizes: list[Any] = [(INT, [])] * 3
    whole, parts = (dtype, [99]), [(dtype, [4, 3]), (dtype, [4, 4])]
    biases = [(dtype, [4])] * 2
    version = "V2" if "num_proj" in how else ""
    counts = {"num_params_weights": 2, "num_params_biases": 2} if version else {"num_params": 2}
    put = f"CudnnRNNCanonicalToParams{version}"
    take = f"CudnnRNNParamsToCanonical{version}"

    def taken(*xs: Any) -> list[Any]:
        return call(take, *xs[:3], xs[-1], **counts, **how)

    def put_back(*xs: Any) -> list[Any]:
        return call(put, *xs[:3], list(xs[4:6]), list(xs[6:]), **how)

    return [
        Case(put, name, [*sizes, parts, biases], how, expected=taken),
        Case(take, name, [*sizes, whole], {**counts, **how}, 4, expected=put_back),
    ]


PARAMETERS = [
    case
    for projection in ({}, {"num_proj": 0})
    for name, dtype, how in (
        ("lstm", REAL, {}),
        ("gru_double", tf.float64, {"rnn_mode": "gru"}),
        ("half", tf.float16, {"direction": "bidirectional", "dropout": 0.5, "seed": 3}),
    )
    for case in parameters(name, dtype, **how, **projection)
]

CASES = [*COLLECTIVES, *NCCL, *SHARDINGS, *RECURRENT, *PARAMETERS]
# A layout without kernels for the CPU; cases_stock*.py have other cases of these ops.
LAYOUTS = [
    Case(op, "NCHW", [(REAL, [1, 4, 6, 8])], {"block_size": 2, "data_format": "NCHW"}, twice=True)
    for op in ("DepthToSpace", "SpaceToDepth")
]


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), os.environ["PARITY_LIBRARY"])


@pytest.mark.parametrize("case", [*CASES, *LAYOUTS], ids=lambda case: case.id)
def test_structure(client: Client, case: Case) -> None:
    problem = Problem(case)
    graph = client.import_graph(problem.graph.as_graph_def().SerializeToString())
    if case.error is not None:
        with pytest.raises(ClientError, match=case.error):
            graph.gradients(problem.ys, problem.xs, problem.us)
        return
    first = graph.gradients(problem.ys, problem.xs, problem.us)
    known = [name for name in first if name is not None]
    second = graph.gradients(known, problem.us, problem.ws) if case.twice else []
    reference = problem.reference.as_graph_def().SerializeToString()
    for found, expected in [(first, problem.first), (second, problem.second)]:
        assert [expression(graph.graph_def(), name) for name in found] == [
            expression(reference, name) for name in expected
        ]


def test_every_op_has_three_cases() -> None:
    counts = collections.Counter(case.op for case in CASES)
    assert counts.keys() == set(COMPARED_BY_STRUCTURE)
    assert min(counts.values()) >= 3


def through_branches(x: Any) -> Any:
    switch = tf.raw_ops.RefSwitch(data=x, pred=True)
    return tf.raw_ops.RefMerge(inputs=[*switch]).output


@pytest.mark.parametrize(
    "build",
    [lambda x: tf.raw_ops.DebugGradientRefIdentity(input=x), through_branches],
    ids=["DebugGradientRefIdentity", "RefSwitch and RefMerge"],
)
def test_a_reference_has_the_gradient_of_its_identity(
    client: Client, build: Callable[[Any], Any]
) -> None:
    """Ops that take variables of TensorFlow 1."""
    with tf.Graph().as_default() as graph:
        x = tf.raw_ops.VariableV2(shape=[2], dtype=REAL, name="x")
        tf.raw_ops.Assign(ref=x, value=[4.0, 5.0], name="start")
        tf.multiply(build(x), v1.placeholder(REAL, [2], name="u"), name="y")
    imported = client.import_graph(graph.as_graph_def().SerializeToString())
    (name,) = imported.gradients(["y:0"], ["x:0"], [])
    assert name is not None
    imported.run(["start:0"], {})
    u = np.array([2.0, 3.0], np.float32)
    np.testing.assert_array_equal(imported.run([name], {"u:0": u})[0], u)
