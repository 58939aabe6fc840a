// SPDX-License-Identifier: Apache-2.0
//
// Where TensorFlow's C++ interface is not the same in all the versions that
// this library is built for (requirements/tensorflow_versions.txt). Nothing
// else asks for the version: what a new one changes, is changed here, and what
// is changed for the compiler, in third_party/tensorflow/versions.bzl.
//
// It costs nothing to include: macros, declarations and templates, and no
// header of TensorFlow but one of macros.

#ifndef TENSORFLOW_EXT_BASE_COMPATIBILITY_H_
#define TENSORFLOW_EXT_BASE_COMPATIBILITY_H_

#include "tensorflow/core/public/version.h"

// The headers of 2.20 and later name no version: TensorFlow's own build has
// it on the command line, and other people's builds have not. They all hold a
// number that grows with each day of TensorFlow's work, and stops where the
// branch of a release begins.
#if TF_GRAPH_DEF_VERSION < 1994
#error \
    "TensorFlow is older than 2.18, the first for which tensorflow_ext is \
written (requirements/tensorflow_versions.txt)."
#elif TF_GRAPH_DEF_VERSION == 1994
#define TENSORFLOW_EXT_TENSORFLOW_MINOR 18
#elif TF_GRAPH_DEF_VERSION <= 2129
#define TENSORFLOW_EXT_TENSORFLOW_MINOR 19
#elif TF_GRAPH_DEF_VERSION <= 2288
#define TENSORFLOW_EXT_TENSORFLOW_MINOR 20
#elif TF_GRAPH_DEF_VERSION <= 2474
#define TENSORFLOW_EXT_TENSORFLOW_MINOR 21
#else
#define TENSORFLOW_EXT_TENSORFLOW_MINOR 22
#pragma message(                                                                  \
    "TensorFlow is newer than 2.21, the last for which tensorflow_ext is "        \
    "tested. Where it does not compile, tensorflow_ext/base/compatibility.h and " \
    "third_party/tensorflow/versions.bzl are the files to change.")
#endif

// The headers of XLA's builder. They take seconds: for the files that lower
// ops alone. 2.19 moved them.
#if TENSORFLOW_EXT_TENSORFLOW_MINOR >= 19
#define TENSORFLOW_EXT_XLA_BUILDER "xla/hlo/builder/xla_builder.h"
#define TENSORFLOW_EXT_XLA_ARITHMETIC "xla/hlo/builder/lib/arithmetic.h"
#define TENSORFLOW_EXT_XLA_CONSTANTS "xla/hlo/builder/lib/constants.h"
#define TENSORFLOW_EXT_XLA_LOOPS "xla/hlo/builder/lib/loops.h"
#define TENSORFLOW_EXT_XLA_MATH "xla/hlo/builder/lib/math.h"
#else
#define TENSORFLOW_EXT_XLA_BUILDER "xla/client/xla_builder.h"
#define TENSORFLOW_EXT_XLA_ARITHMETIC "xla/client/lib/arithmetic.h"
#define TENSORFLOW_EXT_XLA_CONSTANTS "xla/client/lib/constants.h"
#define TENSORFLOW_EXT_XLA_LOOPS "xla/client/lib/loops.h"
#define TENSORFLOW_EXT_XLA_MATH "xla/client/lib/math.h"
#endif

// 2.19 has no header of LLVM in its wheel, and includes some wherever an op is
// lowered, for a class that XLA passes on in a function that nobody calls
// there. Included before XLA's headers, this stands for theirs.
#if TENSORFLOW_EXT_TENSORFLOW_MINOR == 19
#define XLA_STREAM_EXECUTOR_GPU_TMA_METADATA_H_
namespace stream_executor::gpu {
class TmaDescriptor {};
}  // namespace stream_executor::gpu
#endif

// Memory of a GPU: 2.21 gave it another name.
namespace stream_executor {
#if TENSORFLOW_EXT_TENSORFLOW_MINOR >= 21
class DeviceAddressBase;
#else
class DeviceMemoryBase;
#endif
}  // namespace stream_executor

namespace tensorflow_ext::compatibility {

#if TENSORFLOW_EXT_TENSORFLOW_MINOR >= 21
using DeviceAddress = ::stream_executor::DeviceAddressBase;
#else
using DeviceAddress = ::stream_executor::DeviceMemoryBase;
#endif

}  // namespace tensorflow_ext::compatibility

#endif  // TENSORFLOW_EXT_BASE_COMPATIBILITY_H_
