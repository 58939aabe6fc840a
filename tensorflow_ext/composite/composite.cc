#include "tensorflow_ext/composite/composite.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using tensorflow::OpRegistry;

namespace {

// Collects the parts from the nodes of the instantiated function.
class Builder {
 public:
  absl::Status Add(const NodeDef& node) {
    int index = 0;
    if (node.op() == "_Arg") {
      TF_RETURN_IF_ERROR(GetNodeAttr(node, "index", &index));
      sources_[node.name()] = {CompositeBody::kArgument, index};
      return absl::OkStatus();
    }
    std::vector<CompositeBody::Source> inputs;
    for (const std::string& input : node.input()) {
      const auto id = tensorflow::ParseTensorName(input);
      const auto found = sources_.find(std::string(id.node()));
      if (found == sources_.end()) {
        return absl::InternalError(
            absl::StrCat("part '", node.name(), "' is listed before its input '", input, "'"));
      }
      inputs.push_back({found->second.part, found->second.index + id.index()});
    }
    if (node.op() == "_Retval") {
      TF_RETURN_IF_ERROR(GetNodeAttr(node, "index", &index));
      if (body_.results.size() <= static_cast<size_t>(index)) {
        body_.results.resize(index + 1);
      }
      body_.results[index] = inputs[0];
      return absl::OkStatus();
    }
    return AddPart(node, std::move(inputs));
  }

  CompositeBody Finish() { return std::move(body_); }

 private:
  absl::Status AddPart(NodeDef node, std::vector<CompositeBody::Source> inputs) {
    const OpDef* op_def = nullptr;
    TF_RETURN_IF_ERROR(OpRegistry::Global()->LookUpOpDef(node.op(), &op_def));
    tensorflow::AddDefaultsToNodeDef(*op_def, &node);
    TF_RETURN_IF_ERROR(tensorflow::ValidateNodeDef(node, *op_def));
    CompositeBody::Part part;
    part.inputs = std::move(inputs);
    if (node.op() == "Const") {
      TF_RETURN_IF_ERROR(GetNodeAttr(node, "value", &part.value));
    }
    sources_[node.name()] = {static_cast<int>(body_.parts.size()), 0};
    TF_RETURN_IF_ERROR(tensorflow::NodeProperties::CreateFromNodeDef(
        std::move(node), OpRegistry::Global(), &part.node));
    body_.parts.push_back(std::move(part));
    return absl::OkStatus();
  }

  CompositeBody body_;
  // Output 0 of each node.
  std::unordered_map<std::string, CompositeBody::Source> sources_;
};

}  // namespace

absl::Status InComposite(const CompositeOp& op, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(op.name, ": ", status.message()));
}

absl::StatusOr<CompositeBody> InstantiateComposite(const CompositeOp& op, const AttrSlice& attrs) {
  tensorflow::FunctionDef function;
  absl::Status status = op.body(attrs, &function);
  if (!status.ok()) return InComposite(op, status);
  tensorflow::InstantiationResult instance;
  status = tensorflow::InstantiateFunction(
      function, attrs,
      [](const std::string& name, const OpDef** op_def) {
        return OpRegistry::Global()->LookUpOpDef(name, op_def);
      },
      &instance);
  Builder builder;
  for (const NodeDef& node : instance.nodes) {
    if (status.ok()) status = builder.Add(node);
  }
  if (!status.ok()) return InComposite(op, status);
  return builder.Finish();
}

}  // namespace tensorflow_ext
