// There is no kernel: CUDA's memset and copy run at the speed of memory.

#include <cuda_runtime.h>

#include "tensorflow_ext/ops/zero_out/zero_out.h"

namespace tensorflow_ext {

int LaunchZeroOutWhole(void* output, int64_t size, void* stream) {
  if (size == 0) return cudaSuccess;
  return cudaMemsetAsync(output, 0, size, static_cast<cudaStream_t>(stream));
}

int LaunchZeroOut(const void* input, void* output, int64_t kept, int64_t size, void* stream) {
  if (size == 0) return cudaSuccess;
  if (output == input) {
    return LaunchZeroOutWhole(static_cast<char*>(output) + kept, size - kept, stream);
  }
  // Clears from the aligned start, which is faster, then copies the element.
  const int error = LaunchZeroOutWhole(output, size, stream);
  if (error != cudaSuccess) return error;
  return cudaMemcpyAsync(output, input, kept, cudaMemcpyDeviceToDevice,
                         static_cast<cudaStream_t>(stream));
}

}  // namespace tensorflow_ext
