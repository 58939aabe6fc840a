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
            # Without these, the layout of Abseil's containers and Protobuf's messages would differ
            # from that of TensorFlow's libraries.
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
    # An action runs only for outputs that a target requests, so the libraries' dependencies are not
    # compiled with sanitizers.
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
    """A shared library of objects, some with sanitizers and some without.

    Args:
      name: The file's name.
      libraries: cc_library targets that are compiled with sanitizers; their deps in other packages
        are not, unless they are listed here too.
      sanitizers: The value for -fsanitize.
      deps: Dependencies that are linked without sanitizers.
      linkopts: Passed on to cc_binary.
      **kwargs: Passed on to cc_binary.
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
        # The order matters: of an inline function, the linker keeps the first copy.
        deps = [":" + objects] + deps,
        **kwargs
    )
