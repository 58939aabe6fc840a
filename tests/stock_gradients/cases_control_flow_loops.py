"""Loops: While, For and MapDefun. Python has no gradient of the last two."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import in_branch, read
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, floats, ints, numeric


def random(like: Any, shape: Any = ()) -> Any:
    return tf.random.normal(shape, dtype=like.dtype)


# ---- While: a fixed number of iterations and one that depends on the data


def repeat(count: Any, body: Callable[..., Any], *variables: Any, **settings: Any) -> Any:
    """The variables after `count` iterations of `body`."""

    def step(i: Any, *values: Any) -> Any:
        made = body(*values)
        return (i + 1, *(made if isinstance(made, tuple) else (made,)))

    return tf.while_loop(lambda i, *_: i < count, step, (0, *variables), **settings)[1:]


def powers(x: Any) -> Any:
    """Every iteration uses the captured input."""
    return repeat(4, lambda y: tf.sin(y) * x, x)


def pairs(x: Any, y: Any) -> Any:
    return repeat(3, lambda a, b: (a * b, b + a), x, y)


def until(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.reduce_sum(y * y) < 50.0, lambda y: (y * y + x,), (x,))


def count_while(x: Any, start: int, goes_on: Callable[[Any], Any]) -> Any:
    counting = tf.while_loop(
        lambda i, _: goes_on(i), lambda i, y: (i + 1, tf.sin(y) * x), (start, x)
    )
    return counting[1]


def grows(x: Any) -> Any:
    """The variable's shape changes."""
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    return repeat(3, lambda y: tf.concat([y, y[-1:] * x[:1]], 0), x, shape_invariants=shapes)


def nested(x: Any, y: Any) -> Any:
    return repeat(3, lambda a: repeat(2, lambda b: tf.sin(b) * x * a, a)[0] + y, y)


def with_branches(x: Any, y: Any) -> Any:
    return repeat(4, lambda a: tf.cond(a[0] > 0.2, lambda: a * x - y, lambda: tf.exp(a) * y), x)


def with_array(x: Any) -> Any:
    """tf.TensorArray of TensorFlow 2 is a list in a loop variable."""
    array = tf.TensorArray(x.dtype, size=3, element_shape=[2])

    def body(i: Any, y: Any, array: Any) -> Any:
        y = y * x[i] + x[i]
        return i + 1, y, array.write(i, y)

    start = (0, tf.ones([2], x.dtype), array)
    _, y, array = tf.while_loop(lambda i, *_: i < 3, body, start)
    return [y, array.stack()]


def recurrent(x: Any, w: Any, h: Any) -> Any:
    """h <- tanh([x_t, h] w), over the rows of x."""

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(tf.concat([x[i], h], 1), w))

    return tf.while_loop(lambda i, _: i < tf.shape(x)[0], body, (0, h))[1]


def in_function(x: Any, y: Any) -> Any:
    return in_branch(tf.function(lambda x, y: repeat(3, lambda a: a * y, x)[0]))(x, y)


DRAWS = "RandomStandardNormal"
X, Y = 0.5 * normal(3), 0.5 * normal(3, seed=1)
stateless = functools.partial(case, "StatelessWhile")
fed = functools.partial(stateless, build=lambda x, n: repeat(n, lambda y: y * x + tf.exp(-y), x))
variable = functools.partial(
    case, "While", build=lambda x, v: repeat(3, lambda y: y * read(v, x) + y, x), variables=[1]
)
WHILE = [
    stateless("powers", X, build=powers),
    stateless("float", *floats(X), build=powers),
    stateless("complex", 0.5 * complex_normal(3), build=powers),
    *[fed(f"{n}_iterations", X, ints(n)[0]) for n in (0, 1, 5)],
    stateless("pairs", X, Y, build=pairs),
    # The second variable gets its gradient only through the first one.
    stateless(
        "first_of_pairs",
        *(X, Y),
        build=lambda x, y: repeat(3, lambda a, b: (a * b, b + tf.sin(b)), x, y)[0],
    ),
    stateless("until", 1 + np.abs(X), build=until),
    # More iterations than the limit.
    stateless("up_to_3", X, build=lambda x: count_while(x, 0, lambda i: i <= 3)),
    stateless("from_below_0", X, build=lambda x: count_while(x, -2, lambda i: i < 3)),
    # Python's second order fails.
    stateless("grows", X, build=grows, second_order="numeric"),
    stateless("nested", X, Y, build=nested),
    stateless("with_branches", X, Y, build=with_branches),
    stateless("with_array", normal(3, 2), build=with_array),
    stateless("recurrent", normal(4, 2, 3), 0.5 * normal(5, 2), normal(2, 2), build=recurrent),
    # An integer variable selects among the captured input's rows.
    stateless(
        "integers",
        *(X, ints(1)[0]),
        build=lambda x, i: repeat(3, lambda y, k: (y * tf.gather(x, k), (k + 1) % 3), x, i)[0],
    ),
    stateless("in_function", X, Y, build=in_function),
    stateless("known_shapes", X, Y, build=pairs, static="all"),
    variable("variable", X, Y),
    variable("variable_scalar", X[0], Y[0]),
    variable("variable_matrix", normal(2, 3), normal(3), static="all"),
]

# ---- For: a loop with a counter


def loop(
    body: Callable[..., Any], *variables: Any, start: Any = 0, limit: Any = 3, delta: Any = 1
) -> list[Any]:
    """`body` takes the counter and the variables and returns the variables."""
    tensors = [tf.convert_to_tensor(x) for x in variables]
    counter = tf.TensorSpec([], tf.int32)
    specs = [counter, *(tf.TensorSpec(x.shape, x.dtype) for x in tensors)]
    made = tf.function(body).get_concrete_function(*specs)
    made.add_to_graph(tf.compat.v1.get_default_graph())
    return call("For", start, limit, delta, tensors, body=made)


