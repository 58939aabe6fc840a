# SPDX-License-Identifier: Apache-2.0
"""Gradients of pooling and of its gradients."""

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from fed_kernels import outputs_are_fed
from parity import Case
from random_values import distinct, normal

raw = tf.raw_ops

# Windows of different kinds: overlapping, with gaps, padded, uneven.
WINDOWS_2D: dict[str, dict[str, Any]] = {
    "valid": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    "same_overlapping": {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    "uneven": {"ksize": [1, 2, 3, 1], "strides": [1, 3, 1, 1], "padding": "VALID"},
}
WINDOWS_3D: dict[str, dict[str, Any]] = {
    "valid": {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"},
    "same_overlapping": {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": "SAME"},
    "uneven": {"ksize": [1, 1, 2, 3, 1], "strides": [1, 2, 1, 2, 1], "padding": "VALID"},
}
IMAGES = (2, 5, 6, 3)
VOLUMES = (2, 4, 5, 4, 2)


def _evaluate(op: Callable[..., Any], *values: np.ndarray, **window: Any) -> np.ndarray:
    """What `op` gives in a graph of its own."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(op(*[tf.constant(v) for v in values], **window))


def _avg_pool_grad(op: str) -> list[Case]:
    three_d = "3D" in op
    cases = []
    for name, window in (WINDOWS_3D if three_d else WINDOWS_2D).items():
        shape = VOLUMES if three_d else IMAGES
        forward = raw.AvgPool3D if three_d else raw.AvgPool
        for dtype in (np.float32, ml_dtypes.bfloat16 if three_d else np.float64):
            x = normal(*shape, dtype=dtype)

            def pool(x: Any, forward: Any = forward, window: Any = window) -> Any:
                return forward(**({"input": x} if three_d else {"value": x}), **window)

            dy = normal(*_evaluate(pool, x).shape, dtype=dtype, seed=1)

            def build(dy: Any, shape: Any = shape, op: Any = op, window: Any = window) -> Any:
                return getattr(raw, op)(orig_input_shape=shape, grad=dy, **window)

            cases.append(Case(op, f"{name}_{np.dtype(dtype).name}", build, [dy]))
    cases.append(
        Case(
            op,
            "shape_is_an_input",
            lambda dy, s: getattr(raw, op)(orig_input_shape=s, grad=dy, **window),
            [dy, np.array(shape, np.int32)],
        )
    )
    if not three_d:  # AvgPool3D has no double
        cases.append(
            Case(
                op,
                "numeric",
                build,
                [dy],
                reference="numeric",
                second_order="numeric",
                known_shapes=True,
            )
        )
    return cases


def _max_pool(three_d: bool, window: dict[str, Any]) -> Callable[[Any], Any]:
    op = raw.MaxPool3D if three_d else raw.MaxPool
    return lambda x: op(input=x, **window)


def _max_pool_grads(op: str, dtypes: list[Any]) -> list[Case]:
    """MaxPoolGrad and MaxPoolGradGrad, 2-D and 3-D, by all inputs."""
    three_d, twice = "3D" in op, op.endswith("GradGrad")
    shape = VOLUMES if three_d else IMAGES
    cases = []
    for name, window in (WINDOWS_3D if three_d else WINDOWS_2D).items():

        def build(x: Any, y: Any, d: Any, window: Any = window) -> Any:
            return getattr(raw, op)(orig_input=x, orig_output=y, grad=d, **window)

        for dtype in dtypes:
            x = distinct(*shape, dtype=dtype)
            y = _evaluate(_max_pool(three_d, window), x)
            d = normal(*(x if twice else y).shape, seed=1).astype(dtype)
            cases.append(Case(op, f"{name}_{np.dtype(dtype).name}", build, [x, y, d]))
    ties = np.floor(normal(*shape)).astype(np.float32)
    y = _evaluate(_max_pool(three_d, window), ties)
    d = normal(*(ties if twice else y).shape, dtype=np.float32)
    cases.append(Case(op, "ties", build, [ties, y, d], known_shapes=True))
    return cases


def _max_pool_grad_v2(op: str) -> list[Case]:
    twice = op == "MaxPoolGradGradV2"
    cases = []
    for name, window in WINDOWS_2D.items():
        x = distinct(*IMAGES)
        y = _evaluate(_max_pool(False, window), x)
        d = normal(*(x if twice else y).shape, seed=1)

        def build(x: Any, y: Any, d: Any, ksize: Any, strides: Any, window: Any = window) -> Any:
            return getattr(raw, op)(
                orig_input=x,
                orig_output=y,
                grad=d,
                ksize=ksize,
                strides=strides,
                padding=window["padding"],
            )

        inputs = [x, y, d, *(np.array(window[a], np.int32) for a in ("ksize", "strides"))]
        # Python has no gradient of MaxPoolGradGradV2, so none of second order.
        reference = "numeric" if twice else "python"
        cases.append(
            Case(op, name, build, inputs, wrt=[2], reference=reference, second_order="numeric")
        )
        cases.append(
            Case(
                op,
                f"{name}_numeric",
                build,
                inputs,
                wrt=[2],
                reference="numeric",
                second_order="numeric",
            )
        )
    return cases


def _explicit(name: str, paddings: list[int], ksize: list[int]) -> Case:
    """Python refuses explicit paddings; negative images show what pads them."""
    window = {
        "ksize": ksize,
        "strides": [1, 2, 1, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": paddings,
    }
    x = distinct(*IMAGES) - 20
    y = _evaluate(_max_pool(False, window), x)
    return Case(
        "MaxPoolGrad",
        name,
        lambda x, y, d: raw.MaxPoolGrad(orig_input=x, orig_output=y, grad=d, **window),
        [x, y, normal(*y.shape)],
        wrt=[2],
        reference="numeric",
        second_order="numeric",
    )


def _with_argmax(**attributes: Any) -> Callable[[Any], Any]:
    return lambda x: raw.MaxPoolWithArgmax(input=x, **attributes)[0]


def _argmax_cases() -> list[Case]:
    op, cases = "MaxPoolWithArgmax", []
    x = distinct(*IMAGES)
    for name, window in WINDOWS_2D.items():
        for batch in (False, True):
            build = _with_argmax(include_batch_in_index=batch, **window)
            suffix = "_batch_in_index" if batch else ""
            cases.append(Case(op, f"{name}{suffix}", build, [x], second_order="numeric"))
    ties = np.floor(normal(*IMAGES, dtype=np.float32))
    cases.append(Case(op, "ties", build, [ties], second_order=None))
    # Python's gradient asks for a kernel that does not exist.
    build = _with_argmax(Targmax=tf.int32, **WINDOWS_2D["valid"])
    cases.append(
        Case(
            op,
            "int32_index",
            build,
            [x],
            known_shapes=True,
            reference="numeric",
            second_order="numeric",
        )
    )
    return cases


def _grad_with_argmax(name: str, batch: bool) -> Case:
    """Its own gradient, which Python has not, through the forward op's argmax."""
    window = WINDOWS_2D[name]
    attributes = {"include_batch_in_index": batch, **window}

    def build(x: Any, dy: Any) -> Any:
        _, argmax = raw.MaxPoolWithArgmax(input=x, **attributes)
        return raw.MaxPoolGradWithArgmax(input=x, grad=dy, argmax=argmax, **attributes)

    x = distinct(*IMAGES)
    y = _evaluate(lambda x: raw.MaxPoolWithArgmax(input=x, **attributes)[0], x)
    return Case(
        "MaxPoolGradWithArgmax",
        name,
        build,
        [x, normal(*y.shape)],
        wrt=[1],
        reference="numeric",
        second_order="numeric",
    )


@tf.RegisterGradient("ScatterToArgmax")
def _scatter_to_argmax(op: tf.Operation, upstream: tf.Tensor) -> Any:
    image, grad, argmax = op.inputs
    dgrad = tf.scatter_nd(
        tf.reshape(argmax, [-1, 1]),
        tf.reshape(upstream, [-1]),
        tf.reshape(tf.size(grad, argmax.dtype), [1]),
    )
    return tf.zeros_like(image), tf.reshape(dgrad, tf.shape(grad)), None


def _grad_grad_with_argmax(name: str, dtype: Any, **more: Any) -> Case:
    """It has kernels for GPUs only: outputs are fed."""
    op, attributes = "MaxPoolGradGradWithArgmax", {"include_batch_in_index": True}
    attributes |= WINDOWS_2D[name]
    x = distinct(*IMAGES, dtype=dtype)
    argmax = _evaluate(lambda x: raw.MaxPoolWithArgmax(input=x, **attributes).argmax, x)
    grad = normal(*IMAGES, dtype=dtype)

    def build(x: Any, grad: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({op: "ScatterToArgmax"})
        with override, outputs_are_fed(op):
            return getattr(raw, op)(input=x, grad=grad, argmax=argmax, name="fed", **attributes)

    fed = {"fed:0": grad.ravel()[argmax]}
    return Case(op, name, build, [x, grad], also_fed=fed, **more)


def _same_size(op: str) -> Case:
    """As many maxima as pixels, of an image and with gradients that no client holds.

    The kernel of MaxPoolGradGrad writes over such a gradient before it reads it, so
    Python is no reference.
    """
    three_d, second = "3D" in op, op.endswith("V2")
    axes = 3 if three_d else 2
    ksize, strides = [1, *[2] * axes, 1], [1, *[1] * axes, 1]

    def build(x: Any) -> Any:
        window = (
            {"ksize": tf.constant(ksize), "strides": tf.constant(strides)}
            if second
            else {"ksize": ksize, "strides": strides}
        )
        return tf.sin(getattr(raw, op)(input=0.75 * x, padding="SAME", **window))

    x = distinct(*(VOLUMES if three_d else IMAGES))
    case = Case(op, "same_size", build, [x], second_order="numeric")
    if not three_d:
        return case
    x = x.astype(np.float32)  # MaxPool3D has no double
    return dataclasses.replace(case, inputs=[x], step=1e-2, tolerance=1e-3)


CASES = [
    *[_same_size(op) for op in ("MaxPool", "MaxPoolV2", "MaxPool3D")],
    *_avg_pool_grad("AvgPoolGrad"),
    *_avg_pool_grad("AvgPool3DGrad"),
    *_max_pool_grads("MaxPoolGrad", [np.float64, np.float32]),
    *_max_pool_grads("MaxPoolGradGrad", [np.float64, np.float32]),
    *_max_pool_grads("MaxPool3DGrad", [np.float32, ml_dtypes.bfloat16]),
    *_max_pool_grads("MaxPool3DGradGrad", [np.float32]),
    *_max_pool_grad_v2("MaxPoolGradV2"),
    *_max_pool_grad_v2("MaxPoolGradGradV2"),
    _explicit("explicit", [0, 0, 1, 1, 1, 0, 0, 0], [1, 3, 2, 1]),
    _explicit("explicit_one_side", [0, 0, 0, 2, 0, 1, 0, 0], [1, 3, 3, 1]),
    *_argmax_cases(),
    _grad_with_argmax("valid", batch=False),
    _grad_with_argmax("same_overlapping", batch=True),
    _grad_with_argmax("uneven", batch=False),
    _grad_grad_with_argmax("valid", np.float64),
    _grad_grad_with_argmax("same_overlapping", np.float32, known_shapes=True),
    _grad_grad_with_argmax("uneven", np.float64, known_shapes="rank"),
]
