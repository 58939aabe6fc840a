# SPDX-License-Identifier: Apache-2.0
"""precompiled_header: what many files include, parsed once for all of them."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# Where it is made and where it is used: else -g wants both in the same sandbox.
_IN_ANY_FOLDER = "-fno-working-directory"

def precompiled_copts(header):
    """The flags of what begins with a precompiled header.

    Args:
      header: the header, from the root of the workspace.

    Returns:
      For `copts`; a warning where the precompiled form cannot stand in is one of them.
    """
    return ["-include", header, "-Winvalid-pch", _IN_ANY_FOLDER]

def _precompiled_header_impl(ctx):
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include \"%s\"\n" % h for h in ctx.attr.includes]))
    precompiled = ctx.actions.declare_file(header.basename + ".gch", sibling = header)
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        cc_toolchain = toolchain,
        feature_configuration = features,
        include_directories = context.includes,
        output_file = precompiled.path,
        preprocessor_defines = context.defines,
        quote_include_directories = context.quote_includes,
        source_file = header.path,
        system_include_directories = context.system_includes,
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts +
                             ctx.attr.copts + [_IN_ANY_FOLDER, "-x", "c++-header"],
    )
    ctx.actions.run(
        arguments = cc_common.get_memory_inefficient_command_line(
            action_name = ACTION_NAMES.cpp_compile,
            feature_configuration = features,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            action_name = ACTION_NAMES.cpp_compile,
            feature_configuration = features,
            variables = variables,
        ),
        executable = toolchain.compiler_executable,
        inputs = depset(
            [header],
            transitive = [context.headers, toolchain.all_files],
        ),
        mnemonic = "CppPrecompile",
        outputs = [precompiled],
        progress_message = "Precompiling %s" % header.short_path,
    )
    own = cc_common.create_compilation_context(headers = depset([header, precompiled]))
    return [CcInfo(compilation_context = own)]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(
            doc = "The flags of the files that include it, as far as they change code.",
        ),
        "deps": attr.label_list(providers = [CcInfo]),
        "includes": attr.string_list(
            doc = "The headers, as a file includes them.",
        ),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    doc = """A header <name>.h and its precompiled form, which the compiler takes in its
place where -include names it and all flags are the same. Made again it is other bytes:
what includes it is compiled again then.""",
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
