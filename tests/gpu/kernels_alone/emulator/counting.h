// SPDX-License-Identifier: Apache-2.0
//
// What the kernels ask of global memory, counted on the emulator, as plain C;
// computed_bounds.py calls it.

#ifndef TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_EMULATOR_COUNTING_H_
#define TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_EMULATOR_COUNTING_H_

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

struct EmulatorTraffic {
  uint64_t requests;  // of a warp: an access of up to 32 threads at once
  uint64_t sectors;   // of 32 bytes, that these touch
  uint64_t bytes;     // that the threads ask for
};

struct EmulatorLaunch {
  uint64_t blocks, blocks_run;
  uint64_t threads;            // of a block
  EmulatorTraffic traffic[3];  // read, written, added to
  // Return addresses in the functions that were entered first; the kernel is
  // one of them.
  uint64_t function_count;
  uint64_t functions[16];
};

// Counts from now on, and runs at most so many blocks of each launch, spread
// evenly over the grid.
void Emulator_StartCounting(int64_t most_blocks);

// The launches since, until counting starts again; returns how many.
int64_t Emulator_StopCounting(const EmulatorLaunch** launches);

// The address that the library is loaded at.
const void* Emulator_Origin();

}  // extern "C"
#pragma GCC visibility pop

#endif  // TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_EMULATOR_COUNTING_H_
