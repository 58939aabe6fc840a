"""static_parts: C++ libraries without TensorFlow's; static_archive: them as one file."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _static_parts_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    inputs = []
    for linker_input in merged.linking_context.linker_inputs.to_list():
        inputs.append(cc_common.create_linker_input(
            additional_inputs = depset(linker_input.additional_inputs),
            libraries = depset([
                library
                for library in linker_input.libraries
                # A module's repository has a prefix before its name.
                if not linker_input.owner.workspace_name.endswith("local_config_tf")
            ]),
            owner = linker_input.owner,
            user_link_flags = depset(linker_input.user_link_flags),
        ))
    return [CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(inputs, order = "topological"),
        ),
    )]

static_parts = rule(
    implementation = _static_parts_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
    doc = """Its deps less TensorFlow's shared libraries.

For a shared library that is to be installed: Bazel writes a search path into
the build tree (RUNPATH) for every shared library among the deps. What links
this names TensorFlow's libraries in its linkopts instead.""",
)

def _static_archive_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    left_out = [dep.label for dep in ctx.attr.exclude]
    archives = []
    for linker_input in merged.linking_context.linker_inputs.to_list():
        if linker_input.owner.workspace_name or linker_input.owner in left_out:
            continue
        for library in linker_input.libraries:
            archives.append(library.pic_static_library or library.static_library)
    lines = ["create " + ctx.outputs.out.path]
    lines += ["addlib " + archive.path for archive in archives]
    script = ctx.actions.declare_file(ctx.attr.name + ".mri")
    ctx.actions.write(script, "\n".join(lines + ["save", "end", ""]))
    ctx.actions.run_shell(
        inputs = archives + [script],
        outputs = [ctx.outputs.out],
        command = "%s -M < %s" % (find_cpp_toolchain(ctx).ar_executable, script.path),
        mnemonic = "StaticArchive",
        progress_message = "Putting %s together" % ctx.outputs.out.short_path,
    )

static_archive = rule(
    implementation = _static_archive_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "exclude": attr.label_list(providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    doc = """The objects of its deps, and of theirs, in one archive, for other builds
than Bazel's; without those of other workspaces, and of the targets of `exclude`.""",
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
