// CUDA's runtime as plain C, limited to what device.py needs. Functions return a cudaError_t as an
// int, 0 for success. Streams and events are a cudaStream_t and a cudaEvent_t.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#pragma GCC visibility push(default)
extern "C" {

const char* Device_ErrorString(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

// The number of devices; 0 without a driver, as the error then says.
int Device_Count(int* count) {
  *count = 0;
  return cudaGetDeviceCount(count);
}

// The name of device 0 and its number of multiprocessors, as text of at most `size` bytes,
// terminated.
int Device_Describe(char* text, int64_t size) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) return error;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::snprintf(text, size, "%s, %d multiprocessors, sm_%d%d, driver for CUDA %d.%d",
                properties.name, properties.multiProcessorCount, properties.major, properties.minor,
                driver / 1000, driver % 1000 / 10);
  return cudaSuccess;
}

// Bytes of device memory.
int Device_FreeMemory(int64_t* free) {
  size_t free_bytes = 0, total_bytes = 0;
  const cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
  *free = static_cast<int64_t>(free_bytes);
  return error;
}

int Device_Allocate(int64_t size, void** memory) { return cudaMalloc(memory, size); }

int Device_Free(void* memory) { return cudaFree(memory); }

// Copies and waits. Both addresses may be on the host or the device.
int Device_Copy(void* to, const void* from, int64_t size) {
  const cudaError_t error = cudaMemcpy(to, from, size, cudaMemcpyDefault);
  if (error != cudaSuccess) return error;
  // cudaMemcpy may return while the device still reads its staging buffer, and our stream does not
  // wait for the default one.
  return cudaStreamSynchronize(nullptr);
}

// Copies within the device, in order on `stream`.
int Device_CopyAsync(void* to, const void* from, int64_t size, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream);
}

int Device_FillAsync(void* memory, int byte, int64_t size, cudaStream_t stream) {
  return cudaMemsetAsync(memory, byte, size, stream);
}

// A stream that neither waits for the default stream nor delays it.
int Device_CreateStream(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

int Device_Synchronize(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

// Between the two calls, work put on `stream` is recorded and does not run, and work put on the
// default stream is an error. `nodes` is the number of recorded pieces of work.
int Device_BeginCapture(cudaStream_t stream) {
  return cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
}
int Device_EndCapture(cudaStream_t stream, int64_t* nodes) {
  *nodes = 0;
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaStreamEndCapture(stream, &graph);
  if (error != cudaSuccess) {
    cudaGetLastError();  // or the next launch would report it
    return error;
  }
  size_t count = 0;
  error = cudaGraphGetNodes(graph, nullptr, &count);
  *nodes = static_cast<int64_t>(count);
  cudaGraphDestroy(graph);
  return error;
}

int Device_CreateEvent(cudaEvent_t* event) { return cudaEventCreate(event); }

int Device_DestroyEvent(cudaEvent_t event) { return cudaEventDestroy(event); }

int Device_RecordEvent(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, stream);
}

// Waits for `last`.
int Device_Milliseconds(cudaEvent_t first, cudaEvent_t last, float* milliseconds) {
  const cudaError_t error = cudaEventSynchronize(last);
  if (error != cudaSuccess) return error;
  return cudaEventElapsedTime(milliseconds, first, last);
}

}  // extern "C"
#pragma GCC visibility pop
