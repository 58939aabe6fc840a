// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/gradient_nodes.h"

#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;

std::string GradientNodes::UniqueName(const std::string& name) const {
  return scope_.GetUniqueNameForOp(
      absl::StrCat(forward_.node()->name(), "_grad/", name));
}

absl::StatusOr<Node*> GradientNodes::Add(NodeBuilder& builder,
                                         const std::string& device) {
  builder.Device(forward_.node()->requested_device());
  scope_.UpdateBuilder(&builder);
  if (!device.empty()) builder.Device(device);
  Node* node = nullptr;
  TF_RETURN_IF_ERROR(builder.Finalize(scope_.graph(), &node));
  added_.push_back(node);
  TF_RETURN_IF_ERROR(scope_.DoShapeInference(node));
  return node;
}

absl::StatusOr<Output> GradientNodes::SetApart(const Output& tensor) {
  NodeBuilder builder = New("gradient", "Identity");
  builder.Input(tensor.node(), tensor.index());
  TF_ASSIGN_OR_RETURN(Node * identity, Add(builder));
  return Output(identity, 0);
}

void GradientNodes::Undo() {
  for (auto node = added_.rbegin(); node != added_.rend(); ++node) {
    scope_.graph()->RemoveNode(*node);
  }
  added_.clear();
}

absl::Status GradientNodes::Explain(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("While adding the gradient of node '",
                   forward_.node()->name(), "' of op ",
                   forward_.node()->type_string(), ": ", status.message()));
}

}  // namespace tensorflow_ext
