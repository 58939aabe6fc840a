// Checks that a gradient has the shape of its input.

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/static_shapes.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

// Checks the gradients of one node of a client's graph.
class ResultCheck {
 public:
  // All must outlive this object. `upstream`: as passed to Expand.
  ResultCheck(const Plan& plan, const tensorflow::Operation& forward,
              const std::vector<tensorflow::Output>& upstream, const StaticShapes& shapes)
      : plan_(plan), forward_(forward), upstream_(upstream), shapes_(shapes) {}

  // True if `gradient` may have the shape of input `i`, or of the variable if the input is its
  // handle. `made_by` is the gradient's source in the definition. Errors: kInvalidArgument, an
  // upstream gradient does not have the shape of its output; kFailedPrecondition, the definition is
  // wrong.
  absl::Status Check(int i, const tensorflow::Output& gradient, const Source& made_by) const;

  // True if the shapes can be compared only at run time.
  bool IsUncertain(int i, const tensorflow::Output& gradient) const;

  // Adds the node that compares them then, and returns the gradient behind it.
  absl::StatusOr<tensorflow::Output> AddCheck(int i, const tensorflow::Output& gradient,
                                              const Source& made_by, GradientNodes* nodes) const;

 private:
  // The expected shape of the gradient of input `i`.
  tensorflow::PartialTensorShape Expected(int i, const tensorflow::Output& gradient) const;
  // "input 0 ('x')".
  std::string NameOfInput(int i) const;
  std::string Explain(const Source& made_by) const;

  const Plan& plan_;
  const tensorflow::Operation& forward_;
  const std::vector<tensorflow::Output>& upstream_;
  const StaticShapes& shapes_;
};

}  // namespace tensorflow_ext
