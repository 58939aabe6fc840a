"""The op in Python: python squareplus_test.py libyour_op.so"""

import sys

import numpy as np
import tensorflow as tf

import tensorflow_ext as tfe
from tensorflow_ext.testing import check_gradient

# Loads the library and registers its gradients, including gradients of gradients.
your = tfe.load_op_library(sys.argv[1])


def squareplus(x: tf.Tensor) -> tf.Tensor:
    return your.your_squareplus(x, b=2.0)


def composition(x: tf.Tensor) -> tf.Tensor:
    """The same function in TensorFlow's ops."""
    return (x + tf.sqrt(tf.square(x) + 2)) / 2


x = tf.constant([-30.0, -1.5, 0.0, 0.25, 7.0], tf.double)

# Compares the values, eager and compiled by XLA.
compiled = tf.function(squareplus, jit_compile=True)
for y in (squareplus(x), compiled(x)):
    np.testing.assert_allclose(y, composition(x), rtol=1e-12)

# Checks every type that the op accepts.
for dtype, rtol in ((tf.half, 1e-3), (tf.bfloat16, 1e-2), (tf.float32, 1e-6)):
    y = squareplus(tf.cast(x, dtype))
    np.testing.assert_allclose(tf.cast(y, tf.double), composition(x), rtol=rtol)

# Compares the gradient and its gradient with differences, on tapes and in functions.
print(check_gradient(squareplus, [x], order=2))

# A wrong attribute gives an error that explains it.
message = ""
try:
    your.your_squareplus(x, b=-1.0)
except tf.errors.InvalidArgumentError as error:
    message = error.message
assert "attribute 'b' is -1, expected a number > 0" in message

print("fine")
