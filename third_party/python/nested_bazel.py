# SPDX-License-Identifier: Apache-2.0
"""Bazel in another workspace, called by a test that is not in a sandbox."""

import os
import pathlib


def nested_bazel(name: str) -> list[str]:
    """The program and its first options, for a workspace of this name.

    What it builds stands beside the output of this checkout and outlives the test.
    Where a header has changed since, Bazel then compiles what includes it, as it does
    in this checkout, and finds that in the cache. From nothing it would ask the cache
    for every file that might include the header, and this checkout has put there those
    alone that do.

    Args:
      name: unique among tests.
    """
    parts = pathlib.Path(os.environ["TEST_SRCDIR"]).parts
    output_base = pathlib.Path(*parts[: parts.index("execroot")])
    return [os.environ["BAZEL"], f"--output_base={output_base}-{name}"]
