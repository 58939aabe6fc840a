"""The nodes that TF_AddGradients adds to a graph whose shapes are fully or partly known."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graphs import gradient, graph_of

v1 = tf.compat.v1


def placeholder(name: str, *shape: int | None, dtype: Any = tf.float64) -> tf.Tensor:
    return v1.placeholder(dtype, shape, name=name)


def node_types(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in v1.GraphDef.FromString(graph.graph_def()).node)


def added(graph: Graph, ys: Sequence[str], xs: Sequence[str], dys: Sequence[str]) -> Any:
    """The types of the nodes that the gradients add, and the gradients."""
    before = node_types(graph)
    gradients = graph.gradients(ys, xs, dys)
    return node_types(graph) - before, gradients


def binary(op: str, x: Sequence[int | None], y: Sequence[int | None]) -> Graph:
    def build() -> None:
        types = {"Tout": tf.float64} if op == "BatchMatMulV3" else {}
        operands = {"x": placeholder("x", *x), "y": placeholder("y", *y)}
        z = getattr(tf.raw_ops, op)(**operands, **types, name="z")
        v1.placeholder(tf.float64, z.shape, name="dz")

    return graph_of(build)


def binary_gradients(
    graph: Graph, x: np.ndarray, y: np.ndarray, dz: np.ndarray
) -> list[np.ndarray]:
    gradients = graph.gradients(["z:0"], ["x:0", "y:0"], ["dz:0"])
    return graph.run([str(name) for name in gradients], {"x:0": x, "y:0": y, "dz:0": dz})


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Add", {"Identity": 2}),
        ("AddV2", {"Identity": 2}),
        ("Sub", {"Identity": 1, "Neg": 1}),
        ("Mul", {"Mul": 2}),
        ("RealDiv", {"RealDiv": 1, "Mul": 1, "Neg": 1, "Identity": 1}),
        ("Maximum", {"GreaterEqual": 1, "Const": 1, "SelectV2": 2}),
    ],
)
def test_operands_of_one_shape_are_not_summed(op: str, expected: dict[str, int]) -> None:
    types, _ = added(binary(op, (2, 3), (2, 3)), ["z:0"], ["x:0", "y:0"], ["dz:0"])
    assert types == Counter(expected)


def test_only_the_smaller_operand_is_summed() -> None:
    types, _ = added(binary("Mul", (None, 3), (3,)), ["z:0"], ["x:0", "y:0"], ["dz:0"])
    assert types == Counter({"Mul": 2, "Sum": 1, "Const": 1})


@pytest.mark.parametrize(
    ("x", "y"), [((1, 3), (4, 3)), ((4, 3), (1, 3)), ((4, 3), (4, 3)), ((1, 3), (1, 3))]
)
@pytest.mark.parametrize("y_is_known", [False, True])
def test_two_unknown_sizes_may_differ(
    x: tuple[int, int], y: tuple[int, int], y_is_known: bool
) -> None:
    graph = binary("Mul", (None, 3), y if y_is_known else (None, 3))
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in (x, y, np.broadcast_shapes(x, y))]
    dx, dy = binary_gradients(graph, *values)

    def summed(value: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        return value.sum(0, keepdims=True) if shape[0] == 1 else value

    np.testing.assert_allclose(dx, summed(values[2] * values[1], x))
    np.testing.assert_allclose(dy, summed(values[2] * values[0], y))


@pytest.mark.parametrize("op", ["BatchMatMulV2", "BatchMatMulV3"])
def test_only_the_operand_without_a_batch_of_a_product_is_summed(op: str) -> None:
    graph = binary(op, (None, None, 3), (3, 4))
    types, _ = added(graph, ["z:0"], ["x:0", "y:0"], ["dz:0"])
    assert types["BroadcastGradientArgs"] == types["StridedSlice"] == 0
    assert types["Sum"] == 1


@pytest.mark.parametrize("op", ["BatchMatMulV2", "BatchMatMulV3"])
@pytest.mark.parametrize(("x_batch", "y_batch"), [(1, 5), (5, 1), (5, 5), (1, 1)])
def test_two_unknown_batches_may_differ(op: str, x_batch: int, y_batch: int) -> None:
    graph = binary(op, (None, 2, 3), (None, 3, 4))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(x_batch, 2, 3)), rng.normal(size=(y_batch, 3, 4))
    dz = rng.normal(size=(max(x_batch, y_batch), 2, 4))
    dx, dy = binary_gradients(graph, x, y, dz)
    full_dx, full_dy = dz @ y.swapaxes(1, 2), x.swapaxes(1, 2) @ dz
    np.testing.assert_allclose(dx, full_dx.reshape(-1, x_batch, 2, 3).sum(0))
    np.testing.assert_allclose(dy, full_dy.reshape(-1, y_batch, 3, 4).sum(0))


def mean(shape: Sequence[int | None], axes: Any, keep_dims: bool) -> Graph:
    def build() -> None:
        x = placeholder("x", *shape)
        z = tf.raw_ops.Mean(input=x, axis=axes, keep_dims=keep_dims, name="z")
        v1.placeholder(tf.float64, z.shape, name="dz")

    return graph_of(build)


@pytest.mark.parametrize("axes", [-1, [1], np.array([-1], np.int64)])
@pytest.mark.parametrize("keep_dims", [False, True])
def test_the_count_of_a_mean_is_a_constant(axes: Any, keep_dims: bool) -> None:
    graph = mean((None, 3), axes, keep_dims)
    types, (name,) = added(graph, ["z:0"], ["x:0"], ["dz:0"])
    assert not types.keys() & {"Size", "Prod", "GatherV2", "Maximum", "Cast"}
    x, dz = np.zeros((5, 3)), np.arange(5.0).reshape((5, 1) if keep_dims else 5)
    (dx,) = graph.run([str(name)], {"x:0": x, "dz:0": dz})
    np.testing.assert_allclose(dx, np.tile(np.arange(5.0)[:, None] / 3, 3))


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axes", [[0], [-2, 2], [], [0, 1, 2], -3])
@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 3, 4), (2, 0, 4)])
def test_the_count_of_a_mean_of_any_sizes(
    shape: tuple[int, ...], axes: Any, keep_dims: bool
) -> None:
    graph = mean((None, None, 4), np.array(axes, np.int32), keep_dims)
    along = tuple(np.array(axes, int).reshape(-1))
    zeros = np.zeros(shape)
    dz = np.random.default_rng(0).normal(size=zeros.sum(along, keepdims=True).shape)
    feeds = {"x:0": zeros, "dz:0": dz.reshape(zeros.sum(along, keepdims=keep_dims).shape)}
    (dx,) = graph.run([gradient(graph, "z:0", "x:0", "dz:0")], feeds)
    count = max(1, np.prod([shape[axis] for axis in along]))
    np.testing.assert_allclose(dx, np.broadcast_to(dz / count, shape))


def test_integers_have_gradients_where_tensorflow_has_them() -> None:
    def build() -> None:
        x, y = (placeholder(name, 3, dtype=tf.int32) for name in "xy")
        z = tf.multiply(x - y, tf.maximum(x, 2), name="z")
        placeholder("dz", *z.shape, dtype=tf.int32)

    graph = graph_of(build)
    x, y, dz = np.int32([[1, 4, 7], [5, 2, 9], [3, -2, 1]])
    dx, dy = binary_gradients(graph, x, y, dz)
    larger = np.maximum(x, 2)
    np.testing.assert_array_equal(dx, dz * (larger + (x - y) * (x >= 2)))
    np.testing.assert_array_equal(dy, -dz * larger)


def test_the_gradients_of_a_sum_are_distinguished_in_second_order() -> None:
    """Both are dz; one must not be on the path to the other's successors."""

    def build() -> None:
        w, v = placeholder("w", 3), placeholder("v", 3)
        tf.exp(w + tf.tanh(v), name="z")
        for name in ("dz", "a", "b"):
            placeholder(name, 3)

    graph = graph_of(build)
    firsts = [str(g) for g in graph.gradients(["z:0"], ["w:0", "v:0"], ["dz:0"])]
    seconds = [str(g) for g in graph.gradients(firsts, ["w:0", "v:0"], ["a:0", "b:0"])]
    rng = np.random.default_rng(1)
    w, v, dz, a, b = (rng.normal(size=3) for _ in range(5))
    feeds = {"w:0": w, "v:0": v, "dz:0": dz, "a:0": a, "b:0": b}
    found = graph.run(seconds, feeds)
    # dw = dz e and dv = dz e s, where e = exp(w + tanh v) and s = tanh'(v).
    t = np.tanh(v)
    e, s = np.exp(w + t), 1 - t * t
    np.testing.assert_allclose(found[0], dz * e * (a + b * s))
    np.testing.assert_allclose(found[1], dz * e * (a * s + b * (s * s - 2 * t * s)))


