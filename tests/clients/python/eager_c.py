"""The client EagerC: eager ops of the C API with the tapes of this library, op by op."""

import pathlib
import sys

import graph_defs
import tensorflow as tf
from clients import Problem, Results

_TESTS = pathlib.Path(__file__).absolute().parents[2]
sys.path += [str(_TESTS / "stock_gradients"), str(_TESTS / "tape")]

from c_client import Client, ClientError, tensorflow_dir  # noqa: E402
from eager_client import Context  # noqa: E402
from eager_graph import EagerGraph, orders  # noqa: E402


class EagerC:
    """The client with this library. Errors are those that Python would raise."""

    def __init__(self, library: str) -> None:
        self._context = Context(Client(tensorflow_dir(), library))

    def __call__(self, problem: Problem) -> Results:
        """Returns what the clients of clients.py return."""
        made = graph_defs.CaseGraph(problem)
        graph = EagerGraph(self._context, made.graph_def)
        inputs, upstream = (
            [x if x and tf.as_dtype(made.feeds[x].dtype).is_floating else None for x in names]
            for names in (made.inputs, made.upstreams or [None] * len(made.outputs))
        )
        try:
            results = list(orders(graph, made.feeds, made.outputs, inputs, upstream, made.weights))
        except ClientError as error:
            kind = tf.compat.v1.errors.exception_type_from_error_code(error.code)
            raise kind(None, None, str(error)) from None
        outputs, gradients, *second = results
        return Results(outputs, gradients if problem.upstreams else [], second[0] if second else [])
