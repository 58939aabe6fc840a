"""Runs the ops inside TensorFlow on a GPU, against the CPU.

    PYTHONPATH=python:tests/clients/python python3 tests/gpu/tensorflow_level.py

Needs a TensorFlow with GPU support that sees one, and libtensorflow_ext.so built
with nvcc. Where the table of cases has a case, it runs on GPU:0; so an op is tested
here once it is tested at all. Exit status: 0 all is well, 1 a check failed, 77
there is nothing to run on.
"""

import contextlib
import dataclasses
import functools
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import case_files
import check
import clients
import numpy as np
import references
import tensorflow as tf
from cases import Case
from tensorflow.python.framework import config, kernels

import tensorflow_ext
from tensorflow_ext._runtime import _library
from tensorflow_ext.testing._gradient._comparison import deviation

_TESTS = pathlib.Path(__file__).absolute().parents[1]
sys.path += [str(_TESTS / f) for f in ("addons", "stock_gradients", "gpu/kernels_alone")]
import addons_cases  # noqa: E402
import wrappers  # noqa: E402
from c_client import Client, ClientError, tensorflow_dir  # noqa: E402
from check_program import EXIT_SKIPPED, Checks, make_parser, run_checks  # noqa: E402

_GPU, _CPU = "/device:GPU:0", "/device:CPU:0"
# Modes that reach the GPU by themselves; graphs of TensorFlow 1 are placed there.
_CLIENTS = ("eager", "tf.function", "tf.gradients", "SymbolicGradient")
# Ops that stand for an absent gradient, or that the debug switch adds.
_NO_CASES = {
    "TfExt>NoGradient",
    "TfExt>CheckGradientShape",
    "TfExt>WithUpstream",
    *tensorflow_ext.raw_ops.CLIENT_OPS,
}
_TWICE = ("eager", "tf.function", "tf.gradients")
# Sums that a GPU takes in the order in which its threads arrive: two calls give the same bits only
# with determinism enabled, and a sum of many terms has a larger error.
_UNORDERED = tuple(f"TfExt>{op}" for op in ("EmbeddingBag", "Resampler", "RoiAlign", "RoiPool"))
_TOLERANCE_UNORDERED = 8  # times that of the CPU's sums, which run in blocks


def reason_to_skip() -> str:
    """The reason why there is nothing to run on; empty if there is a GPU."""
    if not tf.config.list_physical_devices("GPU"):
        with_cuda = tf.test.is_built_with_cuda()
        why = "it finds no GPU" if with_cuda else "it is built for the CPU alone"
        return f"TensorFlow {tf.__version__}: {why}"
    registered = kernels.get_registered_kernels_for_op("TfExt>Relu").kernel
    if all(kernel.device_type != "GPU" for kernel in registered):
        return "libtensorflow_ext.so was built without nvcc"
    return ""


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    tf.config.experimental.enable_op_determinism()
    try:
        yield
    finally:
        config.disable_op_determinism()


def _on_gpu(client: clients.Client, problem: clients.Problem) -> clients.Results:
    with tf.device(_GPU):
        return client(problem)


def _client(name: str, case: Case) -> clients.Client:
    """A client on the GPU; a client that compares bits must find equal ones."""
    client = clients.CLIENTS[name]
    if name == "SymbolicGradient":
        return client  # its own graph, which names the GPU
    if name != "eager" or not case.op.startswith(_UNORDERED):
        return functools.partial(_on_gpu, client)

    def deterministic(problem: clients.Problem) -> clients.Results:
        with _deterministic():
            return _on_gpu(client, problem)

    return deterministic


def _for_gpu(case: Case) -> Case:
    """The case, with the tolerance of unordered sums if it has some."""
    if not case.op.startswith(_UNORDERED):
        return case
    return dataclasses.replace(case, tolerance=case.tolerance * _TOLERANCE_UNORDERED)


def _require_ok(results: list[check.Check]) -> None:
    failures = [str(result) for result in results if not result.ok]
    assert not failures, "; ".join(failures)


