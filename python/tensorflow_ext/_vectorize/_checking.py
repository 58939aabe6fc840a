"""CheckGradientShape for all iterations: one check of the shape with their dimension first."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._rules import Output, Vectorized, call


def check_gradient_shape(vectorized: Vectorized) -> Output:
    vectorized.stack_inputs([0])
    gradients, expected = vectorized.stacked_input(0), vectorized.input(1)
    # All iterations have the same shape, or the tensors could not be stacked.
    shape = expected.t[0] if expected.is_stacked else expected.t
    shape = tf.concat([tf.shape(gradients, out_type=tf.int64)[:1], shape], axis=0)
    return pfor.wrap(call(vectorized, gradients, shape), True)
