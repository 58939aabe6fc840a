# SPDX-License-Identifier: Apache-2.0
"""check_gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tensorflow_ext.testing._report import GradientReport


def check_gradient(
    fn: Callable[..., Any],
    inputs: Any,
    order: int = 2,
    *,
    variables: Sequence[tf.Variable] | None = None,
    modes: Sequence[str] = ("eager", "function"),
    forward: bool | None = None,
    batched: bool | None = None,
    undefined: bool = True,
    require: bool | Sequence[str] = False,
    rtol: float | None = None,
    atol: float | None = None,
    nondeterminism: float = 0.0,
    step: float | None = None,
    elements: int = 32,
    directions: int = 2,
    seed: int = 0,
    raise_error: bool = True,
) -> GradientReport:
    """Compares the gradient of a function with difference quotients.

    Args:
      fn: The function: of `inputs`, if that is a list or tuple, one argument per
        member, else of one argument. Gives a tensor or any structure of tensors.
      inputs: Arrays, tensors, variables, sparse or ragged tensors, or any structure
        of them. Numbers that are not floating or complex are left alone.
      order: Up to which order: 2 checks the gradient of the gradient too, by inputs
        and by the upstream gradients.
      variables: Whose gradients to check; None for all trainable ones that `fn`
        reads.
      modes: Of "eager", "function" (tf.function) and "xla" (compiled by XLA).
      forward: Whether tf.autodiff.ForwardAccumulator is to agree; None: where it
        has what it needs.
      batched: Whether the gradient is to work in tf.vectorized_map; None: where it
        has what it needs.
      undefined: Whether to differentiate each output alone, too.
      require: Which inputs must have a gradient, instead of None: all, none, or
        their names as the report has them ("inputs[0]").
      rtol: Relative tolerance; None for one that suits the type.
      atol: Absolute tolerance; None for one that suits the type.
      nondeterminism: How far two runs may be apart.
      step: The largest step of a difference quotient, relative to an element above
        1; None for one that suits the type.
      elements: Tensors up to this size are checked at every element; of larger ones
        as many are drawn.
      directions: In how many random directions a larger tensor is moved as a whole.
      seed: Of all random numbers.
      raise_error: Whether a fault is an error.

    Returns:
      What was found, as a report that prints as a table; `passed` says whether all
      is well.

    Raises:
      GradientError: The gradient is wrong, and `raise_error`. Has the report.
    """
    raise NotImplementedError