def product(i: Any, x: Any, y: Any) -> Any:
    return x, y * tf.sin(x) + tf.cast(i, x.dtype)


def last(x: Any, y: Any, **ends: Any) -> Any:
    return loop(product, x, y, **ends)[1]


def both(x: Any, y: Any) -> list[Any]:
    return loop(lambda i, x, y: (x * y, y + x), x, y, limit=2)


def with_a_number(x: Any, n: Any) -> Any:
    return loop(lambda i, x, n: (x * tf.cast(n + i, x.dtype), n + 1), tf.sin(x), n, limit=2)[0]


def nested_for(x: Any, y: Any) -> Any:
    return loop(lambda i, x, y: loop(product, x, y, limit=i), x, y)[1]


counted = functools.partial(numeric, "For")
A, B = normal(2), normal(2, seed=1)
FOR = [
    counted("powers", A, B, build=last),
    counted("known_shapes", A, B, build=last, static="all"),
    counted("unknown_rank", A, B, build=last, static="none"),
    counted("downwards", A, B, build=last, start=4, limit=0, delta=-2),
    counted("fed_limit", A, B, ints(4)[0], build=lambda x, y, n: last(x, y, start=1, limit=n)),
    counted("both_results", A, B, build=both),
    counted(
        "never", *(A, B), build=lambda x, y: [r * r for r in loop(product, x, y, start=2, limit=2)]
    ),
    counted("number", normal(3), ints(2)[0], build=with_a_number),
    counted("nested", A, B, build=nested_for, static="all"),
    counted("complex", complex_normal(2), complex_normal(2), build=both),
    counted("float", *floats(A, B), build=last, step=2**-6, tolerance=1e-2),
]

# ---- MapDefun: a function called for each row of its arguments


def mapped(
    function: Callable[..., Any], rows: Sequence[Any], *captured: Any, shape: Any = None
) -> list[Any]:
    """The function's results for each of the rows, with all captured values."""
    rows = [tf.convert_to_tensor(x) for x in rows]
    shapes = [*(x.shape[1:] for x in rows), *(x.shape for x in captured)]
    specs = [tf.TensorSpec(s, x.dtype) for s, x in zip(shapes, [*rows, *captured], strict=True)]
    made = tf.function(function).get_concrete_function(*specs)
    types = [y.dtype for y in made.outputs]
    made.add_to_graph(tf.compat.v1.get_default_graph())
    results = [shape] * len(types)
    return call("MapDefun", rows, captured, output_types=types, output_shapes=results, f=made)


def each_row(
    name: str, function: Callable[..., Any], *inputs: Any, shape: Any = None, **more: Any
) -> Case:
    """`inputs`: the inputs whose rows it takes, and those that it takes whole."""

    def build(rows: Any, *captured: Any) -> list[Any]:
        return mapped(function, rows, *captured, shape=shape)

    return numeric("MapDefun", name, *inputs, **{"build": build, **more})


@tf.function
def chooses(x: Any, w: Any) -> Any:
    return tf.cond(tf.reduce_sum(w) > 0, lambda: x * x * w, lambda: x - w)


def sine(x: Any, w: Any) -> Any:
    return tf.sin(x) * w * w


def nested_map(x: Any, w: Any) -> Any:
    return mapped(lambda x, w: x * w * w, [x], w)[0] * w


def square_and_product(x: Any, y: Any) -> Any:
    return x * x, x * y


known = functools.partial(each_row, static="all")
first = functools.partial(each_row, then=lambda first, second: first)
ROWS, ROW = normal(3, 2), normal(2)
NO_NUMBER = "input 1 is of type resource; only numbers have a gradient here"
MAP = [
    each_row("products", lambda x, y: (x * x * y, tf.reduce_sum(x)), [ROWS, normal(3, 2, seed=1)]),
    each_row("captures", sine, [ROWS], ROW),
    known("captures_known_shapes", sine, [ROWS], ROW),
    each_row("captures_alone", lambda x, w: w * w + tf.floor(x), [ROWS], ROW),
    first("one_result_used", square_and_product, [ROWS, ROWS]),
    known("indices", lambda x, i, w: x * w[i], [ROW, ints(2, 0)], normal(3)),
    each_row("matrices", lambda x, w: tf.nn.tanh(tf.matmul(x, w)), [normal(2, 2, 3)], normal(3, 2)),
    each_row("complex", sine, [complex_normal(2, 2)], complex_normal(2)),
    first("float", square_and_product, [single(2, 2), single(2, 2)]),
    known("nested", nested_map, [normal(2, 3)], normal()),
    known("calls", chooses, [ROWS], np.abs(ROW)),
    known("no_rows", lambda x, w: x * x * w, [ROWS[:0]], ROW, shape=[2]),
    each_row("known_results", lambda x, w: x * x * w, [ROWS], ROW, shape=[2]),
    each_row("no_path", tf.floor, [ROWS], ROW, build=lambda x, y: [*mapped(tf.floor, x), y * y]),
    each_row(
        "reads_a_variable",
        lambda x, v: x * read(v, x),
        *([ROW], normal()),
        variables=[1],
        wrt=[0, 1],
        error=NO_NUMBER,
    ),
    each_row("draws", lambda x: x * random(x), [ROW], error=DRAWS),
]

CASES = [*WHILE, *FOR, *MAP]
