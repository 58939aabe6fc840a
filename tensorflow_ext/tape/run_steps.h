// Runs the steps of a plan as eager ops.

#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow_ext/tape/eager_plan.h"

namespace tensorflow_ext {

// Runs one op. `outputs` receives `num_outputs` tensors.
absl::Status RunOp(tensorflow::EagerContext* context, const tensorflow::AttrBuilder& attrs,
                   const std::string& device, const std::vector<tensorflow::TensorHandle*>& inputs,
                   int num_outputs, std::vector<HandlePtr>* outputs);

// Runs an op with one output.
absl::StatusOr<HandlePtr> RunOp(
    tensorflow::EagerContext* context, const char* op, const std::string& device,
    const std::vector<tensorflow::TensorHandle*>& inputs,
    const std::vector<std::pair<const char*, tensorflow::AttrValue>>& attrs);

// Runs steps in order. `find` gives the tensors that are no outputs of steps. `needed`: true for
// the steps to run; empty means all. (*values)[i] receives the outputs of step i, and loses them
// after the last step that uses them.
absl::Status RunSteps(tensorflow::EagerContext* context, const std::vector<EagerStep>& steps,
                      const std::vector<bool>& needed,
                      const std::function<tensorflow::TensorHandle*(const EagerSource&)>& find,
                      std::vector<std::vector<HandlePtr>>* values);

}  // namespace tensorflow_ext
