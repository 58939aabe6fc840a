# SPDX-License-Identifier: Apache-2.0
"""`python -m tensorflow_ext` as a Bazel program: of this tree, or, where that is not
among its dependencies, of the interpreter."""

import sys

from tensorflow_ext import __main__

if __name__ == "__main__":
    sys.exit(__main__.main())
