#include "tensorflow_ext/gradient/expand/run_time_checks.h"

#include <atomic>

#include "tensorflow_ext/base/environment.h"

namespace tensorflow_ext {
namespace {

std::atomic<bool>& Switch() {
  static std::atomic<bool> checks = IsOnInEnvironment("TFEXT_CHECK_GRADIENTS");
  return checks;
}

}  // namespace

bool ChecksAtRunTime() { return Switch().load(std::memory_order_relaxed); }

bool SetChecksAtRunTime(bool checks) { return Switch().exchange(checks); }

}  // namespace tensorflow_ext
