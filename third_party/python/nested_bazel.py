"""Runs Bazel in another workspace, for a test that is not in a sandbox."""

import os
import pathlib


def nested_bazel(name: str) -> list[str]:
    """The program and its first options, for a workspace of this name.

    Its output is next to this checkout's output and outlives the test. If a header has changed
    since, Bazel then compiles only the files that include it, as in this checkout, and finds them
    in the cache. A build from nothing would ask the cache for every file that might include the
    header, and this checkout has cached only the files that do.

    Args:
      name: unique among tests.
    """
    parts = pathlib.Path(os.environ["TEST_SRCDIR"]).parts
    output_base = pathlib.Path(*parts[: parts.index("execroot")])
    return [os.environ["BAZEL"], f"--output_base={output_base}-{name}"]
