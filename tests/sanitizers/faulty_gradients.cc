// SPDX-License-Identifier: Apache-2.0
//
// A gradient with a fault that ThreadSanitizer must find.

#include <cstdint>
#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Output;

int64_t times_differentiated = 0;

// dx = dy, and a counter that threads change without a lock.
absl::Status CountingGradient(const tensorflow::Scope&, const tensorflow::Operation&,
                              const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  ++times_differentiated;
  *gradients = upstream;
  return absl::OkStatus();
}

// TensorFlow has no gradient of this op.
[[maybe_unused]] const bool registered = RegisterClientGradient("DeepCopy", CountingGradient);

}  // namespace
}  // namespace tensorflow_ext
