"""TfExt_SliceGradients of gradient/c_api.h: which gradients by tables become slices.

Slices, written into zeros, must equal the dense gradient. Where Python gives IndexedSlices, values
and indices must equal these, in their order.
"""

import re
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tables import (
    API,
    IDS,
    ROWS,
    SUMMED,
    TABLE,
    WIDTH,
    Build,
    check,
    gradients,
    in_zeros,
    python_slices,
    slices_of,
    table_graph,
)

RANDOM = np.random.default_rng(6)


def bags(values: tf.Tensor) -> tf.SparseTensor:
    """Two values in the first of two bags, the others in the second."""
    count = tf.size(values, tf.int64)
    places = tf.range(count)
    bag = tf.cast(places > 1, tf.int64)
    return tf.SparseTensor(tf.stack([bag, places], 1), values, [2, count])


SLICED: dict[str, Build] = {
    "gather": tf.gather,
    "negative axis": lambda x, ids: tf.gather(x, ids, axis=-2),
    "embedding_lookup": tf.nn.embedding_lookup,
    "two gathers": lambda x, ids: tf.gather(x, ids) * tf.gather(x, ids + 1),
    "concatenated": lambda x, ids: tf.concat([tf.gather(x, ids), tf.gather(x, ids[1:])], 0),
    "indices of two types": lambda x, ids: tf.concat(
        [tf.gather(x, ids), tf.gather(x, tf.cast(ids, tf.int64))], 1
    ),
    "cast": lambda x, ids: tf.gather(tf.cast(x, tf.float32), ids),
    "negated and scaled": lambda x, ids: tf.gather(-x * 3.0, ids) + tf.gather(x, ids),
    "sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), None, combiner="sum"
    ),
    "means of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), None, combiner="mean"
    ),
    "scaled sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), None, combiner="sqrtn"
    ),
    "weighted sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), bags(tf.ones_like(ids, tf.float64)), combiner="sum"
    ),
}
# Python's are dense where a table is negated or the axis is negative.
SAME_AS_PYTHON = sorted(set(SLICED) - {"cast", "negative axis", "negated and scaled"})


@pytest.mark.parametrize("name", SLICED)
def test_gathers_give_slices(name: str) -> None:
    tolerance = 1e-6 if name == "cast" else 1e-12
    check(table_graph(SLICED[name]), {"x:0": TABLE, "ids:0": IDS}, tolerance)


@pytest.mark.parametrize("name", SAME_AS_PYTHON)
def test_slices_are_those_of_python(name: str) -> None:
    feeds = {"x:0": TABLE, "ids:0": IDS}
    found = check(table_graph(SLICED[name]), feeds)
    for own, python in zip(found, python_slices(SLICED[name], feeds), strict=True):
        np.testing.assert_allclose(own, python, rtol=1e-15)


@pytest.mark.parametrize("table_shape", [(ROWS, 2, WIDTH), (None, 2, WIDTH), (None,) * 3, None])
@pytest.mark.parametrize("ids_shape", [(), (2, 2), None])
def test_shapes(table_shape: Any, ids_shape: Any) -> None:
    graph = table_graph(tf.gather, table_shape, ids_shape)
    ids = IDS[0] if ids_shape == () else IDS.reshape(2, 2)
    x = RANDOM.normal(size=[ROWS, 2, WIDTH])
    values, indices = check(graph, {"x:0": x, "ids:0": ids})
    assert (values.shape, indices.shape) == ((ids.size, 2, WIDTH), (ids.size,))


def test_no_ids_and_tables_without_columns() -> None:
    none = np.zeros([0], np.int32)
    check(table_graph(tf.gather), {"x:0": TABLE, "ids:0": none})
    check(table_graph(tf.gather, (ROWS, 0)), {"x:0": TABLE[:, :0], "ids:0": IDS})
    check(table_graph(tf.gather, (ROWS,)), {"x:0": TABLE[:, 0], "ids:0": IDS})


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("id_type", [tf.int32, tf.int64])
@pytest.mark.parametrize("op", ["Gather", "GatherV2"])
def test_types(dtype: tf.DType, id_type: tf.DType, op: str) -> None:
    build = tf.gather if op == "GatherV2" else lambda x, i: tf.raw_ops.Gather(params=x, indices=i)
    graph = table_graph(build, dtype=dtype, id_type=id_type)
    (dense,) = gradients(graph)
    (sliced,) = API.slice_gradients(graph, [dense], SUMMED)
    ids = IDS.astype(id_type.as_numpy_dtype)
    x = TABLE.astype(dtype.as_numpy_dtype)
    expected, values, indices, shape = graph.run(
        [dense, *slices_of(sliced)], {"x:0": x, "ids:0": ids}
    )
    np.testing.assert_array_equal(indices, np.array([4, 1, 0], indices.dtype))
    assert values.dtype == dtype.as_numpy_dtype
    assert {indices.dtype, shape.dtype} == {np.dtype(id_type.as_numpy_dtype)}
    found = in_zeros(values.astype(float), indices, shape)
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-2)


DENSE: dict[str, tuple[Build, str]] = {
    "another op": (lambda x, ids: tf.gather(x, ids) @ tf.transpose(x), "of op Transpose$"),
    "another axis": (lambda x, ids: tf.gather(x, ids[:1], axis=1), "of op Reshape$"),
    "batch dimensions": (
        lambda x, ids: tf.gather(x, ids[:, None] // 2, batch_dims=1),
        "of op Reshape$",
    ),
    "a reshaped table": (lambda x, ids: tf.gather(tf.reshape(x, [-1]), ids), "of op Reshape$"),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_gradients_stay_and_say_why(name: str) -> None:
    build, reason = DENSE[name]
    graph = table_graph(build, (None, None))
    (dense,) = gradients(graph)
    before = graph.nodes()
    (sliced,) = API.slice_gradients(graph, [dense])
    assert sliced[:4] == (dense, None, None, None)
    assert graph.nodes() == before
    assert re.search(reason, sliced.reason)


def test_zeros_stay_dense() -> None:
    graph = table_graph(lambda x, ids: tf.cast(ids, tf.float64) + 0 * tf.stop_gradient(x[0, 0]))
    (zeros,) = API.add_gradients(graph, ["loss:0"], ["x:0"], unconnected=1)
    (sliced,) = API.slice_gradients(graph, [zeros])
    assert sliced.dense == zeros
    assert sliced.reason.endswith("of op ZerosLike, which is zeros everywhere")
