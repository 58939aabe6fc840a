#include "tensorflow_ext/kernels/launch.h"

#include <cuda_runtime.h>

namespace tensorflow_ext {

const char* LaunchErrorString(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

}  // namespace tensorflow_ext
