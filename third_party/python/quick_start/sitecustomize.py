"""Makes Python start sooner, in each test and in each Python process that the test starts.

The modules of TensorFlow are half a million objects. Scanning them repeatedly takes a quarter of
the time to import them. Keras imports Matplotlib if it is installed, which takes a second.
"""

import gc
import os
import sys

gc.set_threshold(100_000, 20, 20)
if "DRAWS" not in os.environ:  # See py_suite.
    sys.modules["matplotlib"] = None  # type: ignore[assignment]
