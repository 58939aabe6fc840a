# SPDX-License-Identifier: Apache-2.0
"""What differs between versions of TensorFlow, for the whole package.

Other modules ask here, or ask whether a thing is there (`hasattr`, the registry of
ops): none compares versions, which a test of tests/lint looks after. What differs for
C++ stands in tensorflow_ext/base/compatibility.h.
"""

import tensorflow as tf

from tensorflow_ext import _version

# The minor version that is imported, "2.21": its libraries are in lib/2.21.
TENSORFLOW = _version.minor(tf.__version__)

# The releases of tensorflow-core-native, TensorFlow Java's libraries, by the TensorFlow
# whose they are.
_JAVA_RELEASES = {"2.18": "1.1.0", "2.21": "1.2.0"}


def java_release() -> str | None:
    """The release of tensorflow-core-native that goes with the imported TensorFlow."""
    return _JAVA_RELEASES.get(TENSORFLOW)


def java_versions() -> list[str]:
    """The minor versions of TensorFlow that TensorFlow Java has a release for."""
    return list(_JAVA_RELEASES)
