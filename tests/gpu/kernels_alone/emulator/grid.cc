// A thread of a block is a fiber: it has its own stack, to which its host thread switches. At every
// barrier a block switches as often as it has threads. swapcontext would make a system call each
// time, for the signal mask. longjmp does not support another stack, and AddressSanitizer then
// drops its state of this one. So the switch is explicit: it saves the registers that a call
// preserves and changes the stack pointer.

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

// Saves the registers that a function must preserve, by the System V ABI for x86-64, on this stack,
// whose top is stored in *from, and restores them from the stack with top `to`.
extern "C" void Emulator_SwitchStack(void** from, void* to);
asm(R"(
  .text
  .globl Emulator_SwitchStack
  .hidden Emulator_SwitchStack
  .type Emulator_SwitchStack, @function
Emulator_SwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size Emulator_SwitchStack, .-Emulator_SwitchStack
)");

namespace emulator {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kMostThreads = 1024;  // in a block
constexpr int kMostWarps = kMostThreads / kWarpThreads;
constexpr unsigned int kAllLanes = 0xffffffff;

enum class State { kReady, kWaitsForBlock, kWaitsForWarp, kEnded };

struct Thread {
  Dimensions index;
  State state;
  Place place;        // where it waits
  unsigned int mask;  // the lanes that it waits for
  uint64_t bits;      // the value that it passes to them
  char* stack;        // null before the first use
  void* top;          // top of the used part; null before it has begun
};

Thread threads[kMostThreads];
int thread_count;
Thread* current;
void* scheduler;  // its stack, like Thread::top
Kernel kernel;
const void* arguments;
uint64_t lanes[kMostWarps][kWarpThreads];  // values that a warp has exchanged
uint64_t launches = 0;
LaunchSite* launch_sites = nullptr;

constexpr size_t kStackSize = 1 << 17;
constexpr size_t kGuardSize = 1 << 12;  // below the stack; faults on access

// Suspends the current thread until it is resumed.
void Suspend() { Emulator_SwitchStack(&current->top, scheduler); }

// The body of a fiber: runs one thread of a block, then of the next block.
void RunThreads() {
  for (;;) {
    kernel(arguments);
    current->state = State::kEnded;
    Suspend();
  }
}

// A stack on which Emulator_SwitchStack returns to RunThreads.
void Begin(Thread* thread) {
  if (thread->stack == nullptr) {
    void* memory = mmap(nullptr, kGuardSize + kStackSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardSize, PROT_NONE) != 0) {
      std::perror("no memory for the stacks of emulated threads");
      std::abort();
    }
    thread->stack = static_cast<char*>(memory) + kGuardSize;
  }
  void** top = reinterpret_cast<void**>(thread->stack + kStackSize);
  *--top = nullptr;  // a function expects 8 bytes beyond a multiple of 16
  *--top = reinterpret_cast<void*>(RunThreads);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  thread->top = top;
}

// Runs a thread until it waits or has ended.
void Resume(Thread* thread) {
  if (thread->top == nullptr) Begin(thread);
  current = thread;
  threadIdx = thread->index;
  Emulator_SwitchStack(&scheduler, thread->top);
}

__attribute__((format(printf, 1, 2))) void Fail(const char* format, ...) {
  char text[400], described[480];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  std::snprintf(described, sizeof(described), "block (%u, %u, %u): %s", blockIdx.x, blockIdx.y,
                blockIdx.z, text);
  ReportLaunchFailure(described);
}

