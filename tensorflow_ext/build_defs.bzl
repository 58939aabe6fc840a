# SPDX-License-Identifier: Apache-2.0
"""Op libraries, in this workspace and in others.

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

# Nothing is exported but what says so, so that a library meets no symbols of
# another one in its process, made perhaps with other versions of the headers.
HIDDEN = [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

# At -O2 the compiler vectorises few loops. Contraction would make results depend
# on the machine (kernels/simd.h).
LOOPS = [
    "-O3",
    "-ffp-contract=off",
]

# TensorFlow's wheel is built so: parts of its headers change their layout without
# NDEBUG, which Bazel defines with --compilation_mode=opt alone. The tables of
# FunctionDefHelper leave out what they do not need.
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
      The same here; elsewhere, where neither .bazelrc nor the compiler are ours, with
      what our .bazelrc says, and without errors of what the compiler warns of.
    """
    if native.repository_name() in ["@", "@@"]:
        return copts
    return copts + _AS_TENSORFLOW + ["-Wno-error"]

def _wrappers_command():
    """This workspace's tensorflow_ext, elsewhere that of the Python interpreter: a
    workspace of ops builds no library of this one."""
    own = Label("//third_party/python:tensorflow_ext_command")
    if not own.workspace_name:
        return own
    return Label("//third_party/python:installed_tensorflow_ext_command")

def kernel_defines(cuda_srcs):
    """The macros of the files that register kernels (kernels/elementwise_op.h).

    Args:
      cuda_srcs: the sources of the op's CUDA kernels.

    Returns:
      For `local_defines`.
    """
    return ["TENSORFLOW_EXT_XLA=1"] + (
        if_cuda(["TENSORFLOW_EXT_CUDA=1"]) if cuda_srcs else []
    )

def tf_shared_library(name, soname, deps, linker_inputs = [], linkopts = [], **kwargs):
    """A library that TensorFlow loads.

    TensorFlow's libraries stand last and without a search path: the process that
    loads this library has loaded them, or says itself where they are.

    Args:
      name: the file.
      soname: its name for those that link it.
      deps: C++ libraries, of which the static ones become part of it.
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

    Beside it a C++ library <name>_cc_ops for programs that build graphs: typed ops, as
    <name>::ops of <name>_cc_ops.h. It is built where something depends on it, in other
    workspaces by the tensorflow_ext that the Python interpreter has.

    Args:
      name: also that of a filegroup which has the library alone.
      srcs: C++ sources and headers: ops, shape functions, gradients, kernels. They may
        include TensorFlow, tensorflow_ext/kernels, tensorflow_ext/xla and
        tensorflow_ext/gradient/formula.
      cuda_srcs: CUDA sources, *.cu.cc or *.cu, which include the headers among all
        of these sources, tensorflow_ext/kernels, and no TensorFlow: it keeps nvcc
        busy for half a minute. Without nvcc they are left out, and TENSORFLOW_EXT_CUDA
        is not defined in the others.
      xla_srcs: C++ sources of lowerings (tensorflow_ext/xla/lowering.h). What
        REGISTER_ELEMENTWISE registers needs none.
      deps: C++ libraries that the sources include, beside those above.
      copts: further flags for the C++ compiler.
      linkopts: further flags for the linker.
      **kwargs: passed on to what makes the library, such as `visibility`.
    """
    parts = ["manual"]  # of the library: not among :all
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
        # In the root the header is found anyway, and Bazel refuses this.
        includes = ["."] if native.package_name() else [],
        tags = parts,
        testonly = kwargs.get("testonly", False),
        visibility = kwargs.get("visibility"),
        deps = [Label("//tensorflow_ext/cc:op_builder")],
    )
