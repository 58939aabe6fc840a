"""The differences between versions of TensorFlow, for the whole package.

Other modules use this one, or test whether a feature exists (`hasattr`, the registry of
ops). None compares versions; a test in tests/lint enforces this. The differences for C++
are in tensorflow_ext/base/compatibility.h.
"""

import tensorflow as tf

from tensorflow_ext import _version

# The imported minor version, such as "2.21"; its libraries are in lib/2.21.
TENSORFLOW = _version.minor(tf.__version__)

# The releases of tensorflow-core-native, TensorFlow Java's libraries, by the version of
# TensorFlow that they contain.
_JAVA_RELEASES = {"2.18": "1.1.0", "2.21": "1.2.0"}


def java_release() -> str | None:
    """The release of tensorflow-core-native that matches the imported TensorFlow."""
    return _JAVA_RELEASES.get(TENSORFLOW)


def java_versions() -> list[str]:
    """The minor versions of TensorFlow that TensorFlow Java has a release for."""
    return list(_JAVA_RELEASES)
