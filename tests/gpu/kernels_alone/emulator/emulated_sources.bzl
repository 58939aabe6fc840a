"""CUDA sources as C++ for the emulator."""

def _emulated_sources_impl(ctx):
    outputs = []
    for source in ctx.files.srcs:
        if not source.basename.endswith(".cu.cc"):
            continue
        name = source.basename[:-len(".cu.cc")] + "_emulated.cc"
        output = ctx.actions.declare_file(name)
        ctx.actions.run(
            arguments = [source.path, output.path],
            executable = ctx.executable._rewrite,
            inputs = ctx.files.srcs,
            mnemonic = "RewriteCuda",
            outputs = [output],
            progress_message = "Rewriting %s for the emulator" % source.short_path,
            use_default_shell_env = True,
        )
        outputs.append(output)
    return [DefaultInfo(files = depset(outputs))]

emulated_sources = rule(
    implementation = _emulated_sources_impl,
    attrs = {
        "srcs": attr.label_list(
            allow_files = True,
            mandatory = True,
            doc = "Sources, and the *.cuh that they include.",
        ),
        "_rewrite": attr.label(
            cfg = "exec",
            default = ":rewrite",
            executable = True,
        ),
    },
    doc = "A C++ source for each *.cu.cc, by rewrite.py.",
)
