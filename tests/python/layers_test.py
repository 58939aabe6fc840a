"""Every layer in every way that Keras uses one."""

import inspect
import json
import pathlib
import warnings

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from comparisons import upstream_of
from gradient_modes import with_gradients
from layers_case import Case, assert_close
from layers_table import every_layer, layers_of_commit

from tensorflow_ext import layers

# The distance between a result in a type and in float64, relative to 1 or larger values.
_POLICIES = {
    "float64": 0,
    "mixed_float16": 2e-3,
    "float16": 4e-3,
    "mixed_bfloat16": 2e-2,
    "bfloat16": 3e-2,
}


def _outputs(model: keras.Model, case: Case) -> np.ndarray:
    return np.asarray(model(case.tensors()))


@every_layer
def test_value_and_gradients(case: Case) -> None:
    """Gradients by each input and each trained weight equal those of the reference."""
    layer, inputs = case.make(), case.tensors()
    case.call(layer, inputs)  # makes the weights
    value, *gradients = with_gradients(
        lambda *sources: case.call(layer, sources[: len(inputs)]),
        [*inputs, *(weight.value for weight in layer.weights)],
        upstream_of,
    )
    expected, *expected_gradients = with_gradients(
        case.reference, [*inputs, *map(tf.constant, layer.get_weights())], upstream_of
    )
    assert_close(value, expected, case.tolerance)
    trained = [*(True for _ in inputs), *(weight.trainable for weight in layer.weights)]
    for is_trained, *both in zip(trained, gradients, expected_gradients, strict=True):
        if is_trained:
            assert_close(*(0 if x is None else tf.convert_to_tensor(x) for x in both), 1e-5)


@every_layer
def test_types(case: Case) -> None:
    """Mixed precision, and float64."""
    inputs = case.tensors()
    of_float = case.make()
    case.call(of_float, inputs)
    exact = None
    for policy, tolerance in _POLICIES.items():
        layer = case.make(dtype=policy)
        case.call(layer, inputs)
        layer.set_weights(of_float.get_weights())
        y = case.call(layer, inputs)
        if exact is None:
            exact = y
        assert_close(y, exact, tolerance)
        assert y.dtype == layer.compute_dtype
        specified = [keras.KerasTensor(x.shape, x.dtype) for x in case.inputs]
        assert case.call(layer.compute_output_spec, specified).dtype == y.dtype
        assert {x.dtype for x in layer.trainable_weights} <= {layer.variable_dtype}


@every_layer
def test_shapes(case: Case) -> None:
    """The static shape, if known, is correct."""
    layer = case.make()
    shape = case.call(layer, case.tensors()).shape
    for batch_size in (None, 4):
        shapes = [(batch_size, *x.shape[1:]) for x in case.inputs]
        first = shapes[0] if case.keywords or len(shapes) == 1 else shapes
        assert tuple(layer.compute_output_shape(first)) == (batch_size, *shape[1:])
        model = case.model(batch_size)
        assert model.output_shape == (batch_size, *shape[1:])
        assert _outputs(model, case).shape == shape


@every_layer
def test_unknown_dimensions(case: Case) -> None:
    """All dimensions may be unknown, except those that weights or the op require."""
    layer = case.make()
    expected = case.call(layer, case.tensors())
    symbolic = [
        keras.KerasTensor((None,) * (x.ndim - 1) + x.shape[-1:], x.dtype) for x in case.inputs
    ]
    known = tf.TensorShape(case.call(layer.compute_output_spec, symbolic).shape)
    assert known.is_compatible_with(expected.shape)
    function = tf.function(
        lambda *x: case.call(layer, x),
        input_signature=[tf.TensorSpec(x.shape, x.dtype) for x in symbolic],
    )
    assert_close(function(*case.tensors()), expected, 0)


