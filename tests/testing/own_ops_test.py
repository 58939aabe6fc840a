"""Every op of this library passes check_library."""

import tempfile

import numpy as np
import own_ops
import tensorflow as tf
from commit_sampling import share_of_commit

from tensorflow_ext import raw_ops, testing
from tensorflow_ext._runtime import _library

OPTIONS = own_ops.options()
# Definitions mark an input with this op; it takes any type, and has no cases.
OPTIONS["TfExt>NoGradient"] = {"attrs": {"T": ["float64", "int32"]}}
# The debug switch adds this op to gradients.
OPTIONS["TfExt>CheckGradientShape"] = {
    "attrs": {"T": ["float64", "int32"], "where": "here", "made_by": "this"},
    "inputs": [tf.TensorSpec([2, 3], tf.float64), np.array([2, 3], np.int64)],
}
# The wrappers of other languages add this op; its gradient is its second input.
OPTIONS["TfExt>WithUpstream"] = {
    "inputs": [tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3])],
    "without_gradient": ["upstream"],
    "surrogate": True,
}
# Ops that describe graphs and models, here of empty ones.
_FOLDER = tempfile.TemporaryDirectory()
_GRAPH = tf.Graph()
with _GRAPH.as_default():
    tf.compat.v1.placeholder(tf.float32, [], name="x")
    tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name="v")
_GRAPH_DEF = tf.constant(_GRAPH.as_graph_def().SerializeToString())
tf.saved_model.save(tf.Module(), _FOLDER.name)
for _op in ("DescribeSavedModel", "SavedModelGradients"):
    OPTIONS[f"TfExt>{_op}"] = {"inputs": [tf.constant(_FOLDER.name)]}
for _op in ("InlineCalls", "SliceGradients"):
    OPTIONS[f"TfExt>{_op}"] = {"inputs": [_GRAPH_DEF, tf.constant(["x:0"])]}
_VARIABLE = tf.constant(["v:0"])
OPTIONS["TfExt>ApplyGradients"] = {
    "attrs": {"optimizer": "sgd"},
    "inputs": [_GRAPH_DEF, tf.constant(["x:0"]), _VARIABLE],
}
OPTIONS["TfExt>NewVariables"] = {
    "attrs": {"dtypes": [["float32"]], "shapes": [[[2]]], "initializers": [["ones"]]},
    "inputs": [_GRAPH_DEF, tf.constant(["new"])],
}
OPTIONS["TfExt>AddSaver"] = {"inputs": [_GRAPH_DEF, _VARIABLE, tf.constant(["a"])]}
# The op that describes a cluster's tasks.
OPTIONS["TfExt>DescribeTask"] = {"inputs": [tf.constant(["Relu", "Your>Unknown"])]}
for _op in raw_ops.TEXT_OPS:
    OPTIONS[_op]["leave_out"] = ["vectorized_map"]


def test_every_op_has_inputs() -> None:
    of_tapes = raw_ops.CLIENT_OPS - raw_ops.TEXT_OPS
    assert set(OPTIONS) == set(raw_ops.OPS.values()) - of_tapes


def test_ops() -> None:
    ops = share_of_commit("own ops", sorted(OPTIONS), 6)
    report = testing.check_library(_library.PATH, OPTIONS, ops=ops, samples=1, raise_error=False)
    print(report)
    report.raise_if_failed()
