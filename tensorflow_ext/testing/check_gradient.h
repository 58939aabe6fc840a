// SPDX-License-Identifier: Apache-2.0
//
// Compares the gradients that AddSymbolicGradients makes with difference
// quotients: a test for those who write gradients. For C++ clients; needs
// TensorFlow alone.

#ifndef TENSORFLOW_EXT_TESTING_CHECK_GRADIENT_H_
#define TENSORFLOW_EXT_TESTING_CHECK_GRADIENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensorflow_ext {

struct GradientCheckOptions {
  // Up to which order: 2 checks the gradient of the gradient too, by x and by
  // the upstream gradients.
  int order = 2;
  // How far apart numbers may be; 0 for what suits the type: 1e-7 and 2e-12 for
  // double, 3e-4 and 6e-6 for float, 0.03 and 0.006 for half.
  double relative_tolerance = 0;
  double absolute_tolerance = 0;
  // The step to begin with, relative to an element above 1; 0 for what suits
  // the type.
  double step = 0;
  // Tensors up to this size are checked at every element; of larger ones as
  // many are drawn, and all elements are moved at once in some directions.
  int elements = 32;
  int directions = 2;
  // How far two runs of the gradient may be apart.
  double nondeterminism = 0;
  // Which of x must have a gradient, by index. The others may have none
  // (NoGradient()) where the differences are 0.
  std::vector<int> required;
  // Of all random numbers.
  uint64_t seed = 1;
  // Nodes to run before anything else, as those that initialise variables.
  std::vector<std::string> initializers;
};

// One thing that was checked.
struct GradientFinding {
  enum class Outcome { kPassed, kFailed, kNote };
  int order = 1;
  std::string check;    // As "differences".
  std::string subject;  // Of which tensor.
  Outcome outcome = Outcome::kPassed;
  std::string message;
};

struct GradientReport {
  std::vector<GradientFinding> findings;
  // The type of the difference quotients: double, where the graph works in it.
  std::string type;

  bool passed() const;
  // A line for each finding.
  std::string ToString() const;
};

// Compares the gradients of `y` by `x`, at `x` = `x_values`, with central
// differences, for random upstream gradients; then those of the gradients, up
// to options.order.
//
// `x` and `y` are any tensors of the graph of `scope`, which stays as it is;
// `x` are fed. Those that are not floating or complex are fed and left alone.
// Where the graph between them has a lower type, differences are taken in a
// copy whose nodes are double, if such a copy runs; else in that type. The
// gradient of a complex tensor z is that of TensorFlow: dL/d(re z) + i dL/d(im
// z).
//
// Checked besides: type and shape of each gradient, that two runs give the same
// bits, that each of several y alone has the gradient that it has when the
// others' upstream gradients are 0. On a kink, where the differences from both
// sides are others, a gradient between them is right. `report`, if not null,
// receives what was found.
//
// Errors: FailedPrecondition if a gradient is wrong, with the worst element and
// all findings; InvalidArgument if the arguments do not fit together;
// what TensorFlow says if an op has no gradient or the graph does not run.
absl::Status CheckGradient(const tensorflow::Scope& scope,
                           const std::vector<tensorflow::Output>& x,
                           const std::vector<tensorflow::Tensor>& x_values,
                           const std::vector<tensorflow::Output>& y,
                           const GradientCheckOptions& options = {},
                           GradientReport* report = nullptr);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_TESTING_CHECK_GRADIENT_H_