def _case(case: Case, client: str, dtype: str) -> None:
    """Checks outputs and gradients as tests/clients does, with references from the CPU."""
    with tf.device(_CPU):
        _require_ok(check.check_first(case, _client(client, case), dtype))


def _second_order(case: Case, client: str) -> None:
    with tf.device(_CPU):
        _require_ok(check.check_second(case, _client(client, case)))


def _placement(case: Case, dtype: str) -> None:
    """The op itself runs on GPU:0, and its gradient gives the CPU's values."""
    problem = clients.Problem(case, case.make_inputs(dtype))
    tf.config.set_soft_device_placement(False)  # a missing kernel is an error
    try:
        with tf.device(_GPU):
            inputs = [tf.constant(x) for x in problem.inputs]
            outputs = clients.call_case(case, inputs)
    finally:
        tf.config.set_soft_device_placement(True)
    for output in outputs:
        assert output.device.endswith(_GPU), f"an output is on {output.device}"
    with tf.device(_CPU):
        problem = references.make_problem(case, dtype)
        expected = clients.eager(problem)
    actual = _on_gpu(clients.eager, problem)
    limit = 2 * check.limit_of(case, dtype)
    pairs = [
        *zip(actual.outputs, expected.outputs, strict=True),
        *zip(actual.gradients, expected.gradients, strict=True),
    ]
    for i, (a, b) in enumerate(pairs):
        assert (a is None) == (b is None), f"result {i}"
        if a is not None:
            apart = deviation(a, b)
            assert apart <= limit, f"result {i}: GPU and CPU are {apart:.2g} apart"


def _random_roi_pool(dtype: tf.DType) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(1)
    data = random.standard_normal((2, 20, 30, 64))
    rois = np.zeros((200, 5))
    rois[:, 0] = random.integers(0, 2, 200)
    rois[:, 1:] = random.integers(0, 30, (200, 4))
    data, rois = tf.constant(data, dtype), tf.constant(rois, dtype)
    op = tensorflow_ext.raw_ops.roi_pool
    pooled, argmax = op(data, rois, pooled_height=7, pooled_width=7)
    gradients = random.standard_normal(pooled.shape)
    return tf.constant(gradients, dtype), rois, argmax


def _determinism() -> None:
    """With determinism enabled, RoiPoolGrad equals the CPU's to the last bit."""
    for dtype in (tf.half, tf.bfloat16, tf.float32, tf.float64):
        results = []
        for device in (_CPU, _GPU, _GPU):
            with _deterministic(), tf.device(device):
                arguments = _random_roi_pool(dtype)
                grad = tensorflow_ext.raw_ops.roi_pool_grad
                result = grad(*arguments, data_shape=[2, 20, 30, 64])
                results.append(result.numpy().tobytes())
        assert results[1] == results[2], f"{dtype.name}: differs between calls"
        assert results[0] == results[1], f"{dtype.name}: differs from the CPU"


