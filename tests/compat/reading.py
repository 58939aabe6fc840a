"""The numbers that a folder of old files gives today, by name.

Each function reads one kind of file as a user would, computes outputs and gradients, and returns
them. write.py stores what they returned when the files were written.
"""

import json
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import client_process
import keras
import numpy as np
import old_models
import protocol
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

import tensorflow_ext as tfe
from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
Numbers = dict[str, np.ndarray]


def upstream(shape: Iterable[int]) -> np.ndarray:
    """An upstream gradient of this shape, no two elements alike."""
    shape = tuple(shape)
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _differentiate(
    call: Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]],
    names: Iterable[str],
    variables: Mapping[str, tf.Variable],
) -> Numbers:
    """The outputs of a call and their gradients by its inputs and by variables."""
    inputs = {name: tf.constant(old_models.inputs()[name]) for name in names}
    watched = {name: x for name, x in inputs.items() if x.dtype.is_floating}
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = call(inputs)
        loss = tf.add_n([tf.reduce_sum(y * upstream(y.shape)) for y in outputs.values()])
    numbers = {f"output {name}": y.numpy() for name, y in outputs.items()}
    for name, gradient in tape.gradient(loss, {**watched, **variables}).items():
        if gradient is not None:
            numbers[f"gradient {name}"] = tf.convert_to_tensor(gradient).numpy()
    return numbers


def _prefixed(prefix: str, numbers: Numbers) -> Numbers:
    return {f"{prefix}, {name}": value for name, value in numbers.items()}


def _of_module(module: Any) -> Numbers:
    variables = {x: getattr(module, x) for x in ("table", "weight", "scale")}
    return _prefixed(
        "predict", _differentiate(lambda x: module.predict(**x), ["words", "x"], variables)
    ) | _prefixed("custom", _differentiate(lambda x: module.custom(**x), ["x"], variables))


def _of_keras(model: keras.Model) -> Numbers:
    variables = {
        f"{i} {variable.name}": variable.value
        for i, variable in enumerate(model.trainable_variables)
    }
    names = ["words", "image", "rois"]
    return _differentiate(lambda inputs: model([inputs[name] for name in names]), names, variables)


def module(folder: pathlib.Path) -> Numbers:
    """A SavedModel of tf.saved_model.save."""
    return _of_module(tf.saved_model.load(str(folder / "module")))


def exported(folder: pathlib.Path) -> Numbers:
    """A SavedModel of keras.Model.export."""
    loaded = tf.saved_model.load(str(folder / "exported"))
    variables = {
        f"{i} {variable.name}": variable for i, variable in enumerate(loaded.trainable_variables)
    }
    names = ["words", "image", "rois"]
    return _differentiate(
        lambda inputs: loaded.serve([inputs[name] for name in names]), names, variables
    )


def keras_file(folder: pathlib.Path) -> Numbers:
    """A .keras file: the model's configuration and weights."""
    return _of_keras(keras.models.load_model(folder / "model.keras"))


def keras_weights(folder: pathlib.Path) -> Numbers:
    """A .weights.h5 file, loaded into a model that the program builds."""
    model = old_models.keras_model()
    model.load_weights(folder / "model.weights.h5")
    return _of_keras(model)


def checkpoint(folder: pathlib.Path) -> Numbers:
    """A tf.train.Checkpoint of the module and of the Keras model."""
    made = old_models.Module()
    model = old_models.keras_model()
    for variable in [*made.variables, *model.trainable_variables]:
        variable.assign(tf.zeros_like(variable))
    restored = tf.train.Checkpoint(module=made, model=model)
    status = restored.read(str(folder / "checkpoint"))
    status.assert_existing_objects_matched()
    return _prefixed("module", _of_module(made)) | _prefixed("Keras", _of_keras(model))


def _frozen(folder: pathlib.Path) -> tuple[graph_pb2.GraphDef, dict[str, Any], Numbers]:
    """The frozen graph; its cases, by name; the tensors to feed."""
    graph_def = graph_pb2.GraphDef.FromString((folder / "frozen.pb").read_bytes())
    cases = json.loads((folder / "frozen.json").read_text())
    with np.load(folder / "feeds.npz") as feeds:
        return graph_def, cases, dict(feeds)


