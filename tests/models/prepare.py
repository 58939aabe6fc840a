"""Saves models, loads them again and differentiates them with Python's tapes."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from model import Model
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

v1 = tf.compat.v1


def tasks(
    model: Model, dtype: str, folder: pathlib.Path, second_order: bool, inlined: bool
) -> list[dict[str, Any]]:
    """Saves a model and prepares the comparison of each signature: first order, optionally
    second order, and optionally with inlined calls."""
    made = save(model, dtype, folder)
    return [
        task(model, made, signature, folder, second_order) | {"inlined": inlined}
        for signature in model.signatures
    ]


def save(model: Model, dtype: str, folder: pathlib.Path) -> Any:
    """Writes the SavedModel as users do; returns the saved object."""
    keras.config.set_floatx(dtype)
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    made = model.made()
    # Zeros and ones, Keras' initial values, hide factors.
    rng = np.random.default_rng(2)
    for variable in made.variables:
        if tf.as_dtype(variable.dtype).is_floating:
            value = np.asarray(variable)
            variable.assign(value + 0.3 * rng.uniform(size=value.shape))
    if isinstance(made, keras.Model):
        made.export(str(folder), verbose=False)
    elif hasattr(made, "write_out"):  # a keras.export.ExportArchive
        made.write_out(str(folder), verbose=False)
    else:
        signatures = getattr(made, "signatures_to_save", None)
        tf.saved_model.save(made, str(folder), signatures)
    return made


def task(model: Model, made: Any, signature: str, folder: pathlib.Path, second_order: bool) -> Any:
    """The task of the client process, with Python's gradients of the saved model.

    The variables are all variables of the graph, even if the signature does not use them.

    Returns the arguments of parity_client.client_results, with "labels", names of `xs` and
    `upstream` to read, and Python's "first" and "second", lists with an array or None for each of
    these.
    """
    loaded = tf.saved_model.load(str(folder))  # keeps the variables alive
    function = loaded.signatures[signature]
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (meta_graph,) = saved.meta_graphs
    names = meta_graph.signature_def[signature]
    inputs = {
        name: tf.constant(value, names.inputs[name].dtype) for name, value in model.inputs.items()
    }
    floating = {name: x for name, x in inputs.items() if x.dtype.is_floating}
    output = next(iter(names.outputs.values())).name
    variables = _variables(function, meta_graph.graph_def, output)
    xs = [names.inputs[name].name for name in floating]
    xs += [f"{node}:0" for node in variables]
    by = [*floating.values(), *variables.values()]

    second_order = second_order and model.error is None
    in_python = second_order and model.second_error is None
    found = None
    if model.loaded > 0:
        twice = in_python and model.loaded > 1
        found = differentiate(function, inputs, by, twice=twice)
    if model.loaded < (2 if in_python else 1):
        originals = _originals(made, variables.values())
        by = [*floating.values(), *originals]
        original = differentiate(_eagerly(made, names), inputs, by, twice=in_python)
        if found is None:
            found = original
        found.second = original.second
    assert found is not None
    weights = {f"weight_{k}:0": w for k, w in enumerate(found.weights)}
    upstream = {f"upstream_{k}:0": u for k, u in enumerate(found.upstream.values())}
    feeds = {names.inputs[name].name: x.numpy() for name, x in inputs.items()}
    placeholders = tf.Graph()
    with placeholders.as_default():
        for name, value in (weights | upstream).items():
            if value is not None:
                feeds[name] = value.numpy()
                v1.placeholder(value.dtype, value.shape, name.partition(":")[0])
    return {
        "saved_model": str(folder),
        "graph": placeholders.as_graph_def().SerializeToString(),
        "feeds": feeds,
        "ys": [names.outputs[name].name for name in found.upstream],
        "xs": xs,
        "upstream": list(upstream),
        "weights": [None if w is None else name for name, w in weights.items()],
        "labels": xs + [f"the upstream gradient of {name}" for name in found.upstream],
        "first": found.first,
        "second": found.second,
        "numeric": (False, False),
        "second_order": second_order,
    }


@dataclasses.dataclass
class Gradients:
    """Gradients of first and of second order. None stands for a missing one.

    Attributes:
      first: The gradients by the requested inputs and variables.
      second: The gradients of their weighted sum, by the same and by the upstream gradients.
      upstream: Upstream gradients by the output's name.
      weights: The weights of the first gradients.
    """

    first: list[np.ndarray | None]
    second: list[np.ndarray | None]
    upstream: dict[str, tf.Tensor]
    weights: list[tf.Tensor | None]


def differentiate(
    function: Callable[..., dict[str, tf.Tensor]],
    inputs: dict[str, tf.Tensor],
    by: Sequence[Any],
    twice: bool = True,
) -> Gradients:
    """Gradients of all floating outputs, from random upstream gradients.

    None in `by` stands for a variable that the function lacks. `second` is empty unless `twice` is
    true.
    """
    rng = np.random.default_rng(3)
    known = [x for x in by if x is not None]

    def random_like(value: tf.Tensor) -> tf.Tensor:
        return tf.cast(rng.normal(size=value.shape), value.dtype)

    def all_of(found: Sequence[Any]) -> list[tf.Tensor | None]:
        # Gradients of look-ups are tf.IndexedSlices.
        dense = [None if g is None else tf.convert_to_tensor(g) for g in found]
        for k, x in enumerate(by):
            if x is None:
                dense.insert(k, None)
        return dense

    with contextlib.ExitStack() as taped:
        outer = tf.GradientTape()
        if twice:
            taped.enter_context(outer)
            outer.watch(known)
        with tf.GradientTape() as inner:
            inner.watch(known)
            results = function(**inputs)
        ys = {k: y for k, y in sorted(results.items()) if y.dtype.is_floating}
        upstream = {name: random_like(y) for name, y in ys.items()}
        if twice:
            outer.watch(list(upstream.values()))
        us = list(upstream.values())
        first = all_of(inner.gradient(list(ys.values()), known, us))
        weights = [None if g is None else random_like(g) for g in first]
        total = tf.add_n(
            [
                tf.cast(tf.reduce_sum(w * g), tf.float64)
                for w, g in zip(weights, first, strict=True)
                if w is not None and g is not None
            ]
        )
    second = all_of(outer.gradient(total, known + us)) if twice else []

    def arrays(gradients: Sequence[tf.Tensor | None]) -> list[np.ndarray | None]:
        return [None if g is None else g.numpy() for g in gradients]

    return Gradients(arrays(first), arrays(second), upstream, weights)


def _eagerly(made: Any, names: Any) -> Callable[..., dict[str, tf.Tensor]]:
    """The function of a model before it was saved, op by op."""
    (*_, last) = names.outputs

    def function(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        tf.config.run_functions_eagerly(True)
        try:
            if isinstance(made, keras.Model):
                results = made(inputs if len(inputs) > 1 else next(iter(inputs.values())))
            else:
                results = made.serve(*inputs.values())
        finally:
            tf.config.run_functions_eagerly(False)
        return results if isinstance(results, dict) else {last: results}

    return function


def _originals(made: Any, loaded: Iterable[Any]) -> list[tf.Variable | None]:
    """The variables of a model from which these were saved."""
    variables = [v.value if isinstance(v, keras.Variable) else v for v in made.variables]
    by_name = {v.name: v for v in variables}
    if len(by_name) != len(variables):
        raise ValueError(f"two variables have one name: {sorted(by_name)}")
    return [None if v is None else by_name[v.name] for v in loaded]


def _variables(
    function: Any, graph_def: graph_pb2.GraphDef, output: str
) -> dict[str, tf.Variable | None]:
    """The VarHandleOps of a saved graph with a signature's loaded variables.

    A node that does not lead to the signature's `output` has None.
    """
    (call,) = (node for node in graph_def.node if node.name == output.partition(":")[0])
    captured = function.captured_inputs
    inputs = [name for name in call.input if not name.startswith("^")]
    variables = {id(variable.handle): variable for variable in function.variables}
    taken = {
        name: variables[id(tensor)]
        for name, tensor in zip(inputs[len(inputs) - len(captured) :], captured, strict=True)
        if id(tensor) in variables
    }
    nodes = [node.name for node in graph_def.node if node.op == "VarHandleOp"]
    if len(taken) != len(variables) or not taken.keys() <= set(nodes):
        raise ValueError(f"{call.name} does not take the variables {variables}")
    return {name: taken.get(name) for name in nodes}
