"""Differences between versions of TensorFlow, for the cases that a version cannot run. This is
not the package's module of the same name, because a process that imports the package has other
gradients than TensorFlow's."""

import tensorflow as tf

_MINOR = ".".join(tf.__version__.split(".")[:2])

# True if Transpose and ConjugateTranspose accept a negative axis. In 2.18 and 2.19 they then end
# the process: "Check failed: d >= 0 (0 vs. -1)", or a segmentation fault.
TRANSPOSES_NEGATIVE_AXES = _MINOR not in ("2.18", "2.19")
