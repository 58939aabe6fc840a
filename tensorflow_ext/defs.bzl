# SPDX-License-Identifier: Apache-2.0
"""How the parts of this library are compiled."""

load(":build_defs.bzl", "HIDDEN")

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
] + HIDDEN

# For what runs once for each node of a client's graph, or once in a process: a third less
# of the compiler's time than -O2.
ONCE = ["-O1"]
