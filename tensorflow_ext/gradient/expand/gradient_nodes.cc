#include "tensorflow_ext/gradient/expand/gradient_nodes.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;

tensorflow::Tensor ZeroScalar(tensorflow::DataType type) {
  tensorflow::Tensor zero(type, {});
  const absl::string_view bytes = zero.tensor_data();
  std::memset(const_cast<char*>(bytes.data()), 0, bytes.size());
  return zero;
}

std::string GradientNodes::UniqueName(const std::string& name) const {
  return scope_.GetUniqueNameForOp(absl::StrCat(forward_.node()->name(), "_grad/", name));
}

absl::StatusOr<Node*> GradientNodes::Add(NodeBuilder& builder, const std::string& device) {
  builder.Device(forward_.node()->requested_device());
  scope_.UpdateBuilder(&builder);
  if (!device.empty()) builder.Device(device);
  Node* node = nullptr;
  TF_RETURN_IF_ERROR(builder.Finalize(scope_.graph(), &node));
  added_.push_back(node);
  TF_RETURN_IF_ERROR(scope_.DoShapeInference(node));
  return node;
}

absl::StatusOr<Output> GradientNodes::WrapInIdentity(const Output& tensor) {
  NodeBuilder builder = New("gradient", "Identity");
  builder.Input(tensor.node(), tensor.index());
  TF_ASSIGN_OR_RETURN(Node * identity, Add(builder));
  return Output(identity, 0);
}

absl::StatusOr<Output> GradientNodes::Constant(const std::string& name,
                                               const tensorflow::Tensor& value) {
  tensorflow::TensorProto proto;
  value.AsProtoTensorContent(&proto);
  Node*& constant = constants_[proto.SerializeAsString()];
  if (constant == nullptr) {
    NodeBuilder builder = New(name, "Const");
    builder.Attr("dtype", value.dtype()).Attr("value", value);
    TF_ASSIGN_OR_RETURN(constant, Add(builder));
  }
  return Output(constant, 0);
}

absl::StatusOr<Output> GradientNodes::ZerosLike(const Output& tensor) {
  NodeBuilder builder = New("zeros", "ZerosLike");
  builder.Input(tensor.node(), tensor.index());
  TF_ASSIGN_OR_RETURN(Node * zeros, Add(builder));
  return Output(zeros, 0);
}

absl::StatusOr<Output> GradientNodes::ZerosLikeVariable(const Output& handle,
                                                        tensorflow::DataType type) {
  NodeBuilder shape = New("shape", "VariableShape");
  shape.Input(handle.node(), handle.index());
  TF_ASSIGN_OR_RETURN(Node * of_variable, Add(shape));
  TF_ASSIGN_OR_RETURN(const Output zero, Constant("zero", ZeroScalar(type)));
  NodeBuilder zeros = New("zeros", "Fill");
  zeros.Input(of_variable).Input(zero.node(), zero.index());
  TF_ASSIGN_OR_RETURN(Node * filled, Add(zeros));
  return Output(filled, 0);
}

void GradientNodes::RemoveUnused(const std::vector<Output>& results) {
  std::vector<Node*> used;
  for (auto it = added_.rbegin(); it != added_.rend(); ++it) {
    Node* const node = *it;
    const bool is_result =
        absl::c_any_of(results, [node](const Output& result) { return result.node() == node; });
    if (is_result || node->op_def().is_stateful() || !node->out_edges().empty()) {
      used.push_back(node);
    } else {
      scope_.graph()->RemoveNode(node);
    }
  }
  added_.assign(used.rbegin(), used.rend());
  constants_.clear();  // some may have been removed
}

absl::Status GradientNodes::Finish(const absl::Status& status) {
  if (status.ok()) return status;
  for (auto node = added_.rbegin(); node != added_.rend(); ++node) {
    scope_.graph()->RemoveNode(*node);
  }
  added_.clear();
  return absl::Status(
      status.code(),
      absl::StrCat("While adding the gradient of node '", forward_.node()->name(), "' of op ",
                   forward_.node()->type_string(), ": ", status.message()));
}

}  // namespace tensorflow_ext