bool IsSame(Place a, Place b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

// True if threads [begin, end) all wait for the same; reports it if not.
bool WaitTogether(int begin, int end, State state, const char* what) {
  int first = begin;
  while (threads[first].state != state) ++first;
  const Place place = threads[first].place;
  for (int t = begin; t < end; ++t) {
    const Thread& other = threads[t];
    if (other.state == state && IsSame(other.place, place)) continue;
    if (other.state == State::kEnded) {
      Fail("thread %d waits at %s:%d for its %s, thread %d has ended", first, place.file,
           place.line, what, t);
    } else {
      Fail("thread %d waits at %s:%d for its %s, thread %d waits at %s:%d", first, place.file,
           place.line, what, t, other.place.file, other.place.line);
    }
    return false;
  }
  return true;
}

// The lanes of the warp that begins with this thread exchange their values.
bool ReleaseWarp(int begin) {
  const int end = begin + kWarpThreads;
  if (end > thread_count) {
    Fail("the lanes of a warp exchange values, which has %d threads", thread_count - begin);
    return false;
  }
  if (!WaitTogether(begin, end, State::kWaitsForWarp, "warp")) return false;
  for (int t = begin; t < end; ++t) {
    if (threads[t].mask != kAllLanes) {
      Fail("a part of a warp exchanges values at %s:%d: the mask is %#x", threads[t].place.file,
           threads[t].place.line, threads[t].mask);
      return false;
    }
    lanes[begin / kWarpThreads][t - begin] = threads[t].bits;
    threads[t].state = State::kReady;
  }
  return true;
}

// Runs a warp until its threads wait for the block or have ended, as far ahead of the other warps
// as possible: if a barrier is missing, those miss the data that it has overwritten too early.
bool RunWarp(int begin, bool backwards) {
  const int size = std::min(thread_count - begin, kWarpThreads);
  for (;;) {
    bool exchanges = false;
    for (int k = 0; k < size; ++k) {
      Thread* thread = threads + begin + (backwards ? size - 1 - k : k);
      if (thread->state == State::kReady) Resume(thread);
      exchanges |= thread->state == State::kWaitsForWarp;
    }
    if (!exchanges) return true;
    if (!ReleaseWarp(begin)) return false;
  }
}

bool RunBlock(bool backwards) {
  const int warps = (thread_count + kWarpThreads - 1) / kWarpThreads;
  const auto has_ended = [](const Thread& thread) { return thread.state == State::kEnded; };
  for (;;) {
    for (int k = 0; k < warps; ++k) {
      const int warp = backwards ? warps - 1 - k : k;
      if (!RunWarp(warp * kWarpThreads, backwards)) return false;
    }
    if (std::all_of(threads, threads + thread_count, has_ended)) return true;
    if (!WaitTogether(0, thread_count, State::kWaitsForBlock, "block")) {
      return false;
    }
    for (int t = 0; t < thread_count; ++t) threads[t].state = State::kReady;
  }
}

// Abandons the threads that have not ended.
void Abandon() {
  for (int t = 0; t < thread_count; ++t) {
    if (threads[t].state == State::kEnded) continue;
    threads[t].top = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(threads[t].stack, kStackSize);
#endif
  }
}

// The limits of all devices: CUDA C++ Programming Guide, "Compute Capabilities".
bool IsLegal(Dimensions grid, Dimensions block) {
  const auto is_within = [](unsigned int size, unsigned int limit) {
    return size > 0 && size <= limit;
  };
  return is_within(grid.x, 0x7fffffff) && is_within(grid.y, 0xffff) && is_within(grid.z, 0xffff) &&
         is_within(block.x, kMostThreads) && is_within(block.y, kMostThreads) &&
         is_within(block.z, 64) && uint64_t{block.x} * block.y * block.z <= kMostThreads;
}

}  // namespace

uint64_t blocks_run = 0;

LaunchSite::LaunchSite(const char* name) : name(name), next(launch_sites) { launch_sites = this; }

bool RunGrid(Dimensions grid, Dimensions block, size_t shared_bytes, Stream* stream,
             Kernel new_kernel, const void* new_arguments) {
  if (!IsLegal(grid, block) || shared_bytes > 0) {  // no kernel has any
    ReportInvalidConfiguration();
    return false;
  }
  if (!RunsNow(stream)) return false;
  gridDim = grid;
  blockDim = block;
  thread_count = static_cast<int>(block.x * block.y * block.z);
  kernel = new_kernel;
  arguments = new_arguments;
  for (int t = 0; t < thread_count; ++t) {
    const unsigned int i = static_cast<unsigned int>(t);
    threads[t].index = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
  }
  const bool backwards = ++launches % 2 == 0;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  for (uint64_t k = 0; k < blocks; ++k) {
    const uint64_t b = backwards ? blocks - 1 - k : k;
    blockIdx = {static_cast<unsigned int>(b % grid.x),
                static_cast<unsigned int>(b / grid.x % grid.y),
                static_cast<unsigned int>(b / grid.x / grid.y)};
    for (int t = 0; t < thread_count; ++t) threads[t].state = State::kReady;
    ++blocks_run;
    if (!RunBlock(b % 2 == 1)) {
      Abandon();
      return true;
    }
  }
  return true;
}

void WaitForBlock(Place place) {
  current->place = place;
  current->state = State::kWaitsForBlock;
  Suspend();
}

const uint64_t* WaitForWarp(unsigned int mask, uint64_t bits, Place place) {
  current->place = place;
  current->mask = mask;
  current->bits = bits;
  current->state = State::kWaitsForWarp;
  Suspend();
  return lanes[(current - threads) / kWarpThreads];
}

int Lane() { return static_cast<int>(current - threads) % kWarpThreads; }

}  // namespace emulator

const char* Emulator_NeverRun(int64_t number) {
  for (auto* site = emulator::launch_sites; site != nullptr; site = site->next) {
    if (!site->has_run && number-- == 0) return site->name;
  }
  return nullptr;
}
