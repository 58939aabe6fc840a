# SPDX-License-Identifier: Apache-2.0
"""Names what the ops of this tree lack and where it goes. Reads the sources only."""

import pathlib
import sys

from source_tree import Tree

from completeness.checks import missing


def main() -> int:
    """Prints a line for each missing thing; the exit status is 1 if there is one."""
    found = missing(Tree(pathlib.Path(__file__).resolve().parents[2]))
    for sentence in found:
        print(sentence)
    if not found:
        print("Every op has all that an op needs.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
