// Gradients with faults that sanitizers must find. All are dx = dy.

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Output;

int64_t times_differentiated = 0;
int64_t* volatile last_number = nullptr;
volatile int64_t sum_of_numbers = 0;

// A counter that threads change without a lock.
absl::Status CountingGradient(const tensorflow::Scope&, const tensorflow::Operation&,
                              const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  // So slowly that another thread is here, too.
  for (int i = 0; i < 100; ++i) {
    ++times_differentiated;
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
  *gradients = upstream;
  return absl::OkStatus();
}

// Memory that nothing points to after the next call.
absl::Status LeakingGradient(const tensorflow::Scope&, const tensorflow::Operation&,
                             const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  last_number = new int64_t(0);
  *gradients = upstream;
  return absl::OkStatus();
}

absl::Status BeyondGradient(const tensorflow::Scope&, const tensorflow::Operation&,
                            const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  const std::vector<int64_t> numbers(3);
  sum_of_numbers = numbers.data()[numbers.size()];
  *gradients = upstream;
  return absl::OkStatus();
}

// TensorFlow has no gradients of these ops.
[[maybe_unused]] const bool registered[] = {
    RegisterClientGradient("DeepCopy", CountingGradient),
    RegisterClientGradient("Copy", LeakingGradient),
    RegisterClientGradient("CopyHost", BeyondGradient),
};

}  // namespace
}  // namespace tensorflow_ext