def batch_norm() -> None:
    x = placeholder("x", 2, 3, 3, 4, dtype=tf.float32)
    ones = tf.ones([4], name="ones")
    v1.nn.fused_batch_norm(x, ones, ones, name="norm")
    tf.identity(x, name="dy")


def test_no_zeros_remain_for_unused_outputs() -> None:
    types, _ = added(graph_of(batch_norm), ["norm:0"], ["x:0"], ["dy:0"])
    assert types["ZerosLike"] == 0
    assert types["FusedBatchNormGradV3"] == 1


def test_the_clients_own_zeros_stay() -> None:
    def build() -> None:
        batch_norm()
        mean = v1.get_default_graph().get_tensor_by_name("norm:1")
        tf.raw_ops.ZerosLike(x=mean, name="zeros")

    graph = graph_of(build)
    graph.gradients(["norm:0", "norm:1"], ["x:0"], ["dy:0", "zeros:0"])
    x = np.random.default_rng(2).normal(size=(2, 3, 3, 4)).astype(np.float32)
    (zeros,) = graph.run(["zeros:0"], {"x:0": x})
    np.testing.assert_array_equal(zeros, np.zeros(4))


def test_a_known_shape_is_a_constant() -> None:
    def build() -> None:
        x = placeholder("x", 2, 3)
        tf.reduce_mean(x, [1], name="y")
        placeholder("dy", 2)

    types, (name,) = added(graph_of(build), ["y:0"], ["x:0"], ["dy:0"])
    assert types == Counter({"RealDiv": 1, "Reshape": 1, "BroadcastTo": 1, "Const": 3})
    assert name is not None


