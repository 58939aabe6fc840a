// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the device, on the host: with it and with the launchers of
// *_host.cc the checks of the GPU's kernels are themselves tested where there
// is no GPU.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpu/kernels_alone/device.h"

namespace {

using Clock = std::chrono::steady_clock;

// What the host claims to have: too little for tensors beyond 2^31 elements.
constexpr int64_t kMemory = int64_t{2} << 30;

}  // namespace

extern "C" {

const char* Device_ErrorString(int) { return "the host has no errors"; }

int Device_Count(int32_t* count) {
  *count = 1;
  return 0;
}

int Device_Describe(char* text, int64_t size) {
  std::snprintf(text, size, "the host, standing in for a GPU");
  return 0;
}

int Device_Memory(int64_t* free, int64_t* total) {
  *free = *total = kMemory;
  return 0;
}

int Device_Allocate(int64_t size, void** memory) {
  *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  return *memory == nullptr ? 2 : 0;  // cudaErrorMemoryAllocation
}

int Device_Free(void* memory) {
  std::free(memory);
  return 0;
}

int Device_Copy(void* to, const void* from, int64_t size) {
  std::memcpy(to, from, size);
  return 0;
}

int Device_CopyAsync(void* to, const void* from, int64_t size, void*) {
  return Device_Copy(to, from, size);
}

int Device_FillAsync(void* memory, int32_t value, int64_t size, void*) {
  std::memset(memory, value, size);
  return 0;
}

int Device_CreateStream(void** stream) {
  *stream = nullptr;
  return 0;
}

int Device_Synchronize(void*) { return 0; }

int Device_BeginCapture(void*) { return 0; }

int Device_EndCapture(void*, int64_t* nodes) {
  *nodes = 1;
  return 0;
}

int Device_CreateEvent(void** event) {
  *event = new Clock::time_point;
  return 0;
}

int Device_DestroyEvent(void* event) {
  delete static_cast<Clock::time_point*>(event);
  return 0;
}

int Device_RecordEvent(void* event, void*) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return 0;
}

int Device_Milliseconds(void* first, void* last, float* milliseconds) {
  *milliseconds = std::chrono::duration<float, std::milli>(
                      *static_cast<Clock::time_point*>(last) -
                      *static_cast<Clock::time_point*>(first))
                      .count();
  return 0;
}

}  // extern "C"
