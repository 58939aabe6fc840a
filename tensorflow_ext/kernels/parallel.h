// Divides work among TensorFlow's threads.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/synchronization/notification.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/denormal.h"
#include "tensorflow/core/platform/threadpool.h"

// benchmarks/shards.cc defines this function to run all shards in order, without threads. It is
// undefined elsewhere.
extern "C" __attribute__((weak, visibility("default"))) void tensorflow_ext_run_shards(
    int64_t units, int64_t shard_size, void (*run)(void* fn, int64_t begin, int64_t end), void* fn);

namespace tensorflow_ext {

// The threads that kernels on the CPU share.
inline tensorflow::thread::ThreadPool* Workers(tensorflow::OpKernelContext* context) {
  return context->device()->tensorflow_cpu_worker_threads()->workers;
}

namespace internal {

// Work in shards of `shard_size` units; each thread takes the next one. It is on the heap because a
// thread may arrive long after all work is done.
template <typename Fn>
class SharedWork {
 public:
  // For the caller and at most `helpers` threads of the pool.
  SharedWork(tensorflow::thread::ThreadPool* pool, int helpers, int64_t units, int64_t shard_size,
             Fn& fn)
      : pool_(pool),
        units_(units),
        shard_size_(shard_size),
        fn_(fn),
        helpers_(helpers),
        left_(units) {
    next_.store(0);  // last: a thread that reads it may read the others
  }

  // Runs shards until none is left. A thread that joins calls two others, as long as there is work
  // for them.
  void Join() {
    for (int i = 0; i < 2; ++i) {
      const int64_t next = next_.load();
      if (next >= units_ || helpers_.fetch_sub(1) <= 0) break;
      users_.fetch_add(1);
      pool_->Schedule(Helper{this});
    }
    while (true) {
      const int64_t begin = next_.fetch_add(shard_size_);
      if (begin >= units_) break;
      const int64_t size = std::min(shard_size_, units_ - begin);
      fn_(begin, begin + size);
      if (left_.fetch_sub(size) == size) done_.Notify();
    }
  }

  // Returns when all shards have run. Other threads have one shard each left, often less than the
  // time to wake a thread, so this one sleeps only after a while.
  void Wait() {
    for (int i = 0; i < 100 && left_.load() > 0; ++i) std::this_thread::yield();
    // Read it again: ThreadSanitizer sees no order in the notification either.
    while (left_.load() > 0) done_.WaitForNotification();
  }

  void Release() {
    if (users_.fetch_sub(1) == 1) delete this;
  }

 private:
  // The closure that the pool gets. The pool's code, in which ThreadSanitizer sees no order, hands
  // it over; `next_` orders the data that it points to.
  struct Helper {
    __attribute__((no_sanitize_thread)) void operator()() const { Help(work); }

    static void Help(SharedWork* work) {
      work->Join();
      work->Release();
    }

    SharedWork* work;
  };

  ~SharedWork() = default;

  tensorflow::thread::ThreadPool* const pool_;
  const int64_t units_, shard_size_;
  Fn& fn_;  // owned by the caller, which waits while a shard is left
  std::atomic<int> helpers_, users_{1};
  std::atomic<int64_t> left_, next_;
  absl::Notification done_;
};

// In cycles. Less work is not worth a thread, or a shard.
constexpr int64_t kThreadCost = 100000, kShardCost = 40000;

inline int64_t CeilOfQuotient(int64_t x, int64_t y) { return (x + y - 1) / y; }

// A few shards for each thread, because threads do not all arrive at once. If units are contiguous,
// large shards are a multiple of the units in a cache line.
inline int64_t ShardSize(int64_t units, int64_t cost, int64_t threads) {
  constexpr int64_t kShards = 4, kLine = 64;
  const int64_t size =
      std::max(CeilOfQuotient(units, kShards * threads), CeilOfQuotient(kShardCost, cost));
  return size < 16 * kLine ? size : CeilOfQuotient(size, kLine) * kLine;
}

}  // namespace internal

// Calls fn(begin, end) for parts of [0, units), on this thread and, if the work is worth it, on
// threads of the pool. `cost` is the cost of a unit, in cycles.
//
// ThreadPool::ParallelFor has other threads do all the work while this one sleeps, and wakes two,
// one after the other, before the result is ready. Here this thread starts at once and does not
// wait for threads that come late.
template <typename Fn>
void Parallel(tensorflow::thread::ThreadPool* pool, int64_t units, int64_t cost, Fn&& fn) {
  if (units <= 0) return;
  cost = std::max<int64_t>(cost, 1);
  // A double, because the product may overflow the integers.
  const double worth =
      static_cast<double>(units) * static_cast<double>(cost) / internal::kThreadCost;
  const int threads = static_cast<int>(std::min<double>(worth, std::max(1, pool->NumThreads())));
  if (threads <= 1) return fn(int64_t{0}, units);

  using Function = std::remove_reference_t<Fn>;
  const int64_t shard_size = internal::ShardSize(units, cost, threads);
  if (tensorflow_ext_run_shards != nullptr) {
    return tensorflow_ext_run_shards(
        units, shard_size,
        [](void* function, int64_t begin, int64_t end) {
          (*static_cast<Function*>(function))(begin, end);
        },
        const_cast<std::remove_const_t<Function>*>(&fn));
  }
  // Flush like TensorFlow's threads, so results do not depend on the thread.
  const tensorflow::port::ScopedFlushDenormal flush;
  auto* work = new internal::SharedWork<Function>(pool, threads - 1, units, shard_size, fn);
  work->Join();
  work->Wait();
  work->Release();
}
template <typename Fn>
void Parallel(tensorflow::OpKernelContext* context, int64_t units, int64_t cost, Fn&& fn) {
  Parallel(Workers(context), units, cost, std::forward<Fn>(fn));
}

// The smallest index that any thread reports, so an error that names it does not depend on the
// number of threads.
class FirstIndex {
 public:
  void Report(int64_t index) {
    int64_t first = first_.load();
    while (index < first && !first_.compare_exchange_weak(first, index)) {
    }
  }
  bool found() const { return first_ != INT64_MAX; }
  int64_t index() const { return first_; }

 private:
  std::atomic<int64_t> first_{INT64_MAX};
};

}  // namespace tensorflow_ext
