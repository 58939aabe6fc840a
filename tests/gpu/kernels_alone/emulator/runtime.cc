// The CUDA runtime's functions on the host.

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// The memory that the device reports: too little for tensors beyond 2^31 elements.
constexpr size_t kMemory = size_t{2} << 30;

cudaError_t last_error = cudaSuccess;
char launch_failure[512];
emulator::Stream* capturing = nullptr;

}  // namespace

namespace emulator {

bool RunsNow(Stream* stream) {
  if (stream != nullptr && stream->is_capturing) {
    ++stream->nodes;
    return false;
  }
  if (stream == nullptr && capturing != nullptr) {
    last_error = cudaErrorStreamCaptureImplicit;
    return false;
  }
  return true;
}

void ReportInvalidConfiguration() { last_error = cudaErrorInvalidConfiguration; }

void ReportLaunchFailure(const char* text) {
  last_error = cudaErrorLaunchFailure;
  std::snprintf(launch_failure, sizeof(launch_failure), "%s", text);
}

}  // namespace emulator

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorLaunchFailure:
      return launch_failure;
    case cudaErrorStreamCaptureImplicit:
      return "work on the default stream while another one is recorded";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"the host, emulating a GPU", 1, 0, 0};
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kMemory;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  constexpr size_t kAlignment = 256;  // as on a device
  return posix_memalign(memory, kAlignment, size) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, size, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (emulator::RunsNow(stream)) std::memcpy(to, from, size);
  return cudaGetLastError();
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t size, cudaStream_t stream) {
  if (emulator::RunsNow(stream)) std::memset(memory, value, size);
  return cudaGetLastError();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  *stream = new emulator::Stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  *stream = {true, 0};
  capturing = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  stream->is_capturing = false;
  capturing = nullptr;
  *graph = new size_t(stream->nodes);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = *graph;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new double(0);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  *event = std::chrono::duration<double, std::milli>(now).count();
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  *milliseconds = static_cast<float>(*last - *first);
  return cudaSuccess;
}
