"""Builds op libraries, in this workspace and in others.

Another workspace has in its WORKSPACE

    local_repository(  # or http_archive(...)
        name = "org_tensorflow_ext",
        path = "/path/to/tensorflow_ext",
    )

    load("@org_tensorflow_ext//tensorflow_ext:workspace.bzl", "tensorflow_ext_workspace")

    tensorflow_ext_workspace()

and in a BUILD file

    load("@org_tensorflow_ext//tensorflow_ext:build_defs.bzl", "tf_ext_op_library")

    tf_ext_op_library(
        name = "your_op",  # libyour_op.so
        srcs = ["squareplus.cc", "squareplus.h"],
        cuda_srcs = ["squareplus.cu.cc"],
    )

examples/your_op is such a workspace.
"""

load("@local_config_cuda//:defs.bzl", "if_cuda")
load("//third_party/cuda:cuda_library.bzl", "cuda_library")
load("//third_party/tensorflow:static_parts.bzl", "static_parts")
load(":op_wrappers.bzl", "op_wrappers")

# Only marked symbols are exported, so libraries in one process do not share symbols.
# They may be built with different versions of the headers.
HIDDEN = [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

# At -O2 the compiler vectorizes few loops. Contraction would make results depend on the
# machine (kernels/simd.h).
LOOPS = [
    "-O3",
    "-ffp-contract=off",
]

# The flags of TensorFlow's wheel: parts of its headers change their layout without
# NDEBUG, which Bazel defines only with --compilation_mode=opt. FunctionDefHelper tables
# omit fields that they do not need.
_AS_TENSORFLOW = [
    "-Wno-missing-field-initializers",
    "-std=c++17",
    "-DNDEBUG",
]

_TENSORFLOW = [
    "@local_config_tf//:libtensorflow_cc.so.2",
    "@local_config_tf//:libtensorflow_framework.so.2",
]

_HEADERS = (".cuh", ".h", ".hpp", ".inc")

def copts_anywhere(copts):
    """The flags of a library of this workspace that other workspaces build, too.

    Args:
      copts: the flags within this workspace.

    Returns:
      `copts` in this workspace. Other workspaces have another .bazelrc and compiler, so
      they also get the flags of our .bazelrc, and warnings are no errors.
    """
    if native.repository_name() in ["@", "@@"]:
        return copts
    return copts + _AS_TENSORFLOW + ["-Wno-error"]

def _wrappers_command():
    """This workspace's tensorflow_ext, or in other workspaces the Python interpreter's,
    because a workspace of ops does not build this library."""
    own = Label("//third_party/python:tensorflow_ext_command")
    if not own.workspace_name:
        return own
    return Label("//third_party/python:installed_tensorflow_ext_command")

def kernel_defines(cuda_srcs):
    """The macros of the files that register kernels (kernels/elementwise_op.h).

    Args:
      cuda_srcs: the sources of the op's CUDA kernels.

    Returns:
      The value of `local_defines`.
    """
    return ["TENSORFLOW_EXT_XLA=1"] + (
        if_cuda(["TENSORFLOW_EXT_CUDA=1"]) if cuda_srcs else []
    )

def tf_shared_library(name, soname, deps, linker_inputs = [], linkopts = [], **kwargs):
    """A library that TensorFlow loads.

    TensorFlow's libraries come last and without a search path: the process that loads
    this library has loaded them or finds them itself.

    Args:
      name: the file.
      soname: its name when other libraries link it.
      deps: C++ libraries; the static ones become part of it.
      linker_inputs: files that linkopts name by $(location).
      linkopts: further flags for the linker.
      **kwargs: passed on to cc_binary.
    """
    static_parts(
        name = name + "_parts",
        tags = ["manual"],
        deps = deps,
    )
    native.cc_binary(
        name = name,
        additional_linker_inputs = linker_inputs + _TENSORFLOW,
        linkopts = linkopts + [
            "-Wl,-soname," + soname,
            "-Wl,-z,defs",
        ] + ["$(location %s)" % library for library in _TENSORFLOW],
        linkshared = 1,
        deps = [":%s_parts" % name],
        **kwargs
    )

def tf_ext_op_library(
        name,
        srcs,
        cuda_srcs = [],
        xla_srcs = [],
        deps = [],
        copts = [],
        linkopts = [],
        **kwargs):
    """An op library for all of TensorFlow's clients: lib<name>.so.

    Also makes a C++ library <name>_cc_ops for programs that build graphs: typed ops, as
    <name>::ops of <name>_cc_ops.h. It is built if something depends on it, in other
    workspaces by the Python interpreter's tensorflow_ext.

    Args:
      name: also names a filegroup with only the library.
      srcs: C++ sources and headers: ops, shape functions, gradients, kernels. They may
        include TensorFlow, tensorflow_ext/kernels, tensorflow_ext/xla and
        tensorflow_ext/gradient/formula.
      cuda_srcs: CUDA sources, *.cu.cc or *.cu, which include the headers among all
        of these sources and tensorflow_ext/kernels, but not TensorFlow, which takes nvcc
        half a minute. Without nvcc they are left out, and the other sources do not see
        TENSORFLOW_EXT_CUDA.
      xla_srcs: C++ sources of lowerings (tensorflow_ext/xla/lowering.h). Ops that
        REGISTER_ELEMENTWISE registers need none.
      deps: other C++ libraries that the sources include.
      copts: further flags for the C++ compiler.
      linkopts: further flags for the linker.
      **kwargs: passed on to the rules of the library, such as `visibility`.
    """
    parts = ["manual"]  # parts of the library are not among :all
    sources = srcs + xla_srcs
    headers = [f for f in sources + cuda_srcs if f.endswith(_HEADERS)]
    kit = [
        Label("//tensorflow_ext/gradient:define"),
        Label("//tensorflow_ext/gradient:register_op_gradient"),
        Label("//tensorflow_ext/gradient/formula:formula"),
        Label("//tensorflow_ext/op_library:kernels"),
    ]
    stub = str(Label("//tensorflow_ext/op_library:stub/libtensorflow_ext.so"))
    native.cc_library(
        name = name + "_headers",
        hdrs = headers,
        tags = parts,
        deps = [Label("//tensorflow_ext/kernels:loops")],
    )
    cuda_library(
        name = name + "_cuda",
        srcs = [f for f in cuda_srcs if not f.endswith(_HEADERS)],
        tags = parts,
        deps = [":%s_headers" % name],
    )
    native.cc_library(
        name = name + "_cc",
        srcs = [f for f in sources if not f.endswith(_HEADERS)],
        copts = LOOPS + HIDDEN + _AS_TENSORFLOW + copts,
        local_defines = kernel_defines(cuda_srcs),
        tags = parts,
        deps = deps + kit + [
            ":%s_cuda" % name,
            ":%s_headers" % name,
            "@local_config_tf//:cc",
        ],
        alwayslink = 1,
    )
    library = "lib%s.so" % name
    tf_shared_library(
        name = library,
        deps = [":%s_cc" % name],
        linker_inputs = [stub],
        linkopts = linkopts + ["$(location %s)" % stub],
        soname = library,
        **kwargs
    )
    native.filegroup(
        name = name,
        srcs = [library],
        **kwargs
    )
    op_wrappers(
        name = name + "_cc_ops_sources",
        outs = [
            name + "_cc_ops.h",
            name + "_cc_ops.cc",
        ],
        command = _wrappers_command(),
        language = "cxx",
        libraries = [library],
        tags = parts,
        testonly = kwargs.get("testonly", False),
        wrappers_name = name,
    )
    native.cc_library(
        name = name + "_cc_ops",
        srcs = [name + "_cc_ops.cc"],
        hdrs = [name + "_cc_ops.h"],
        copts = _AS_TENSORFLOW,
        # In the root package the header is found anyway, and Bazel refuses this.
        includes = ["."] if native.package_name() else [],
        tags = parts,
        testonly = kwargs.get("testonly", False),
        visibility = kwargs.get("visibility"),
        deps = [Label("//tensorflow_ext/cc:op_builder")],
    )
