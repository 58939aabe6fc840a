// SPDX-License-Identifier: Apache-2.0
//
// What a program without CUDA of its own needs of a device, as plain C:
// device.py calls it. Functions return a cudaError_t as an int, 0 for success.
// Streams and events are a cudaStream_t and a cudaEvent_t.

#ifndef TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_DEVICE_H_
#define TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_DEVICE_H_

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

const char* Device_ErrorString(int error);

// The number of devices: 0 without a driver, which the error then says.
int Device_Count(int32_t* count);

// The name of device 0 and its number of multiprocessors, for people; at most
// `size` bytes, terminated.
int Device_Describe(char* text, int64_t size);

// Bytes of device memory.
int Device_Memory(int64_t* free, int64_t* total);

int Device_Allocate(int64_t size, void** memory);
int Device_Free(void* memory);

// Waits until it is done. Both addresses may be on the host or the device.
int Device_Copy(void* to, const void* from, int64_t size);

// Device to device, in order on `stream`; `Fill` sets every byte.
int Device_CopyAsync(void* to, const void* from, int64_t size, void* stream);
int Device_FillAsync(void* memory, int32_t value, int64_t size, void* stream);

// A stream that neither waits for the default stream nor holds it up.
int Device_CreateStream(void** stream);
int Device_Synchronize(void* stream);

// Between the two, work put on `stream` is recorded and not run, and work put
// on the default stream is an error. `nodes`: how many pieces were recorded.
int Device_BeginCapture(void* stream);
int Device_EndCapture(void* stream, int64_t* nodes);

int Device_CreateEvent(void** event);
int Device_DestroyEvent(void* event);
int Device_RecordEvent(void* event, void* stream);
// Waits for `last`.
int Device_Milliseconds(void* first, void* last, float* milliseconds);

}  // extern "C"
#pragma GCC visibility pop

#endif  // TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_DEVICE_H_
