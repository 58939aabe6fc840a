// TensorFlow's GPU stream, as far as a kernel needs it, without its headers.

#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensorflow_ext {

// The cudaStream_t of the kernel's device.
void* GpuStream(tensorflow::OpKernelContext* context);

// The status of a launch. Errors are Internal and name the op and CUDA's error.
absl::Status LaunchStatus(const tensorflow::OpKernel& kernel, int error);

}  // namespace tensorflow_ext
