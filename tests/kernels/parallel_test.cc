// Parallel runs each unit once and has run all of them when it returns, whatever the threads of the
// pool do meanwhile.

#include "tensorflow_ext/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/threadpool.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

using tensorflow::thread::ThreadPool;

bool RunsEachOnce(ThreadPool* pool, int64_t units, int64_t cost) {
  // Not atomic: two parts that share a unit are also a race.
  std::vector<int> times(units);
  Parallel(pool, units, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++times[i];
  });
  return std::count(times.begin(), times.end(), 1) == units;
}

void TestEachUnitRunsOnce() {
  for (const int threads : {1, 2, 3, 8, 64}) {
    ThreadPool pool(tensorflow::Env::Default(), "parallel_test", threads);
    for (const int64_t units : {0, 1, 2, 63, 64, 65, 1000, 4097, 100003}) {
      for (const int64_t cost : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{100}, int64_t{50000},
                                 std::numeric_limits<int64_t>::max()}) {
        Check(RunsEachOnce(&pool, units, cost), "each unit once");
      }
    }
  }
}

// Many threads call it at once with one pool.
void TestManyCallers() {
  ThreadPool pool(tensorflow::Env::Default(), "parallel_test", 4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int64_t call = 0; call < 500; ++call) {
        wrong += !RunsEachOnce(&pool, 1000 + call, 1000);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  Check(wrong == 0, "each unit once, for many callers");
}

// The threads start when all work is done and their closures are gone.
void TestLateThreads() {
  absl::Notification come;
  {
    ThreadPool pool(tensorflow::Env::Default(), "parallel_test", 4);
    for (int i = 0; i < 4; ++i) {
      pool.Schedule([&come] { come.WaitForNotification(); });
    }
    for (int call = 0; call < 100; ++call) {
      Check(RunsEachOnce(&pool, 1000, 1000), "each unit once, alone");
    }
    come.Notify();
  }  // the destructor waits for scheduled work
}

// A part that calls Parallel itself waits for no thread that waits for it.
void TestNestedCalls() {
  ThreadPool pool(tensorflow::Env::Default(), "parallel_test", 2);
  std::atomic<int64_t> units{0};
  Parallel(&pool, 64, 100000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Parallel(&pool, 64, 100000, [&](int64_t first, int64_t last) { units += last - first; });
    }
  });
  Check(units == 64 * 64, "nested calls");
}

// Little work stays on the calling thread; much work is shared by all threads.
void TestRunningThreads() {
  ThreadPool pool(tensorflow::Env::Default(), "parallel_test", 4);
  std::set<std::thread::id> threads;
  const auto add = [&](int64_t, int64_t) { threads.insert(std::this_thread::get_id()); };
  Parallel(&pool, 1000, 100, add);
  Check(threads == std::set<std::thread::id>{std::this_thread::get_id()}, "little work stays");

  // Each part waits for the others, so no thread can run two.
  std::atomic<int> here{0};
  Parallel(&pool, 4, 1000000, [&](int64_t begin, int64_t end) {
    here += static_cast<int>(end - begin);
    while (here < 4) std::this_thread::yield();
  });
  Check(here == 4, "four threads for four parts");
}

// Parts with consecutive elements share no cache line.
void TestPartsAreWholeLines() {
  ThreadPool pool(tensorflow::Env::Default(), "parallel_test", 3);
  std::atomic<int> parts{0}, broken{0};
  Parallel(&pool, 1000003, 1, [&](int64_t begin, int64_t) {
    ++parts;
    broken += begin % 64 != 0;
  });
  Check(parts > 3 && broken == 0, "parts begin with a line");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;
  TestEachUnitRunsOnce();
  TestManyCallers();
  TestLateThreads();
  TestNestedCalls();
  TestRunningThreads();
  TestPartsAreWholeLines();
  return ExitStatus();
}
