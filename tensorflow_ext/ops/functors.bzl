# SPDX-License-Identifier: Apache-2.0
"""functor_sources: the sources that only instantiate and register a folder's functors.

The header of such a folder lists its ops (kernels/elementwise.h). A folder with CUDA
kernels of its own, *_gpu.cu.cc, has all its sources.
"""

_SOURCES = {
    "_cpu.cc": (["kernels/broadcast_cpu.h", "kernels/elementwise_cpu.h"], "INSTANTIATE_CPU_ELEMENTWISE"),
    "_gpu.cu.cc": (
        ["kernels/broadcast_gpu.cuh", "kernels/elementwise_gpu.cuh"],
        "INSTANTIATE_GPU_ELEMENTWISE",
    ),
    "_kernels.cc": (
        ["kernels/broadcast_op.h", "kernels/elementwise_op.h", "gradient/bridge/registration.h"],
        "REGISTER_ELEMENTWISE",
    ),
}

def _source_impl(ctx):
    includes = ["tensorflow_ext/" + header for header in ctx.attr.includes]
    includes.append("tensorflow_ext/ops/{0}/{0}.h".format(ctx.attr.folder))
    ctx.actions.write(ctx.outputs.out, "".join(
        ["#include \"%s\"\n" % header for header in includes] +
        ["namespace tensorflow_ext {\n"] +
        ["TENSORFLOW_EXT_%s(%s)\n" % (ctx.attr.folder.upper(), ctx.attr.macro)] +
        ["}  // namespace tensorflow_ext\n"],
    ))

_source = rule(
    implementation = _source_impl,
    attrs = {
        "folder": attr.string(mandatory = True),
        "includes": attr.string_list(mandatory = True),
        "macro": attr.string(mandatory = True),
        "out": attr.output(mandatory = True),
    },
)

def functor_sources(folders):
    """Writes the sources that folders lack.

    Args:
      folders: the folders of ops.

    Returns:
      The paths of the sources that it writes.
    """
    written = native.glob(["*/*.cc"])
    outputs = []
    for folder in folders:
        if folder + "/" + folder + "_gpu.cu.cc" in written:
            continue
        for suffix, (includes, macro) in _SOURCES.items():
            out = "{0}/{0}{1}".format(folder, suffix)
            if out not in written:
                _source(
                    name = out.replace("/", "_").replace(".", "_"),
                    folder = folder,
                    includes = includes,
                    macro = macro,
                    out = out,
                )
                outputs.append(out)
    return outputs
