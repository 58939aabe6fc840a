# SPDX-License-Identifier: Apache-2.0
"""How the parts of this library are compiled."""

load("@local_config_cuda//:defs.bzl", "if_cuda")
load("//third_party/cuda:cuda_library.bzl", "cuda_library")

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
    "zero_out",
]

# Nothing is exported but the C interface, so that the library meets no symbols
# of another one in its process.
COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

def op_library(name, has_xla = True, deps = [], gpu_deps = []):
    """An op, or a small family of ops: all files of its folder, tests aside.

    Defines <name>, the op with its kernels and gradient; <name>_headers, its
    arithmetic without TensorFlow, for tests of it; <name>_cpu, its loops
    without TensorFlow (*_cpu.cc), optimised further; <name>_gpu, its CUDA
    kernels, and <name>_gpu_objects, their object files (both empty without
    nvcc); <name>_gpu_srcs, the sources of these, for tests without nvcc;
    <name>_on_cpu, the op with its CPU kernels and nothing else, for
    builds with a sanitizer.

    Args:
      name: the folder's name.
      has_xla: whether *_xla.cc is part of it.
      deps: libraries that only the host's sources include.
      gpu_deps: libraries of headers without TensorFlow, included by *.cu.cc or
        by this folder's headers.
    """
    hdrs = native.glob(["*.cuh", "*.h"], allow_empty = True)
    gpu_srcs = native.glob(["*.cu.cc"], allow_empty = True)
    other_srcs = ["*.cu.cc", "*_cpu.cc", "*_test.cc"] + ([] if has_xla else ["*_xla.cc"])
    native.cc_library(
        name = name + "_headers",
        hdrs = hdrs,
        visibility = ["//visibility:public"],
        deps = gpu_deps,
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
        # At -O2 the compiler vectorises few loops. Contraction would make
        # results depend on the machine (simd.h).
        copts = COPTS + ["-O3", "-ffp-contract=off"],
        visibility = ["//visibility:public"],
        deps = [":%s_headers" % name],
    )
    native.cc_library(
        name = name,
        srcs = native.glob(["*.cc"], allow_empty = True, exclude = other_srcs),
        copts = COPTS,
        local_defines = if_cuda(["TENSORFLOW_EXT_CUDA=1"]) if gpu_srcs else [],
        visibility = ["//visibility:public"],
        deps = [
            ":%s_cpu" % name,
            ":%s_gpu" % name,
            ":%s_headers" % name,
            "//tensorflow_ext:registration",
            "@local_config_tf//:cc" if has_xla else "@local_config_tf//:framework",
        ] + deps,
        alwayslink = 1,
    )
    native.cc_library(
        name = name + "_on_cpu",
        srcs = native.glob(
            ["*.cc"],
            allow_empty = True,
            exclude = ["*.cu.cc", "*_cpu.cc", "*_grad.cc", "*_test.cc", "*_xla.cc"],
        ),
        copts = COPTS,
        tags = ["manual"],
        visibility = ["//tests/sanitizers:__pkg__"],
        deps = [
            ":%s_cpu" % name,
            ":%s_headers" % name,
            "//tensorflow_ext:registration",
            "@local_config_tf//:framework",
        ] + deps,
        alwayslink = 1,
    )
