# SPDX-License-Identifier: Apache-2.0
"""Differences between versions of TensorFlow, for the cases: which of them it cannot
run. Not the package's module of this name, since a process that imports the package
has other gradients than TensorFlow's."""

import tensorflow as tf

_MINOR = ".".join(tf.__version__.split(".")[:2])

# True if Transpose and ConjugateTranspose take an axis that counts from behind. Those
# of 2.18 and 2.19 end the process there: "Check failed: d >= 0 (0 vs. -1)", or a
# segmentation fault.
TRANSPOSES_NEGATIVE_AXES = _MINOR not in ("2.18", "2.19")
