// The work of threads on a machine with many cores, simulated on one with few. This library, loaded
// before TensorFlow, has
//
// - the function that kernels/parallel.h calls, if present, instead of sharing
//   work out: it runs the shards one after the other and records their times;
// - a ThreadPool::NumThreads that replaces TensorFlow's and returns kThreads;
// - an allocator that replaces TensorFlow's, tracks all memory in use and fills
//   new memory, so that the cache lines that each shard wrote are known after
//   it.
//
// benchmarks/shards.py loads the library and reads its results.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/allocator_registry.h"
#include "tensorflow/core/platform/threadpool.h"

namespace {

using Clock = std::chrono::steady_clock;
using Shard = std::function<void(int64_t, int64_t)>;

constexpr int kThreads = 64;
constexpr size_t kLine = 64;  // bytes of a cache line

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A part of the work that threads share; the layout matches shards.py.
struct Region {
  double seconds;  // of all its shards
  double longest;  // of one shard
  int64_t shards;
  int64_t lines;         // cache lines that were written
  int64_t shared_lines;  // written by several shards
};

enum class Mode { kOff, kTimes, kLines };

struct Recording {
  std::atomic<Mode> mode{Mode::kOff};
  std::mutex mutex;  // guards the members below
  std::vector<Region> regions;
  std::map<char*, size_t> blocks;  // in use, with their sizes
};

// Never destroyed, because tensors may be freed after its destruction.
Recording& TheRecording() {
  static auto* const recording = new Recording;
  return *recording;
}

// The fill value of new memory, which no result has by chance.
constexpr int kFresh = 0x5B;

class KnownBlocks : public tensorflow::Allocator {
 public:
  std::string Name() override { return "known_blocks"; }

  void* AllocateRaw(size_t alignment, size_t size) override {
    const size_t aligned = alignment < kLine ? kLine : alignment;
    auto* const block =
        static_cast<char*>(std::aligned_alloc(aligned, (size + aligned) / aligned * aligned));
    if (block == nullptr) return nullptr;
    Recording& recording = TheRecording();
    const std::lock_guard<std::mutex> lock(recording.mutex);
    recording.blocks[block] = size;
    if (recording.mode == Mode::kLines) std::memset(block, kFresh, size);
    return block;
  }

  void DeallocateRaw(void* block) override {
    Recording& recording = TheRecording();
    {
      const std::lock_guard<std::mutex> lock(recording.mutex);
      recording.blocks.erase(static_cast<char*>(block));
    }
    std::free(block);
  }
};

class KnownBlocksFactory : public tensorflow::AllocatorFactory {
 public:
  tensorflow::Allocator* CreateAllocator() override { return new KnownBlocks; }
  // For TensorFlow's arenas, which a CPU has only on request.
  tensorflow::SubAllocator* CreateSubAllocator(int /*numa_node*/) override { return nullptr; }
};

// TensorFlow's own allocators have at most 200.
constexpr int kPriority = 1000;
const tsl::AllocatorFactoryRegistration registration(__FILE__, __LINE__, "KnownBlocks", kPriority,
                                                     new KnownBlocksFactory);

// The memory in use, and the shard that wrote each line.
class WrittenLines {
 public:
  WrittenLines() {
    Recording& recording = TheRecording();
    const std::lock_guard<std::mutex> lock(recording.mutex);
    for (const auto& [block, size] : recording.blocks) {
      blocks_.push_back({block, size, std::string(block, size),
                         std::vector<int>((size + kLine - 1) / kLine, kNobody)});
    }
  }

  // Assigns the lines that changed since the last call to this shard.
  void Find(int shard) {
    for (Block& block : blocks_) {
      if (std::memcmp(block.data, block.before.data(), block.size) == 0) continue;
      for (size_t line = 0; line < block.writers.size(); ++line) {
        const size_t begin = line * kLine;
        const size_t size = std::min(kLine, block.size - begin);
        char* const before = block.before.data() + begin;
        if (std::memcmp(block.data + begin, before, size) == 0) continue;
        std::memcpy(before, block.data + begin, size);
        int& writer = block.writers[line];
        writer = writer == kNobody || writer == shard ? shard : kSeveral;
      }
    }
  }

  void Count(Region& region) const {
    for (const Block& block : blocks_) {
      for (const int writer : block.writers) {
        region.lines += writer != kNobody;
        region.shared_lines += writer == kSeveral;
      }
    }
  }

 private:
  static constexpr int kNobody = -1, kSeveral = -2;

  struct Block {
    const char* data;
    size_t size;
    std::string before;
    std::vector<int> writers;
  };
  std::vector<Block> blocks_;
};

Region Record(int64_t units, int64_t shard_size, const Shard& shard, Mode mode) {
  Region region{};
  std::unique_ptr<WrittenLines> lines;
  if (mode == Mode::kLines) lines = std::make_unique<WrittenLines>();
  for (int64_t begin = 0; begin < units; begin += shard_size) {
    const Clock::time_point start = Clock::now();
    shard(begin, std::min(units, begin + shard_size));
    const double seconds = SecondsSince(start);
    region.seconds += seconds;
    region.longest = std::max(region.longest, seconds);
    if (lines) lines->Find(static_cast<int>(region.shards));
    ++region.shards;
  }
  if (lines) lines->Count(region);
  return region;
}

}  // namespace

// Begins a recording of the times (1) or the lines (2), or ends it (0).
extern "C" void tfe_record_shards(int mode) {
  Recording& recording = TheRecording();
  const std::lock_guard<std::mutex> lock(recording.mutex);
  recording.mode = static_cast<Mode>(mode);
  if (recording.mode != Mode::kOff) recording.regions.clear();
}

// Copies the regions of the last recording, as many as fit; returns their total number.
extern "C" int tfe_recorded_shards(Region* regions, int room) {
  Recording& recording = TheRecording();
  const std::lock_guard<std::mutex> lock(recording.mutex);
  const int count = static_cast<int>(recording.regions.size());
  std::copy_n(recording.regions.begin(), std::min(count, room), regions);
  return count;
}

// See kernels/parallel.h.
extern "C" void tensorflow_ext_run_shards(int64_t units, int64_t shard_size,
                                          void (*run)(void*, int64_t, int64_t), void* fn) {
  Recording& recording = TheRecording();
  const Mode mode = recording.mode;
  if (mode == Mode::kOff) return run(fn, 0, units);
  const Region region =
      Record(units, shard_size, [=](int64_t begin, int64_t end) { run(fn, begin, end); }, mode);
  const std::lock_guard<std::mutex> lock(recording.mutex);
  recording.regions.push_back(region);
}

// Replaces TensorFlow's function and matches its declaration.
int tsl::thread::ThreadPool::NumThreads() const { return kThreads; }
