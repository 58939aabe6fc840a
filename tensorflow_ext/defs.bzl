"""The flags that compile this library."""

load(":build_defs.bzl", "HIDDEN")

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
] + HIDDEN

# For code that runs once for each node of a client's graph, or once in a process. It
# compiles in a sixth to a third less time than with -O2.
ONCE = ["-O1"]
