// SPDX-License-Identifier: Apache-2.0
//
// Counts what the kernels ask of global memory, warp by warp. The sources are
// compiled with -fsanitize=thread, so that the compiler calls a function at
// every access; these functions stand here in the place of ThreadSanitizer's,
// and take down the accesses to memory of the device.
//
// A warp's threads run one after the other here: what lane 3 does for the n-th
// time at a place of the code is taken to be one request with what the other
// lanes do there for the n-th time. An address that a thread has read within
// its last few accesses is in a register and no access.

#include "tests/gpu/kernels_alone/emulator/counting.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tests/gpu/kernels_alone/emulator/emulator.h"

namespace {

constexpr int kWarpThreads = 32;
constexpr int kMostThreads = 1024;
constexpr int kHeld = 16;  // values read that a thread is taken to hold
constexpr uintptr_t kSector = 32;
constexpr uint64_t kMostFunctions = 16;

enum Kind { kRead, kWrite, kAdd };

struct Access {
  uintptr_t address;
  uint32_t size;
};

// One place of the code, reached for the n-th time by the threads of a warp.
using RequestKey = std::tuple<int, uintptr_t, uint64_t, Kind>;

// What a thread of the block has done so far.
struct ThreadLog {
  std::unordered_map<uintptr_t, uint64_t> times;  // it was at a place
  std::vector<Access> held;                       // the last ones read
};

class Counter final : public emulator::Watcher {
 public:
  void Start(uint64_t most_blocks) {
    most_blocks_ = most_blocks;
    launches_.clear();
    emulator::watcher = this;
  }
  void Stop() { emulator::watcher = nullptr; }
  const std::vector<EmulatorLaunch>& launches() const { return launches_; }

  void BeginLaunch(emulator::Dimensions grid,
                   emulator::Dimensions block) override {
    EmulatorLaunch launch = {};
    launch.blocks = uint64_t{grid.x} * grid.y * grid.z;
    launch.threads = uint64_t{block.x} * block.y * block.z;
    launches_.push_back(launch);
  }

  // Blocks spread evenly over the grid.
  bool BeginBlock(uint64_t number) override {
    const uint64_t blocks = launches_.back().blocks;
    const uint64_t step = (blocks + most_blocks_ - 1) / most_blocks_;
    if (number % step != step / 2) return false;
    for (ThreadLog& log : logs_) log = {};
    ++launches_.back().blocks_run;
    is_running_ = true;
    return true;
  }

  void EndBlock() override {
    is_running_ = false;
    std::vector<uintptr_t> sectors;
    for (const auto& [key, accesses] : requests_) {
      uint64_t bytes = 0;
      sectors.clear();
      for (const Access& access : accesses) {
        bytes += access.size;
        for (uintptr_t s = access.address / kSector;
             s <= (access.address + access.size - 1) / kSector; ++s) {
          sectors.push_back(s);
        }
      }
      std::sort(sectors.begin(), sectors.end());
      const auto last = std::unique(sectors.begin(), sectors.end());
      EmulatorTraffic& traffic = launches_.back().traffic[std::get<Kind>(key)];
      ++traffic.requests;
      traffic.sectors += static_cast<uint64_t>(last - sectors.begin());
      traffic.bytes += bytes;
    }
    requests_.clear();
  }

  void Add(const void* memory, size_t size, const void* place) override {
    Log(reinterpret_cast<uintptr_t>(place), memory, static_cast<uint32_t>(size),
        kAdd);
  }

  void Enter(uintptr_t function) {
    if (!is_running_) return;
    EmulatorLaunch& launch = launches_.back();
    if (launch.function_count < kMostFunctions) {
      launch.functions[launch.function_count++] = function;
    }
  }

  void Log(uintptr_t place, const void* memory, uint32_t size, Kind kind) {
    if (!is_running_) return;
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
    if (!emulator::IsDeviceMemory(memory)) return;
    const int thread = emulator::ThreadOfBlock();
    ThreadLog& log = logs_[thread];
    const uint64_t time = log.times[place]++;
    const auto same = [&](const Access& other) {
      return other.address < address + size &&
             address < other.address + other.size;
    };
    if (kind != kRead) {
      log.held.erase(std::remove_if(log.held.begin(), log.held.end(), same),
                     log.held.end());
    } else {
      const auto holds = [&](const Access& other) {
        return other.address <= address &&
               address + size <= other.address + other.size;
      };
      if (std::any_of(log.held.begin(), log.held.end(), holds)) return;
      if (log.held.size() == kHeld) log.held.erase(log.held.begin());
      log.held.push_back({address, size});
    }
    requests_[{thread / kWarpThreads, place, time, kind}].push_back(
        {address, size});
  }

 private:
  uint64_t most_blocks_ = 1;
  bool is_running_ = false;
  std::vector<EmulatorLaunch> launches_;
  ThreadLog logs_[kMostThreads];
  std::map<RequestKey, std::vector<Access>> requests_;
};

Counter counter;

uintptr_t Caller(void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

void Emulator_StartCounting(int64_t most_blocks) {
  counter.Start(static_cast<uint64_t>(most_blocks));
}

int64_t Emulator_StopCounting(const EmulatorLaunch** launches) {
  counter.Stop();
  *launches = counter.launches().data();
  return static_cast<int64_t>(counter.launches().size());
}

const void* Emulator_Origin() {
  extern char origin[] asm("__ehdr_start")
      __attribute__((visibility("hidden")));
  return origin;
}

// What -fsanitize=thread calls.
#define TFEXT_ACCESS(name, size, kind)                                    \
  extern "C" void name(void* memory) {                                    \
    counter.Log(Caller(__builtin_return_address(0)), memory, size, kind); \
  }
#define TFEXT_ACCESSES(size)                             \
  TFEXT_ACCESS(__tsan_read##size, size, kRead)           \
  TFEXT_ACCESS(__tsan_write##size, size, kWrite)         \
  TFEXT_ACCESS(__tsan_unaligned_read##size, size, kRead) \
  TFEXT_ACCESS(__tsan_unaligned_write##size, size, kWrite)

#pragma GCC visibility push(hidden)
TFEXT_ACCESSES(1)
TFEXT_ACCESSES(2)
TFEXT_ACCESSES(4)
TFEXT_ACCESSES(8)
TFEXT_ACCESSES(16)

extern "C" {

void __tsan_read_range(void* memory, size_t size) {
  counter.Log(Caller(__builtin_return_address(0)), memory,
              static_cast<uint32_t>(size), kRead);
}
void __tsan_write_range(void* memory, size_t size) {
  counter.Log(Caller(__builtin_return_address(0)), memory,
              static_cast<uint32_t>(size), kWrite);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {
  counter.Enter(Caller(__builtin_return_address(0)));
}
void __tsan_func_exit() {}

}  // extern "C"
#pragma GCC visibility pop
