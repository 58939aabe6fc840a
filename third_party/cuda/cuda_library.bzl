"""cuda_library: CUDA sources compiled by nvcc."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_config_cuda//:defs.bzl", "HAVE_CUDA", "NVCC")

# Machine code for A100 and H100, PTX for later GPUs. A kernel that spills
# registers or uses local memory does not compile.
_NVCC_FLAGS = [
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=[sm_90,compute_90]",
    "-Xptxas=-warn-spills,-warn-lmem-usage,-Werror",
    "-Werror=all-warnings",
    "-Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra,-Werror",
]

def _cuda_object_impl(ctx):
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    args = ctx.actions.args()
    args.add_all(["-x", "cu", "-c", ctx.file.src, "-o", ctx.outputs.out])

    # nvcc names intermediate files by its process ID, and sandboxes that share
    # /tmp use the same process IDs.
    args.add("--objdir-as-tempdir")
    args.add("-ccbin", find_cpp_toolchain(ctx).compiler_executable)
    args.add_all(_NVCC_FLAGS)
    args.add_all(ctx.attr.copts)
    args.add_all(context.defines, before_each = "-D")
    args.add_all(["-I.", "-I" + ctx.bin_dir.path])
    args.add_all(context.quote_includes, before_each = "-I")  # nvcc has no -iquote.
    args.add_all(context.includes, before_each = "-I")
    args.add_all(context.system_includes, before_each = "-isystem")
    ctx.actions.run(
        arguments = [args],
        env = {"PATH": "/usr/bin:/bin"},
        executable = NVCC,
        inputs = depset(
            [ctx.file.src] + ctx.files.hdrs + ctx.files._stamp,
            transitive = [context.headers],
        ),
        mnemonic = "CudaCompile",
        outputs = [ctx.outputs.out],
        progress_message = "Compiling %s for the GPU" % ctx.file.src.short_path,
    )

_cuda_object = rule(
    implementation = _cuda_object_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".cuh", ".h"]),
        "out": attr.output(mandatory = True),
        "src": attr.label(allow_single_file = [".cu.cc", ".cu"], mandatory = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
        "_stamp": attr.label(default = "@local_config_cuda//:stamp"),
    },
    doc = "One object file by nvcc.",
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A cc_library of CUDA sources; empty if there is no nvcc.

    Args:
      name: the library. <name>_objects is a filegroup of its object files, for
        tools that read the machine code.
      srcs: CUDA sources, *.cu.cc or *.cu.
      hdrs: headers of this library.
      deps: libraries of headers that the sources include. They must not include
        TensorFlow, because nvcc takes half a minute for its headers.
      copts: further flags for nvcc.
      **kwargs: passed on to cc_library.
    """
    objects = []
    for src in srcs if HAVE_CUDA else []:
        out = "%s_cuda/%s.pic.o" % (name, src[:src.rindex(".cu")])
        _cuda_object(
            name = out + "_nvcc",
            src = src,
            out = out,
            copts = copts,
            deps = deps + ["@local_config_cuda//:headers"],
            hdrs = hdrs,
        )
        objects.append(out)
    native.filegroup(
        name = name + "_objects",
        srcs = objects,
        visibility = ["//visibility:public"],
    )
    native.cc_library(
        name = name,
        srcs = objects,
        hdrs = hdrs,
        linkstatic = 1,
        deps = deps + (["@local_config_cuda//:cudart_static"] if objects else []),
        **kwargs
    )
