"""The tables of optimizers, schedules and initializers agree with Keras and with the library."""

import inspect
import json

import keras
import pytest
import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext_codegen import initializers, optimizers

TABLES = (
    (optimizers.OPTIMIZERS, keras.optimizers),
    ((optimizers.LOSS_SCALE_OPTIMIZER,), keras.optimizers),
    (optimizers.SCHEDULES, keras.optimizers.schedules),
    (initializers.INITIALIZERS, keras.initializers),
)
CLASSES = [
    pytest.param(ours, getattr(module, ours.name), id=ours.name)
    for table, module in TABLES
    for ours in table
]


@pytest.mark.parametrize(("ours", "theirs"), CLASSES)
def test_fields_and_defaults_are_those_of_keras(ours: optimizers.Class, theirs: type) -> None:
    signature = inspect.signature(theirs).parameters.values()
    expected = {
        parameter.name: optimizers.REQUIRED
        if parameter.default is parameter.empty
        else parameter.default
        for parameter in signature
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    if ours in optimizers.SCHEDULES:
        del expected["name"]  # It names nothing here.
    assert {field.name: field.default for field in ours.fields if not field.is_own} == expected


@pytest.mark.parametrize(("ours", "theirs"), CLASSES)
def test_kinds_fit_defaults(ours: optimizers.Class, theirs: type) -> None:
    del theirs
    types = {
        optimizers.RATE: float,
        optimizers.NUMBER: (float, int),
        optimizers.FLAG: bool,
        optimizers.NAME: str,
    }
    for field in ours.fields:
        if field.default is None:
            assert " or nothing" in field.kind
        elif field.default is not optimizers.REQUIRED:
            assert isinstance(field.default, types[field.kind]), field


def test_keras_has_no_other_schedules() -> None:
    schedules = keras.optimizers.schedules
    found = {name for name in dir(schedules) if inspect.isclass(getattr(schedules, name))}
    assert found - {"LearningRateSchedule"} == {ours.name for ours in optimizers.SCHEDULES}


@pytest.mark.parametrize("ours", optimizers.OPTIMIZERS, ids=lambda ours: ours.name)
def test_library_takes_every_field(ours: optimizers.Class) -> None:
    with tf.Graph().as_default() as graph:
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="x", name="x")
        tf.compat.v1.placeholder(tf.float32, [2], name="g")
    config = {field.name: field.default for field in ours.fields if field.default is not None}
    results = raw_ops.apply_gradients(
        graph.as_graph_def().SerializeToString(),
        ["g:0"],
        ["x:0"],
        optimizer=json.dumps({"class_name": ours.name, "config": config}),
    )
    assert sorted(results[5].numpy()) == [b"g:0", b"x:0"]


@pytest.mark.parametrize("ours", initializers.INITIALIZERS, ids=lambda ours: ours.name)
def test_library_takes_every_initializer(ours: optimizers.Class) -> None:
    config = {field.name: field.default for field in ours.fields if field.default is not None}
    axes = {"input_axes": [0], "output_axes": [1]}
    config |= {field.name: axes[field.name] for field in ours.fields if field.name in axes}
    _, handles, _ = raw_ops.new_variables(
        b"",
        ["kernel"],
        dtypes=[tf.float32],
        shapes=[[3, 2]],
        initializers=[json.dumps({"class_name": ours.name, "config": config})],
    )
    assert handles.numpy().tolist() == [b"kernel:0"]
