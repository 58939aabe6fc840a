"""`python -m tensorflow_ext` as a Bazel program: from this tree if it is a dependency, or else from
the interpreter."""

import sys

from tensorflow_ext import __main__

if __name__ == "__main__":
    sys.exit(__main__.main())
