# SPDX-License-Identifier: Apache-2.0
"""How the parts of this library are compiled."""

load(":build_defs.bzl", "HIDDEN")

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
] + HIDDEN

# For code that runs once for each node of a client's graph, or once in a process. It takes
# the compiler a sixth to a third less time than -O2.
ONCE = ["-O1"]
