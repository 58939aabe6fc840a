# SPDX-License-Identifier: Apache-2.0
"""Shared libraries that are partly compiled with sanitizers."""

def _flags_impl(settings, attr):
    return {
        "//command_line_option:copt": settings["//command_line_option:copt"] + [
            "-fsanitize=" + ",".join(attr.sanitizers),
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
            "-g1",
            "-O1",
            "-Wno-maybe-uninitialized",  # Instrumented code misleads it.
            # Abseil's containers and Protobuf's messages would change their
            # layout, which is not that of TensorFlow's libraries then.
            "-DNDEBUG_SANITIZER",
            "-U__SANITIZE_THREAD__",
        ],
    }

_flags = transition(
    implementation = _flags_impl,
    inputs = ["//command_line_option:copt"],
    outputs = ["//command_line_option:copt"],
)

def _sanitized_objects_impl(ctx):
    # Actions run where their outputs are asked for: what the libraries depend on
    # is not compiled with sanitizers.
    own = [
        linker_input
        for library in ctx.attr.libraries
        for linker_input in library[CcInfo].linking_context.linker_inputs.to_list()
        if linker_input.owner.package == library.label.package
    ]
    return [CcInfo(
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(own, order = "topological"),
        ),
    )]

_sanitized_objects = rule(
    implementation = _sanitized_objects_impl,
    attrs = {
        "libraries": attr.label_list(
            mandatory = True,
            cfg = _flags,
            providers = [CcInfo],
        ),
        "sanitizers": attr.string_list(mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = "The objects of C++ libraries and of deps in the same packages, with sanitizers.",
)

def sanitized_library(name, libraries, sanitizers, deps = [], linkopts = [], **kwargs):
    """A shared library of objects with sanitizers and of others without.

    Args:
      name: The file's name.
      libraries: cc_library targets that are compiled with sanitizers; their deps
        of other packages are not, unless they are named here as well.
      sanitizers: As -fsanitize takes them.
      deps: What the libraries need and is linked as it is elsewhere.
      linkopts: Passed on to cc_binary.
      **kwargs: The same.
    """
    objects = name.replace(".so", "_objects")
    _sanitized_objects(
        name = objects,
        libraries = libraries,
        sanitizers = sanitizers,
        tags = ["manual"],
    )
    native.cc_binary(
        name = name,
        linkopts = linkopts + ["-fsanitize=" + ",".join(sanitizers)],
        linkshared = 1,
        # In this order: of an inline function the linker keeps the first copy.
        deps = [":" + objects] + deps,
        **kwargs
    )
