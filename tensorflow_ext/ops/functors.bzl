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

def _list_impl(ctx):
    headers = ["tensorflow_ext/ops/{0}/{0}.h".format(folder) for folder in ctx.attr.folders]
    macros = ["TENSORFLOW_EXT_%s(OP)" % folder.upper() for folder in ctx.attr.folders]
    ctx.actions.write(ctx.outputs.out, "".join(
        ["#pragma once\n"] +
        ["#include \"%s\"\n" % header for header in headers] +
        ["#define TENSORFLOW_EXT_FUNCTORS(OP) %s\n" % " ".join(macros)],
    ))

_list = rule(
    implementation = _list_impl,
    attrs = {
        "folders": attr.string_list(mandatory = True),
        "out": attr.output(mandatory = True),
    },
)

def functor_sources(folders):
    """Writes the sources that folders lack, and functors.h, the list of all functors.

    Args:
      folders: the folders of ops.

    Returns:
      The paths of the sources that it writes.
    """
    written = native.glob(["*/*.cc"])
    listed = [f for f in folders if "{0}/{0}_gpu.cu.cc".format(f) not in written]
    outputs = []
    for folder in listed:
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
    _list(
        name = "functors",
        folders = listed,
        out = "functors.h",
    )
    return outputs
