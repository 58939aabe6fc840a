#include "tensorflow_ext/train/new_nodes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorflow_ext::train {

using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

std::string NodeName(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._-/", c)) c = '_';
  }
  const bool can_begin = !name.empty() && (absl::ascii_isalnum(name[0]) || name[0] == '.');
  return can_begin ? name : absl::StrCat("v", name);
}

NewNodes::NewNodes(const Graph& graph) {
  for (const tensorflow::Node* node : graph.nodes()) taken_.insert(node->name());
}

std::string NewNodes::NewScope(const std::string& wanted) const {
  std::string scope = NodeName(wanted);
  for (int i = 1;; ++i) {
    const auto inside = taken_.lower_bound(scope + "/");
    const bool has_nodes = inside != taken_.end() && absl::StartsWith(*inside, scope + "/");
    if (!has_nodes && taken_.count(scope) == 0) return scope;
    scope = absl::StrCat(NodeName(wanted), "_", i);
  }
}

NodeDef* NewNodes::Add(const std::string& wanted, const char* op,
                       const std::vector<std::string>& inputs) {
  std::string name = NodeName(wanted);
  for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(NodeName(wanted), "_", i);
  NodeDef* const node = nodes_.add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

std::string NewNodes::Constant(const std::string& wanted, const tensorflow::Tensor& value) {
  NodeDef* const node = Add(wanted, "Const");
  Set(node, "dtype", value.dtype());
  value.AsProtoTensorContent((*node->mutable_attr())["value"].mutable_tensor());
  return node->name();
}

std::string NewNodes::Variable(const std::string& wanted, tensorflow::DataType type,
                               const tensorflow::TensorShape& shape, const std::string& device) {
  NodeDef* const node = Add(wanted, "VarHandleOp");
  node->set_device(device);
  Set(node, "dtype", type);
  Set(node, "shape", shape);
  Set(node, "shared_name", node->name());
  return node->name();
}

std::string NewNodes::Group(const std::string& wanted, const std::vector<std::string>& nodes) {
  NodeDef* const group = Add(wanted, "NoOp");
  for (const std::string& node : nodes) group->add_input(absl::StrCat("^", node));
  return group->name();
}

absl::StatusOr<std::string> NewNodes::Call(const std::string& wanted, const std::string& function,
                                           const Arguments& arguments,
                                           const std::vector<std::string>& control_inputs,
                                           Body* body) {
  TF_ASSIGN_OR_RETURN(const auto made, body->Finish(function));
  NodeDef* const call = Add(wanted, "StatefulPartitionedCall");
  tensorflow::DataTypeVector types;
  for (const auto& [name, type] : arguments) {
    call->add_input(name);
    types.push_back(type);
  }
  for (const std::string& node : control_inputs) call->add_input(absl::StrCat("^", node));
  Set(call, "Tin", types);
  Set(call, "Tout", tensorflow::DataTypeVector());
  Set(call, "f", made);
  return call->name();
}

GraphDef NewNodes::Take(const Graph& library) {
  *nodes_.mutable_library() = library.flib_def().ToProto();
  return std::move(nodes_);
}

}  // namespace tensorflow_ext::train