def test_large_constants_are_computed_at_run_time() -> None:
    """The gradient numbers the elements of an image, so it has a range of all of them."""

    def build() -> None:
        x = placeholder("x", 1, 200, 200, 1)
        tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
        placeholder("dy", 1, 100, 100, 4)

    graph = graph_of(build)
    types, _ = added(graph, ["ExtractImagePatches:0"], ["x:0"], ["dy:0"])
    assert types["Range"] == 1
    assert len(graph.graph_def()) < 20_000


def test_an_identity_passes_its_gradient_on() -> None:
    def build() -> None:
        x, _ = placeholder("x", 2), placeholder("u", 2)
        tf.exp(tf.identity(tf.identity(x), name="y"), name="z")

    graph = graph_of(build)
    types, (name,) = added(graph, ["z:0"], ["x:0"], ["u:0"])
    assert types == Counter({"Mul": 1})  # dy exp(x), which reuses the forward exp
    assert name is not None
    # A tensor that is fed cannot be fetched.
    assert gradient(graph, "y:0", "x:0", "u:0") != "u:0"


def test_a_read_of_a_variable_passes_its_gradient_on() -> None:
    def build() -> None:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float64, shape=[2], name="v")
        placeholder("u", 2)
        tf.exp(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64), name="z")

    types, _ = added(graph_of(build), ["z:0"], ["v:0"], ["u:0"])
    assert types == Counter({"Mul": 1})
