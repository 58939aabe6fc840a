#include "tensorflow_ext/train/variable.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensorflow_ext::train {

absl::StatusOr<Variable> ReadVariable(const tensorflow::OutputTensor& handle) {
  const tensorflow::Node& node = *handle.node;
  Variable variable{&node};
  if (node.type_string() != "VarHandleOp") {
    return absl::InvalidArgumentError(
        absl::StrCat("variables: expected the handles of variables, VarHandleOp nodes, got '",
                     node.name(), "' of type ", node.type_string()));
  }
  tensorflow::PartialTensorShape shape;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "dtype", &variable.type));
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "shape", &shape));
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "shared_name", &variable.name));
  if (variable.name.empty()) variable.name = node.name();
  if (!shape.AsTensorShape(&variable.shape)) {
    return absl::InvalidArgumentError(absl::StrCat("variables: '", node.name(), "' has the shape ",
                                                   shape.DebugString(),
                                                   "; expected a known shape"));
  }
  return variable;
}

}  // namespace tensorflow_ext::train
