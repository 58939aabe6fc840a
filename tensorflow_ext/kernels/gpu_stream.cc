// Includes no CUDA header, so the object file is the same for TensorFlow's CPU and GPU wheels.

#include "tensorflow_ext/kernels/gpu_stream.h"

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/kernels/launch.h"
#include "xla/stream_executor/stream.h"

namespace tensorflow_ext {

void* GpuStream(tensorflow::OpKernelContext* context) {
  return context->op_device_context()->stream()->platform_specific_handle().stream;
}

absl::Status LaunchStatus(const tensorflow::OpKernel& kernel, int error) {
  if (error == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(kernel.type_string(),
                                          ": the launch of its CUDA kernel at '", kernel.name(),
                                          "' failed: ", LaunchErrorString(error)));
}

}  // namespace tensorflow_ext
