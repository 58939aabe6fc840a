// Makes the plan of an eager op's gradient in a graph of its own.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/tape/eager_plan.h"

namespace tensorflow_ext {

// The plan may rely on this about an input.
struct EagerInput {
  tensorflow::DataType dtype;
  tensorflow::PartialTensorShape shape;
  std::optional<tensorflow::Tensor> value;
  // The type and shape of a sparse matrix in a variant, or of a variable that functions take. Shape
  // functions and gradients ask for them.
  tensorflow::DataType held_type = tensorflow::DT_INVALID;
  tensorflow::PartialTensorShape held_shape;
};

// `forward`: the op with all attributes, as a node without inputs. `has_functions`: it calls
// functions of the context. Errors: those of FindEagerPlan.
absl::StatusOr<std::shared_ptr<const EagerPlan>> MakeEagerPlan(
    tensorflow::EagerContext* context, const tensorflow::NodeDef& forward,
    const std::vector<EagerInput>& inputs, bool has_functions, const std::vector<bool>& wanted,
    int orders);

}  // namespace tensorflow_ext
