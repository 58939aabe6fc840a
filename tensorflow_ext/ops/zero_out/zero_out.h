// Setting all elements except the first to zero, on the GPU. In every type, zero is zero bytes.

#pragma once

#include <cstdint>

namespace tensorflow_ext {

// Copies the first `kept` bytes of `input` to `output`, which may be `input`, and clears the other
// `size - kept`. Both are in device memory. Runs in order on `stream`, a cudaStream_t. Returns a
// cudaError_t. size 0 does nothing.
int LaunchZeroOut(const void* input, void* output, int64_t kept, int64_t size, void* stream);

// Clears `size` bytes of device memory in the same way.
int LaunchZeroOutWhole(void* output, int64_t size, void* stream);

}  // namespace tensorflow_ext
