#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"

namespace tensorflow_ext {

// Zero of a floating or complex type.
tensorflow::Tensor ZeroScalar(tensorflow::DataType type);

// The nodes that the gradient of one op adds to a client's graph.
//
// They are named SCOPE/FORWARD_grad/NAME, unique under the scope. They take the scope's device,
// control dependencies and XLA cluster like the nodes of any C++ gradient, and the device of
// `forward` if the scope names none.
class GradientNodes {
 public:
  // Both must outlive this object.
  GradientNodes(const tensorflow::Scope& scope, const tensorflow::Operation& forward)
      : scope_(scope), forward_(forward), first_id_(scope.graph()->num_node_ids()) {}

  // Starts a node. `Op` is the op's name or its OpDef.
  template <typename Op>
  tensorflow::NodeBuilder New(const std::string& name, Op op) const {
    return tensorflow::NodeBuilder(UniqueName(name), op);
  }

  // Adds a node, on `device` if that is not empty.
  absl::StatusOr<tensorflow::Node*> Add(tensorflow::NodeBuilder& builder,
                                        const std::string& device = "");

  // Adds an identity of `tensor`. TensorFlow's AddSymbolicGradients gives wrong second-order
  // gradients if one of the tensors to differentiate leads to another on two paths, or if its node
  // has other outputs that lead there. So a gradient that other nodes use too gets its own node.
  absl::StatusOr<tensorflow::Output> WrapInIdentity(const tensorflow::Output& tensor);

  // The output of a constant with this value; adds the constant if it is new.
  absl::StatusOr<tensorflow::Output> Constant(const std::string& name,
                                              const tensorflow::Tensor& value);

  // Adds zeros of the shape of `tensor`.
  absl::StatusOr<tensorflow::Output> ZerosLike(const tensorflow::Output& tensor);

  // Adds zeros of a gradient's type, of the shape of the variable behind `handle`.
  absl::StatusOr<tensorflow::Output> ZerosLikeVariable(const tensorflow::Output& handle,
                                                       tensorflow::DataType type);

  // True if this object added `node`.
  bool Added(const tensorflow::Node* node) const { return node->id() >= first_id_; }

  // Removes the nodes that lead to none of `results` and have no effect.
  void RemoveUnused(const std::vector<tensorflow::Output>& results);

  // Ends the gradient, which succeeded or failed with `status`. A failure removes the nodes from
  // the graph and prefixes the message with the forward node and its op.
  absl::Status Finish(const absl::Status& status);

 private:
  std::string UniqueName(const std::string& name) const;

  const tensorflow::Scope& scope_;
  const tensorflow::Operation& forward_;
  const int first_id_;
  std::vector<tensorflow::Node*> added_;
  // Keyed by the bytes of type, shape and value.
  absl::flat_hash_map<std::string, tensorflow::Node*> constants_;
};

}  // namespace tensorflow_ext