@every_layer
def test_masking(case: Case) -> None:
    shape = case.inputs[0].shape[:2]
    mask = np.arange(np.prod(shape)).reshape(shape) % 4 != 0
    inputs = case.tensors()
    for x in inputs:
        x._keras_mask = tf.constant(mask)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        y = case.call(case.make(), inputs)
    refused = any("does not support masking" in str(x.message) for x in warned)
    assert refused == (case.masking is False)
    np.testing.assert_equal(getattr(y, "_keras_mask", None), mask if case.masking else None)


@every_layer
def test_config(case: Case) -> None:
    layer = case.make(name="named", dtype="mixed_bfloat16", trainable=False)
    config = layer.get_config()
    saved = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    for again in (case.layer.from_config(config), keras.saving.deserialize_keras_object(saved)):
        assert type(again) is case.layer
        assert json.dumps(again.get_config()) == json.dumps(config)
        assert set(dir(again)) == set(dir(layer))


@every_layer
def test_invalid_arguments(case: Case) -> None:
    name = case.layer.__name__
    for arguments in case.invalid:
        with pytest.raises(ValueError, match=rf"^{name}: '\w+' is .*, expected ") as e:
            case.make(**arguments)
        (argument,) = arguments
        assert f"'{argument}' is {arguments[argument]!r}" in str(e.value)
    parameters = inspect.signature(case.layer).parameters.values()
    # Without *args and **kwargs, which some versions of Keras add.
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [x for x in parameters if x.default is x.empty]
    assert {x.name for x in required if x.kind not in variadic} <= {*case.arguments}


@every_layer
def test_wrong_shapes(case: Case) -> None:
    """They are refused, by name, when a model is made and when it is called."""
    expected = f"{case.layer.__name__} 'named'"
    for shapes in case.wrong:
        symbolic = [
            keras.KerasTensor(shape, x.dtype)
            for shape, x in zip(shapes, (*case.inputs, *case.inputs), strict=False)
        ]
        with pytest.raises(ValueError, match=expected):
            case.call(case.make(name="named"), symbolic)
        if all(None not in shape for shape in shapes):
            with pytest.raises(ValueError, match=expected):
                case.call(case.make(name="named"), [tf.zeros(x.shape, x.dtype) for x in symbolic])


@layers_of_commit("saving", 3)
def test_saving(case: Case, tmp_path: pathlib.Path) -> None:
    """A loaded model computes the same bits, and so does its gradient."""
    model = case.model()
    expected = _outputs(model, case)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    model.export(str(tmp_path / "model"), verbose=False)
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    with_weights = case.model()
    with_weights.load_weights(tmp_path / "model.weights.h5")
    exported = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(exported.serve(case.tensors()), expected)
    gradients = []
    for tested in (model, loaded, with_weights):
        with tf.GradientTape() as tape:
            y = tested(case.tensors())
            loss = tf.reduce_sum(tf.sin(y))
        np.testing.assert_array_equal(y, expected)
        variables = tested.trainable_variables
        gradients.append([tf.convert_to_tensor(x) for x in tape.gradient(loss, variables)])
        assert gradients[-1]
        for actual, of_model in zip(gradients[-1], gradients[0], strict=True):
            np.testing.assert_array_equal(actual, of_model)


@every_layer
def test_arguments_that_are_objects(case: Case, tmp_path: pathlib.Path) -> None:
    """They are saved, even for layers without a configuration of their own."""
    model = case.model(
        dtype=keras.DTypePolicy("mixed_float16"), activity_regularizer=keras.regularizers.L2(0.5)
    )
    model.save(tmp_path / "model.keras")
    layer = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    assert type(layer) is case.layer
    assert layer.dtype_policy.name == "mixed_float16"
    assert layer.activity_regularizer.l2 == 0.5


def test_the_package_is_enough_to_load_a_model(tmp_path: pathlib.Path) -> None:
    """Keras finds the layers without an import of them."""
    model = keras.Sequential([keras.Input((3,)), layers.SignQuantizer()])
    model.save(tmp_path / "model.keras")
    processes.run(
        f"""
        import keras
        import tensorflow_ext
        keras.saving.load_model({str(tmp_path / "model.keras")!r})
        """
    )
