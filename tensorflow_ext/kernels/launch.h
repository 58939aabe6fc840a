// The interface between nvcc and the host compiler. A launcher takes the stream as void* (a
// cudaStream_t) and returns the launch's cudaError_t as an int, 0 for success. It launches nothing
// for an empty tensor.

#pragma once

namespace tensorflow_ext {

// The CUDA runtime's message for an error that a launcher returned.
const char* LaunchErrorString(int error);

}  // namespace tensorflow_ext
