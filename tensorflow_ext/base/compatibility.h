// The differences between the versions of TensorFlow's C++ interface that this library is built for
// (requirements/tensorflow_versions.txt). No other file checks the version. A new version is
// supported by changing this file and, for the compiler, third_party/tensorflow/versions.bzl.
//
// Cheap to include: it has macros, declarations and templates, and one TensorFlow header of macros.

#pragma once

#include "tensorflow/core/public/version.h"

// The headers of 2.20 and later do not name the version: TensorFlow's own build has it on the
// command line, and other builds do not. All headers contain a number that grows with each day of
// TensorFlow's development and stops where a release branch begins.
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
#pragma message(                                                              \
    "TensorFlow is newer than 2.21, the last version that tensorflow_ext is " \
    "tested with. If something does not compile, change "                     \
    "tensorflow_ext/base/compatibility.h and third_party/tensorflow/versions.bzl.")
#endif

// The headers of XLA's builder, which 2.19 moved. They take seconds to compile, so only files that
// lower ops include them.
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

// The wheel of 2.19 lacks LLVM's headers but includes some wherever an op is lowered, for a class
// that XLA passes to a function that is never called there. This definition, included before XLA's
// headers, replaces theirs.
#if TENSORFLOW_EXT_TENSORFLOW_MINOR == 19
#define XLA_STREAM_EXECUTOR_GPU_TMA_METADATA_H_
namespace stream_executor::gpu {
class TmaDescriptor {};
}  // namespace stream_executor::gpu
#endif

// The class of GPU memory, which 2.21 renamed.
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
