"""The process of parity.py that has TensorFlow's Python package.

It builds the graphs of cases and differentiates them with `tf.gradients`.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import graph_to_function_def

if TYPE_CHECKING:
    from parity import Case

v1 = tf.compat.v1
_FUNCTION, _GRADIENT = "differentiated", "symbolic_gradient"
# Grappler takes longer than a run, and the reference does not need it.
_UNOPTIMIZED = v1.ConfigProto()
_UNOPTIMIZED.graph_options.rewrite_options.disable_meta_optimizer = True


def _is_differentiable(dtype: np.dtype) -> bool:
    return dtype.kind in "fc" or dtype.name == "bfloat16"


def _random_like(rng: np.random.Generator, value: np.ndarray) -> np.ndarray:
    noise = rng.normal(size=value.shape)
    if value.dtype.kind == "c":
        noise = noise + 1j * rng.normal(size=value.shape)
    return np.asarray(noise).astype(value.dtype)


def prepare(case: "Case") -> dict[str, Any]:
    """Builds the graph of `case` and Python's gradients of it.

    Returns the client process's data (graph, names, feeds) and Python's results: "first" and
    "second", lists with an array or None for each input, or a string with Python's error.
    """
    inputs = [np.asarray(value) for value in case.inputs]
    rng = np.random.default_rng(20 + len(case.id))
    graph = tf.Graph()
    with graph.as_default():
        tf.random.set_seed(7)
        placeholders = []
        for i, value in enumerate(inputs):
            shapes = {
                "all": value.shape,
                "inner": [None, *value.shape[1:]][: value.ndim],
                "rank": [None] * value.ndim,
                "none": None,
            }
            placeholders.append(v1.placeholder(value.dtype, shapes[case.static], name=f"x{i}"))
        names = [f"x{i}" for i in range(len(inputs))]
        for i in case.variables:
            names[i] = f"x{i}_handle"
            placeholders[i] = _variable(placeholders[i], inputs[i], names[i])
        built = case.build(*placeholders)
        tensors = list(built) if isinstance(built, list | tuple) else [built]
        ys = [
            tf.identity(y, name=f"y{k}")
            for k, y in enumerate(y for y in tensors if y.dtype.is_floating or y.dtype.is_complex)
        ]
        graph_def = graph.as_graph_def()
        functions = graph_def.library.function
        nodes = [*graph_def.node, *(node for f in functions for node in f.node_def)]
        if case.op not in {node.op for node in nodes}:
            raise ValueError(f"{case.id}: the graph holds no {case.op}")
        if case.wrt is None:
            wrt = [i for i, v in enumerate(inputs) if _is_differentiable(v.dtype)]
        else:
            wrt = list(case.wrt)
        feeds = {f"x{i}:0": value for i, value in enumerate(inputs)}
        feeds |= case.also_fed
        config = _UNOPTIMIZED
        try:
            with v1.Session(graph=graph, config=config) as session:
                y_values = session.run(ys, feeds)
        except tf.errors.NotFoundError:  # Grappler replaces it.
            config = v1.ConfigProto()
            with v1.Session(graph=graph, config=config) as session:
                y_values = session.run(ys, feeds)
        upstream = []
        for k, value in enumerate(y_values):
            name = f"u{k}"
            upstream.append(v1.placeholder(value.dtype, value.shape, name=name))
            feeds[f"{name}:0"] = _random_like(rng, np.asarray(value))
        # The weights of the first-order gradients are the upstream gradients of the second order.
        weights = []
        for i in wrt:
            name = f"w{i}"
            weights.append(v1.placeholder(inputs[i].dtype, inputs[i].shape, name=name))
            feeds[f"{name}:0"] = _random_like(rng, inputs[i])
        graph_def = graph.as_graph_def()
        function_runtime = _with_symbolic_gradient(graph, placeholders, ys, upstream)
        first, second = _python_gradients(
            case, config, graph, ys, [placeholders[i] for i in wrt], upstream, weights, feeds
        )
    task = {
        "id": case.id,
        "graph": _for_client(graph_def),
        "feeds": feeds,
        "ys": [y.name for y in ys],
        "xs": [f"{names[i]}:0" for i in wrt],
        "upstream": [u.name for u in upstream],
        "weights": [w.name for w in weights],
        "first": first,
        "second": second,
        "numeric": (case.reference == "numeric", case.second_order == "numeric"),
        "step": case.step,
        "second_order": case.second_order is not None,
        "needs_grappler": config is not _UNOPTIMIZED,
    }
    if function_runtime is not None:
        task["function_runtime"] = _for_client(function_runtime)
        task["function_gradients"] = [f"{_GRADIENT}:{i}" for i in wrt]
    return task


def _for_client(graph_def: graph_pb2.GraphDef) -> bytes:
    """The graph, serialized, without the gradients that only Python's side takes
    (old_ops.with_gradient)."""
    functions = graph_def.library.function
    for node in (*graph_def.node, *(node for f in functions for node in f.node_def)):
        if "_gradient_op_type" in node.attr:
            del node.attr["_gradient_op_type"]
    return graph_def.SerializeToString()


def _with_symbolic_gradient(
    graph: Any, inputs: list[Any], ys: list[Any], upstream: list[Any]
) -> graph_pb2.GraphDef | None:
    """The graph, and its part between the inputs and `ys` as a function, with the
    function runtime's gradient of that function at the inputs and upstream gradients.

    None if the function would hold a reference: TensorFlow ends the process on the gradient of such
    a function.
    """
    stop = {tensor.op for tensor in inputs}
    body: set[tf.Operation] = set()
    pending = [y.op for y in ys]
    while pending:
        operation = pending.pop()
        if operation not in body | stop:
            body.add(operation)
            pending += [tensor.op for tensor in operation.inputs]
            pending += operation.control_inputs
    if any(y.dtype._is_ref_dtype for operation in body for y in operation.outputs):
        return None
    function = graph_to_function_def.graph_to_function_def(
        graph, [op for op in graph.get_operations() if op in body], inputs, ys
    )
    function.signature.name = _FUNCTION
    graph_def = graph.as_graph_def()
    graph_def.library.function.append(function)
    arguments = [*inputs, *upstream]
    node = graph_def.node.add(
        name=_GRADIENT, op="SymbolicGradient", input=[t.name for t in arguments]
    )
    node.attr["f"].func.name = _FUNCTION
    node.attr["Tin"].list.type.extend(t.dtype.as_datatype_enum for t in arguments)
    # The function runtime assumes that the gradients of variables are floats.
    node.attr["Tout"].list.type.extend(
        (tf.float32 if t.dtype == tf.resource else t.dtype).as_datatype_enum for t in inputs
    )
    return graph_def


def _variable(value: Any, example: np.ndarray, name: str) -> Any:
    """The handle, a tensor of this name, of a new variable that holds `value`."""
    handle = tf.raw_ops.VarHandleOp(
        dtype=value.dtype, shape=example.shape, shared_name=f"variable_{name}"
    )
    assign = tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    with tf.control_dependencies([assign]):
        return tf.identity(handle, name=name)


def _python_gradients(
    case: "Case",
    config: Any,
    graph: Any,
    ys: list[Any],
    xs: list[Any],
    upstream: list[Any],
    weights: list[Any],
    feeds: dict[str, np.ndarray],
) -> tuple[Any, Any]:
    def run(tensors: list[Any]) -> list[np.ndarray | None]:
        fetches = [None if t is None else tf.convert_to_tensor(t) for t in tensors]
        known = [t for t in fetches if t is not None]
        with v1.Session(graph=graph, config=config) as session:
            values = iter(session.run(known, feeds))
        return [None if t is None else next(values) for t in fetches]

    def failure(error: Exception) -> str:  # Python's failure is a result here
        return f"{type(error).__name__}: {error}"

    if case.reference != "python":
        return "not asked", "not asked"
    try:
        gradients = tf.gradients(ys, xs, upstream)
    except Exception as error:
        return failure(error), "no first order"
    twice: list[Any] = []
    second: Any = "not asked"
    if case.second_order == "python":
        try:
            twice = _gradients_twice(gradients, xs + upstream, weights)
        except Exception as error:
            second = failure(error)
    try:
        values = run([*gradients, *twice])
    except Exception as error:
        second = failure(error)
        twice = []
        try:
            values = run(gradients)
        except Exception as error:
            return failure(error), "no first order"
    return values[: len(xs)], values[len(xs) :] if twice else second


def _gradients_twice(gradients: list[Any], by: list[Any], weights: list[Any]) -> Any:
    pairs = [
        (tf.convert_to_tensor(g), w)
        for g, w in zip(gradients, weights, strict=True)
        if g is not None
    ]
    if not pairs:
        return [None] * len(by)
    return tf.gradients([g for g, _ in pairs], by, [w for _, w in pairs])
