// Compares the gradients that AddSymbolicGradients makes with difference quotients: a test for
// authors of gradients. For C++ clients; needs only TensorFlow.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensorflow_ext {

struct GradientCheckOptions {
  // The highest order: 2 also checks the gradient of the gradient, by x and by the upstream
  // gradients.
  int order = 2;
  // Tolerances; 0 uses those of the type: 1e-7 and 2e-12 for double, 3e-4 and 6e-6 for float, 0.03
  // and 0.006 for half.
  double relative_tolerance = 0;
  double absolute_tolerance = 0;
  // The first step, relative to an element above 1; 0 uses that of the type.
  double step = 0;
  // Tensors up to this size are checked at every element. For larger ones this many elements are
  // drawn, and all elements are moved at once in some directions.
  int elements = 32;
  int directions = 2;
  // The largest difference between two runs of the gradient.
  double nondeterminism = 0;
  // The indices of the x that must have a gradient. The others may have none (NoGradient()) if the
  // differences are 0.
  std::vector<int> required;
  // The seed of all random numbers.
  uint64_t seed = 1;
  // Nodes to run before anything else, such as initializers of variables.
  std::vector<std::string> initializers;
};

// The result of one check.
struct GradientFinding {
  enum class Outcome { kPassed, kFailed, kNote };
  int order = 1;
  std::string check;    // Such as "differences".
  std::string subject;  // The tensor.
  Outcome outcome = Outcome::kPassed;
  std::string message;
};

struct GradientReport {
  std::vector<GradientFinding> findings;
  // The type of the difference quotients: double if the graph can run in it.
  std::string type;

  bool passed() const;
  // Returns one line per finding.
  std::string ToString() const;
};

// Compares the gradients of `y` by `x`, at `x` = `x_values`, with central differences, for random
// upstream gradients; then the gradients of those, up to options.order.
//
// `x` and `y` are any tensors of the graph of `scope`, which does not change; `x` are fed. Those
// that are not floating or complex are fed but not checked. If the graph between them has a lower
// type, differences are taken in a copy whose nodes are double, if such a copy runs; otherwise in
// that type. The gradient of a complex tensor z is that of TensorFlow: dL/d(re z) + i dL/d(im z).
//
// Also checks the type and shape of each gradient, that two runs give the same bits, and that each
// of several y alone has the same gradient as with zero upstream gradients for the others. On a
// kink, where the one-sided differences disagree, a gradient between them is right. `report`, if
// not null, receives the findings.
//
// Errors: FailedPrecondition if a gradient is wrong, with the worst element and all findings;
// InvalidArgument if the arguments do not fit together; TensorFlow's error if an op has no gradient
// or the graph does not run.
absl::Status CheckGradient(const tensorflow::Scope& scope, const std::vector<tensorflow::Output>& x,
                           const std::vector<tensorflow::Tensor>& x_values,
                           const std::vector<tensorflow::Output>& y,
                           const GradientCheckOptions& options = {},
                           GradientReport* report = nullptr);

}  // namespace tensorflow_ext