def frozen(folder: pathlib.Path) -> Numbers:
    """A GraphDef of every op and its gradient, and the gradients added again."""
    graph_def, cases, feeds = _frozen(folder)
    fetches: dict[str, Any] = {}
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.graph_util.import_graph_def(graph_def, name="")
        for name, case in cases.items():
            for tensor in [*case["outputs"], *case["gradients"]]:
                fetches[f"{name}, {tensor}"] = tensor
            ys, xs, dys = (
                [graph.get_tensor_by_name(x) for x in case[kind]]
                for kind in ("differentiated", "inputs", "upstreams")
            )
            for x, gradient in zip(xs, v1.gradients(ys, xs, dys), strict=True):
                fetches[f"{name}, again by {x.name}"] = gradient
        return session.run(fetches, feeds)


def client() -> client_process.ClientProcess:
    program = protocol.find_program("C")
    return client_process.ClientProcess(program, _library.PATH)


def frozen_in_c(folder: pathlib.Path) -> Numbers:
    """The same GraphDef in C."""
    graph_def, cases, feeds = _frozen(folder)
    program = client()
    program.import_graph(graph_def.SerializeToString())
    fetches = {}
    for name, case in cases.items():
        for tensor in [*case["outputs"], *case["gradients"]]:
            fetches[f"{name}, {tensor}"] = tensor
        kinds = ("differentiated", "inputs", "upstreams")
        added = program.add_gradients(*(case[kind] for kind in kinds))
        for x, gradient in zip(case["inputs"], added, strict=True):
            fetches[f"{name}, again by {x}"] = gradient
    values = program.run(feeds, list(fetches.values()))
    assert program.close() == 0
    return dict(zip(fetches, values, strict=True))


def _saved_model_in_c(folder: pathlib.Path) -> Numbers:
    """Every signature of a SavedModel, by its inputs and trainable variables."""
    rows = [row[1:] for row in tfe.describe_saved_model(folder) if row[0] == "signature"]
    numbers: Numbers = {}
    program = client()
    for signature in sorted({row[0] for row in rows}):
        program.load_saved_model(folder)
        of = [row[1:] for row in rows if row[0] == signature]
        feeds = {row[2]: old_models.inputs()[row[1]] for row in of if row[0] == "input"}
        outputs = {row[1]: row[2] for row in of if row[0] == "output"}
        xs = {row[1]: row[2] for row in of if row[0] == "input" and row[3] == "float"}
        xs |= {
            row[1]: f"{row[1]}:0" for row in of if row[0] == "variable" and row[-1] == "trainable"
        }
        values = program.run(feeds, list(outputs.values()))
        found = {f"output {x}": y for x, y in zip(outputs, values, strict=True)}
        added = graph_pb2.GraphDef()
        for i, value in enumerate(values):
            node = added.node.add(name=f"upstream_{i}", op="Placeholder")
            node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
            feeds[f"upstream_{i}:0"] = upstream(value.shape).astype(value.dtype)
        program.add(added.SerializeToString())
        gradients = program.add_gradients(
            list(outputs.values()), list(xs.values()), [f"{node.name}:0" for node in added.node]
        )
        there = {x: g for x, g in zip(xs, gradients, strict=True) if g}
        values = program.run(feeds, list(there.values()))
        found |= {f"gradient {x}": dx for x, dx in zip(there, values, strict=True)}
        numbers |= _prefixed(signature, found)
    assert program.close() == 0
    return numbers


def module_in_c(folder: pathlib.Path) -> Numbers:
    return _saved_model_in_c(folder / "module")


def exported_in_c(folder: pathlib.Path) -> Numbers:
    return _saved_model_in_c(folder / "exported")


def checkpoint_in_c(folder: pathlib.Path) -> Numbers:
    """The tensors of the checkpoint, read by ops."""
    prefix = str(folder / "checkpoint")
    shapes = tf.train.load_checkpoint(prefix)
    names = [
        name
        for name, dtype in sorted(shapes.get_variable_to_dtype_map().items())
        if dtype == tf.float32
    ]
    with tf.Graph().as_default() as graph:
        for name in names:
            tf.raw_ops.RestoreV2(
                prefix=prefix, tensor_names=[name], shape_and_slices=[""], dtypes=[tf.float32]
            )
    program = client()
    program.import_graph(graph.as_graph_def().SerializeToString())
    fetches = [f"{x.name}:0" for x in graph.get_operations() if x.type == "RestoreV2"]
    values = program.run({}, fetches)
    assert program.close() == 0
    return dict(zip(names, values, strict=True))


READERS = {
    function.__name__: function
    for function in (
        module,
        exported,
        keras_file,
        keras_weights,
        checkpoint,
        frozen,
        frozen_in_c,
        module_in_c,
        exported_in_c,
        checkpoint_in_c,
    )
}
