# SPDX-License-Identifier: Apache-2.0
"""How the parts of this library are compiled."""

load("//third_party/cuda:cuda_library.bzl", "cuda_library")
load("//third_party/tensorflow:precompiled_header.bzl", "precompiled_copts")
load(":build_defs.bzl", "HIDDEN", "LOOPS", "kernel_defines")

# The folders below ops/: libtensorflow_ext.so holds each of them.
OPS = [
    "activations",
    "clip_by_global_norm",
    "correlation_cost",
    "embedding_bag",
    "floor_mod",
    "gradient_modifiers",
    "multiply_left",
    "normalization",
    "prune_by_magnitude",
    "resampler",
    "roi_align",
    "roi_pool",
    "rrelu",
    "snake",
    "sparsemax",
    "zero_out",
]

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
] + HIDDEN

# Of targets most of whose files include TensorFlow's op_kernel.h, function.h or
# graph.h: a compiler reads these for 7 s, precompiled for 2. PRECOMPILED is among the
# target's deps then.
PRECOMPILED = "//third_party/tensorflow:precompiled"
PRECOMPILED_COPTS = COPTS + precompiled_copts("third_party/tensorflow/precompiled.h")

def op_library():
    """An op, or a family of ops: all files of its folder.

    Defines, by the folder's name, <name>, the op with its kernels, lowering and
    gradient; <name>_headers, its arithmetic without TensorFlow, for tests of it;
    <name>_cpu, its loops without TensorFlow (*_cpu.cc), optimised further;
    <name>_gpu, its CUDA kernels, and <name>_gpu_objects, their object files (both
    empty without nvcc); <name>_gpu_srcs, the sources of these, for tests without
    nvcc; <name>_op, its registration (*_op.cc); <name>_on_cpu, its CPU kernels
    and nothing else, for builds with a sanitizer.
    """
    name = native.package_name().split("/")[-1]
    gpu_srcs = native.glob(["*.cu.cc"], allow_empty = True)
    not_kernels = ["*.cu.cc", "*_cpu.cc", "*_op.cc"]
    host_deps = [
        PRECOMPILED,
        ":%s_headers" % name,
        "//tensorflow_ext:registration",
        "//tensorflow_ext/kernels",
        "@local_config_tf//:framework",
    ]
    native.cc_library(
        name = name + "_headers",
        hdrs = native.glob(["*.cuh", "*.h"], allow_empty = True),
        visibility = ["//visibility:public"],
        deps = ["//tensorflow_ext/kernels:loops"],
    )
    native.filegroup(
        name = name + "_gpu_srcs",
        srcs = gpu_srcs + native.glob(["*.cuh"], allow_empty = True),
        visibility = ["//tests/gpu:__subpackages__"],
    )
    cuda_library(
        name = name + "_gpu",
        srcs = gpu_srcs,
        visibility = ["//visibility:public"],
        deps = [":%s_headers" % name],
    )
    native.cc_library(
        name = name + "_cpu",
        srcs = native.glob(["*_cpu.cc"], allow_empty = True),
        copts = COPTS + LOOPS + select({
            # That of sanitized.bzl stands before the -O3 of LOOPS.
            "//tests/sanitizers:sanitized": ["-O1"],
            "//conditions:default": [],
        }),
        visibility = ["//visibility:public"],
        deps = [":%s_headers" % name],
    )
    native.cc_library(
        name = name + "_op",
        srcs = native.glob(["*_op.cc"]),
        copts = PRECOMPILED_COPTS,
        visibility = ["//tests/sanitizers:__pkg__"],
        deps = host_deps,
        alwayslink = 1,
    )
    native.cc_library(
        name = name,
        srcs = native.glob(["*.cc"], exclude = not_kernels),
        copts = PRECOMPILED_COPTS,
        local_defines = kernel_defines(gpu_srcs),
        visibility = ["//visibility:public"],
        deps = host_deps + [
            ":%s_cpu" % name,
            ":%s_gpu" % name,
            ":%s_op" % name,
            "//tensorflow_ext/xla",
            "@local_config_tf//:cc",
        ],
        alwayslink = 1,
    )
    native.cc_library(
        name = name + "_on_cpu",
        srcs = native.glob(["*.cc"], exclude = not_kernels + ["*_grad.cc", "*_xla.cc"]),
        copts = PRECOMPILED_COPTS,
        tags = ["manual"],
        visibility = ["//tests/sanitizers:__pkg__"],
        deps = host_deps + [
            ":%s_cpu" % name,
            ":%s_op" % name,
        ],
        alwayslink = 1,
    )
