# SPDX-License-Identifier: Apache-2.0
"""A shared library built with sanitizers, whatever the rest is built with."""

def _flags_impl(settings, attr):
    sanitize = "-fsanitize=" + attr.sanitizers
    return {
        "//command_line_option:copt": settings["//command_line_option:copt"] + [
            sanitize,
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
            "-g1",
            "-O1",
            "-Wno-maybe-uninitialized",  # Instrumented code misleads it.
            # Abseil's containers and Protobuf's messages would change their
            # layout, which is not that of TensorFlow's libraries then.
            "-DNDEBUG_SANITIZER",
            "-U__SANITIZE_THREAD__",
        ] + (
            ["-DTENSORFLOW_EXT_THREAD_SANITIZER=1"] if attr.sanitizers == "thread" else []
        ),
        "//command_line_option:linkopt": settings["//command_line_option:linkopt"] + [
            sanitize,
        ],
    }

_flags = transition(
    implementation = _flags_impl,
    inputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
    outputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
)

def _sanitized_library_impl(ctx):
    library = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = library,
        target_file = ctx.attr.library[0][DefaultInfo].files.to_list()[0],
    )
    return [DefaultInfo(
        files = depset([library]),
        runfiles = ctx.runfiles([library]),
    )]

sanitized_library = rule(
    implementation = _sanitized_library_impl,
    attrs = {
        "library": attr.label(
            mandatory = True,
            cfg = _flags,
            doc = "A cc_binary with linkshared.",
        ),
        "sanitizers": attr.string(
            mandatory = True,
            doc = "As -fsanitize takes them.",
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = "The library, compiled with sanitizers; the name is the file's.",
)
