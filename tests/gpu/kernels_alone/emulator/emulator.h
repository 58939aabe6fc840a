// Runs the kernels' own sources on the host, one block after the other. A warp of the block runs
// until all its threads wait for the block or end, and a thread of the warp until it waits or ends;
// then the next one runs. So each memory access is complete and happens in a known order.
//
// Every second block runs its threads from the last to the first, and every second launch its
// blocks. A result that depends on an order then differs, and so does one that lacks a barrier.
//
// Other faults are errors of the launch, with a text:
//   - a barrier that not all threads of the block reach at the same place;
//   - an exchange in a warp without all of its 32 lanes.
//
// Shared memory is full of NaNs at the start of a block.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace emulator {

// CUDA's dim3.
struct Dimensions {
  unsigned int x, y, z;
  constexpr Dimensions(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x(x), y(y), z(z) {}
};

// Work put on a stream runs at once or, between cudaStreamBeginCapture and cudaStreamEndCapture, is
// counted and does not run.
struct Stream {
  bool is_capturing = false;
  size_t nodes = 0;
};

// True if work that is put on a stream must run now. If not, it has been counted, or the last error
// says why it cannot run.
bool RunsNow(Stream* stream);

// An error of a launch: a configuration that no device accepts, or `text`.
void ReportInvalidConfiguration();
void ReportLaunchFailure(const char* text);

using Kernel = void (*)(const void* arguments);

// The grid of a launch; kernel(arguments) is one thread of it. Returns true if it has run, to its
// end or to an error.
bool RunGrid(Dimensions grid, Dimensions block, size_t shared_bytes, Stream* stream, Kernel kernel,
             const void* arguments);

// One launch in the sources, or one instantiation of it if it is in a template. All of them are
// known at program start, even those that never run.
struct LaunchSite {
  explicit LaunchSite(const char* name);  // adds it to the list of all

  const char* const name;  // as the compiler writes it
  LaunchSite* const next;
  bool has_run = false;
};

template <typename Call>
const char* NameOf() {
  return __PRETTY_FUNCTION__;
}

template <typename Call>
inline LaunchSite launch_site(NameOf<Call>());

// `kernel<<<grid, block, shared_bytes, stream>>>(...)`, where `call` calls kernel(...).
template <typename Call>
void Launch(Dimensions grid, Dimensions block, size_t shared_bytes, Stream* stream,
            const Call& call) {
  launch_site<Call>.has_run |= RunGrid(
      grid, block, shared_bytes, stream,
      [](const void* arguments) { (*static_cast<const Call*>(arguments))(); }, &call);
}

// The number of blocks that have started.
extern uint64_t blocks_run;

// `__shared__ T` at one place of the source; a lambda's type identifies the place.
template <typename T, typename Site>
T& Shared(Site) {
  static T memory;
  static uint64_t block = 0;  // the last one that used it
  if (block != blocks_run) {
    std::memset(static_cast<void*>(&memory), 0xff, sizeof(T));
    block = blocks_run;
  }
  return memory;
}

struct Place {
  const char* file;
  int line;
};

void WaitForBlock(Place place);

// Passes `bits` to the warp and waits; then returns the bits of each lane.
const uint64_t* WaitForWarp(unsigned int mask, uint64_t bits, Place place);

// This thread's index in its warp.
int Lane();

// Passes this thread's value to the other lanes; returns that of lane `from`.
template <typename T>
T Exchange(unsigned int mask, T value, int from, Place place) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const uint64_t* lanes = WaitForWarp(mask, bits, place);
  std::memcpy(&value, lanes + from, sizeof(T));
  return value;
}

}  // namespace emulator

#pragma GCC visibility push(default)

// The names of the launches that have never run, by an index from 0; null after the last.
extern "C" const char* Emulator_NeverRun(int64_t number);

#pragma GCC visibility pop