def _bad_values() -> None:
    """A value that the CPU refuses reads as 0 on the GPU."""
    with tf.device(_GPU):
        mod = tensorflow_ext.raw_ops.floor_mod
        for dtype in (tf.int32, tf.int64):
            x, y = tf.constant([7, 5, -7], dtype), tf.constant([0, 3, 0], dtype)
            np.testing.assert_array_equal(mod(x, y), [0, 2, 0])
        rois = tf.constant([[5, 0, 0, 1, 1], [np.nan, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
        pooled, argmax = tensorflow_ext.raw_ops.roi_pool(
            tf.ones([1, 2, 2, 1]), rois, pooled_height=1, pooled_width=1
        )
        np.testing.assert_array_equal(tf.reshape(pooled, [-1]), [0, 0, 1])
        np.testing.assert_array_equal(tf.reshape(argmax, [-1]), [-1, -1, 0])


def _recurrent(op: str) -> None:
    """TF_AddGradients of an LSTM of cuDNN gives the values of Python's tf.gradients."""
    steps, batch, depth, units = 5, 2, 3, 4
    weights = 4 * units * (depth + units) + 8 * units
    state = [1, batch, units]
    arguments = {
        "input": [steps, batch, depth],
        "input_h": state,
        "input_c": state,
        "params": [weights],
    }
    random = np.random.default_rng(2)
    feeds: dict[str, np.ndarray] = {}

    def fed(name: str, shape: list[int]) -> tf.Tensor:
        feeds[f"{name}:0"] = random.standard_normal(shape).astype(np.float32)
        return tf.compat.v1.placeholder(tf.float32, shape, name=name)

    with tf.Graph().as_default() as graph, tf.device(_GPU):
        xs = {name: fed(name, shape) for name, shape in arguments.items()}
        more = {"sequence_lengths": [steps] * batch} if op == "CudnnRNNV3" else {}
        ys = list(getattr(tf.raw_ops, op)(**xs, **more)[:3])
        us = [fed(f"u{k}", y.shape.as_list()) for k, y in enumerate(ys)]
        graph_def = graph.as_graph_def().SerializeToString()
        with tf.compat.v1.Session(graph=graph) as session:
            expected = session.run(tf.gradients(ys, list(xs.values()), us), feeds)
    imported = Client(tensorflow_dir(), _library.PATH).import_graph(graph_def)
    names = imported.gradients(
        [y.name for y in ys], [x.name for x in xs.values()], [u.name for u in us]
    )
    known = [name for name in names if name is not None]
    assert len(known) == len(xs), f"{op}: no gradient by some input"
    for name, a, b in zip(xs, imported.run(known, feeds), expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5, err_msg=f"{op} by {name}")


def _old_op(case: addons_cases.Case) -> None:
    """An op of TensorFlow Addons, made of this library's: values and gradients as on the CPU."""
    results = []
    for device in (_GPU, _CPU):
        with tf.device(device):
            inputs = [tf.constant(x) for x in case.inputs]
            xs = [inputs[i] for i in case.differentiable]
            with tf.GradientTape() as tape:
                tape.watch(xs)
                outputs = wrappers.call(case, inputs)
            results.append([*outputs, *tape.gradient(outputs, xs)])
    for output in results[0][: len(outputs)]:
        assert output.device.endswith(_GPU), f"an output is on {output.device}"
    for a, b in zip(*results, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def _valid_cases() -> list[Case]:
    """The cases that must compute something; at least one for every op of this library.

    Raises:
      LookupError: An op has no case.
    """
    valid = [_for_gpu(case) for case in case_files.read_all() if not case.error]
    ops = set(tensorflow_ext.raw_ops.OPS.values()) - _NO_CASES
    missing = ops - {case.op for case in valid}
    if missing:
        raise LookupError(f"{sorted(missing)}: no case; add one to its *.cases")
    return valid


def _all_checks() -> Checks:
    for case in _valid_cases():
        for dtype in case.types:
            partial = functools.partial
            yield f"{case.id}, {dtype}, placement", partial(_placement, case, dtype)
            for client in _CLIENTS:
                name = f"{case.id}, {dtype}, {client}"
                yield name, functools.partial(_case, case, client, dtype)
        for client in _TWICE:
            name = f"{case.id}, second order, {client}"
            yield name, functools.partial(_second_order, case, client)
    for old in addons_cases.CASES:
        yield f"{old.op}, {old.name}", functools.partial(_old_op, old)
    yield "values that cannot be refused", _bad_values
    yield "determinism", _determinism
    for op in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"):
        yield f"gradient of {op}", functools.partial(_recurrent, op)


def main() -> int:
    """Runs the command line; returns the exit status."""
    arguments = make_parser(__doc__).parse_args()
    reason = reason_to_skip()
    if reason:
        print(f"skipped: {reason}")
        return EXIT_SKIPPED
    tf.get_logger().setLevel("ERROR")  # Retracing is intended here.
    gpu = tf.config.list_physical_devices("GPU")[0]
    name = tf.config.experimental.get_device_details(gpu).get("device_name", "a GPU")
    print(f"TensorFlow {tf.__version__}, {name}", flush=True)
    failures = AssertionError, ClientError, tf.errors.OpError, ValueError
    return 1 if run_checks(_all_checks(), arguments, failures) else 0


if __name__ == "__main__":
    sys.exit(main())
