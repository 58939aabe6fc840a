// SPDX-License-Identifier: Apache-2.0
//
// Work shared out over TensorFlow's threads.

#ifndef TENSORFLOW_EXT_KERNELS_PARALLEL_H_
#define TENSORFLOW_EXT_KERNELS_PARALLEL_H_

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/threadpool.h"
#include "tensorflow_ext/compatibility.h"

namespace tensorflow_ext {

// The threads that kernels on the CPU share.
inline tensorflow::thread::ThreadPool* Workers(
    tensorflow::OpKernelContext* context) {
  return context->device()->tensorflow_cpu_worker_threads()->workers;
}

namespace internal {

// TensorFlow's threads synchronise in code that ThreadSanitizer does not see.
// These say to it what they do: a fork before the parts, a join after them.
class ForkAndJoin {
 public:
#if TENSORFLOW_EXT_THREAD_SANITIZER  // tests/sanitizers
  void Fork() { forked_.store(1, std::memory_order_release); }
  void BeginPart() { forked_.load(std::memory_order_acquire); }
  void EndPart() { parts_.fetch_add(1, std::memory_order_release); }
  void Join() { parts_.load(std::memory_order_acquire); }

 private:
  std::atomic<int> forked_{0}, parts_{0};
#else
  void Fork() {}
  void BeginPart() {}
  void EndPart() {}
  void Join() {}
#endif
};

// What ParallelFor calls.
template <typename Fn>
struct Parts {
  // Not sanitized: it reads the pointers before the part begins.
  __attribute__((no_sanitize_thread)) void operator()(int64_t begin,
                                                      int64_t end) const {
    Run(fn, order, begin, end);
  }

  static void Run(Fn& fn, ForkAndJoin& order, int64_t begin, int64_t end) {
    order.BeginPart();
    fn(begin, end);
    order.EndPart();
  }

  Fn& fn;
  ForkAndJoin& order;
};

}  // namespace internal

// Calls fn(begin, end) for parts of [0, units), side by side. `cost` is that of
// one unit, in cycles; little work stays on this thread.
template <typename Fn>
void Parallel(tensorflow::OpKernelContext* context, int64_t units, int64_t cost,
              Fn&& fn) {
  if (units <= 0) return;
  internal::ForkAndJoin order;
  order.Fork();
  compatibility::ParallelFor(
      Workers(context), units, cost < 1 ? 1 : cost,
      internal::Parts<std::remove_reference_t<Fn>>{fn, order});
  order.Join();
}

// The smallest of the indices that threads report: an error that names it does
// not depend on their number.
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

#endif  // TENSORFLOW_EXT_KERNELS_PARALLEL_H_
