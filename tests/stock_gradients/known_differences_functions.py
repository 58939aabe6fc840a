# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's function gradients against central differences.

A case's op is differentiated by SymbolicGradient in a session, with the values that
the case feeds it. At a kink, where differences say nothing, Python's gradient is right,
too. This runs in a process of its own, which some of them end.
"""

import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import HERE, Case, deviation, load_cases

v1 = tf.compat.v1

# What a process prints to the results of a case: how large the deviation is, or what
# went wrong instead.
Result = float | str
NONE = "none"


def results(cases: Sequence[Case]) -> dict[str, Result]:
    """By the ids of those of `cases` whose op has a function gradient."""
    found: dict[str, Result] = {}
    remaining = [case.id for case in cases]
    while remaining:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "results")
            subprocess.run(
                [sys.executable, __file__, str(path), *remaining],
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
                stderr=subprocess.DEVNULL,
                check=False,
            )
            with path.open("rb") as file:
                while True:
                    try:
                        found[remaining[0]] = pickle.load(file)
                    except EOFError:
                        break
                    remaining.pop(0)
        if remaining:
            found[remaining.pop(0)] = "the process ended"
    return {name: result for name, result in found.items() if result != NONE}


def result(case: Case) -> Result:
    """Of one case, in this process."""
    rng = np.random.default_rng(len(case.id))
    with tf.Graph().as_default() as graph, v1.Session() as session:
        placeholders = [v1.placeholder(np.asarray(x).dtype) for x in case.inputs]
        for placeholder, x in zip(placeholders, case.inputs, strict=True):
            placeholder.set_shape(np.shape(x))
        case.build(*placeholders)
        node = next(node for node in graph.get_operations() if node.type == case.op)
        feeds = dict(zip(placeholders, case.inputs, strict=True))
        values = session.run(list(node.inputs), feeds)
        # What Python's gradient needs beside the inputs comes from the placeholders.
        fed = {**feeds, **dict(zip(node.inputs, values, strict=True))}
        upstream = [
            random_like(rng, np.asarray(y)) for y in session.run(node.outputs, fed)
        ]
        function = v1.NameAttrList(name=case.op)
        for name, value in node.node_def.attr.items():
            function.attr[name].CopyFrom(value)
        try:
            gradients = session.run(
                tf.raw_ops.SymbolicGradient(
                    input=[*node.inputs, *(tf.constant(u) for u in upstream)],
                    Tout=[x.dtype for x in node.inputs],
                    f=function,
                ),
                fed,
            )
        except (tf.errors.OpError, ValueError) as error:
            missing = f"No gradient defined for op: {case.op}"
            message = str(error)
            return NONE if missing in message else message
        size = worst(
            (gradient, differences(session, node, fed, x, upstream))
            for x, gradient in zip(node.inputs, gradients, strict=True)
            if is_differentiable(x)
        )
        if case.reference != "python":
            return size
        pythons = tf.gradients(
            node.outputs, list(node.inputs), [tf.constant(u) for u in upstream]
        )
        known = [p for p in pythons if p is not None]
        values = iter(session.run([tf.convert_to_tensor(p) for p in known], fed))
        python = [p if p is None else next(values) for p in pythons]
        pairs = (
            (gradient, np.zeros_like(gradient) if p is None else p)
            for x, gradient, p in zip(node.inputs, gradients, python, strict=True)
            if is_differentiable(x)
        )
        return min(size, worst(pairs))


def is_differentiable(x: Any) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def worst(pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> float:
    return max((deviation(np.asarray(f), np.asarray(e)) for f, e in pairs), default=0.0)


def random_like(rng: np.random.Generator, value: np.ndarray) -> np.ndarray:
    noise = rng.normal(size=value.shape)
    if value.dtype.kind == "c":
        noise = noise + 1j * rng.normal(size=value.shape)
    return np.asarray(noise).astype(value.dtype)


def differences(
    session: Any, node: Any, fed: dict[Any, Any], x: Any, upstream: list[np.ndarray]
) -> np.ndarray:
    """Central differences of sum_k Re <u_k, y_k> by each element of the input `x`."""
    value = np.asarray(fed[x])
    step = 1e-2 if value.dtype.itemsize <= 4 else 1e-5

    def loss(changed: np.ndarray) -> float:
        ys = session.run(node.outputs, {**fed, x: changed})
        pairs = zip(ys, upstream, strict=True)
        return sum(float(np.sum(np.real(np.conj(u) * y))) for y, u in pairs)

    gradient = np.zeros(value.shape, value.dtype)
    for index in np.ndindex(value.shape):
        for direction in [1.0, 1j] if value.dtype.kind == "c" else [1.0]:
            high, low = value.copy(), value.copy()
            high[index] += step * direction
            low[index] -= step * direction
            gradient[index] += (loss(high) - loss(low)) / (2 * step) * direction
    return gradient


def main() -> None:
    modules = sorted(path.stem for path in HERE.glob("cases_*.py"))
    by_id = {case.id: case for case in load_cases(modules)}
    with open(sys.argv[1], "wb") as file:
        for name in sys.argv[2:]:
            pickle.dump(result(by_id[name]), file)
            file.flush()


if __name__ == "__main__":
    main()
