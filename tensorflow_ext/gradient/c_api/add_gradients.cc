// Checks graphs before AddSymbolicGradients, whose assumptions do not hold for all graphs of
// clients.

#include "tensorflow_ext/gradient/c_api/add_gradients.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"
#include "tensorflow_ext/gradient/graph/loops.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::OutputTensor;

namespace {

using Tensors = std::vector<OutputTensor>;

std::vector<const Node*> Nodes(const Tensors& tensors) {
  std::vector<const Node*> nodes;
  for (const OutputTensor& tensor : tensors) nodes.push_back(tensor.node);
  return nodes;
}

// The type of the variable behind a handle, or DT_INVALID.
DataType TypeOfVariable(TF_Graph* graph, const OutputTensor& handle) {
  if (const auto* type = handle.node->attrs().Find("dtype");
      type != nullptr && handle.node->type_string() == "VarHandleOp") {
    return type->type();
  }
  auto* context = graph->refiner.GetContext(handle.node);
  if (context == nullptr) return tensorflow::DT_INVALID;
  const auto* variables = context->output_handle_shapes_and_types(handle.index);
  return variables == nullptr || variables->empty() ? tensorflow::DT_INVALID
                                                    : variables->front().dtype;
}

// Adds nodes to a TF_Graph as TF_FinishOperation does. The caller holds its lock.
class Adder {
 public:
  explicit Adder(TF_Graph* graph) : graph_(graph) {}

  // Adds a node of op `op` with input `input`, called `name`, or `name` with a number if a node has
  // that name.
  absl::StatusOr<OutputTensor> Add(const std::string& name, const char* op,
                                   const OutputTensor& input,
                                   DataType dtype = tensorflow::DT_INVALID) {
    std::string unique = name;
    for (int k = 1; graph_->name_map.count(unique) > 0; ++k) {
      unique = absl::StrCat(name, "_", k);
    }
    NodeBuilder builder(unique, op);
    builder.Input(input.node, input.index).Device(input.node->requested_device());
    if (dtype != tensorflow::DT_INVALID) builder.Attr("dtype", dtype);
    Node* node = nullptr;
    TF_RETURN_IF_ERROR(builder.Finalize(&graph_->graph, &node));
    graph_->name_map[unique] = node;
    TF_RETURN_IF_ERROR(graph_->refiner.AddNode(node));
    return OutputTensor(node, 0);
  }

  absl::StatusOr<OutputTensor> ZerosLike(OutputTensor x) {
    const std::string name = absl::StrCat(x.node->name(), "_gradient/zeros");
    if (x.node->output_type(x.index) == tensorflow::DT_RESOURCE) {
      const DataType type = TypeOfVariable(graph_, x);
      if (type == tensorflow::DT_INVALID) {
        return absl::InvalidArgumentError(
            absl::StrCat("x: zeros are requested for '", x.node->name(), ":", x.index,
                         "', the handle of a variable whose type is unknown; pass the "
                         "handle that VarHandleOp makes, or TFEXT_UNCONNECTED_NONE"));
      }
      TF_ASSIGN_OR_RETURN(
          x, Add(absl::StrCat(x.node->name(), "_gradient/read"), "ReadVariableOp", x, type));
    }
    return Add(name, "ZerosLike", x);
  }

 private:
  TF_Graph* const graph_;
};

}  // namespace

TF_Output ToTfOutput(const OutputTensor& tensor) {
  // A TF_Operation is its node: see c_api_internal.h.
  return {reinterpret_cast<TF_Operation*>(tensor.node), tensor.index};
}

absl::StatusOr<Tensors> AddGradients(TF_Graph* graph, const char* prefix, const Tensors& ys,
                                     const Tensors& xs, const Tensors& upstream, bool zeros) {
  Tensors found;
  std::vector<TF_Output> y, dx;
  std::optional<ConnectedTensors> connected;
  {
    tensorflow::mutex_lock lock(graph->mu);
    const NodeSet leading = LeadingTo(Nodes(ys), /*follow_controls=*/false);
    connected.emplace(xs, leading);
    if (!connected->tensors().empty()) {
      TF_RETURN_IF_ERROR(CheckLoops(connected->nodes(), leading, Nodes(ys)));
      TF_RETURN_IF_ERROR(CheckNamedGradients(Between(connected->nodes(), leading)));
      for (const OutputTensor& tensor : ys) {
        // Separate nodes guarantee that no y leads to another.
        OutputTensor end = tensor;
        if (ys.size() > 1) {
          TF_ASSIGN_OR_RETURN(
              end, Adder(graph).Add(absl::StrCat(tensor.node->name(), "_gradient/y"), "Identity",
                                    tensor));
        }
        y.push_back(ToTfOutput(end));
      }
      for (const OutputTensor& tensor : upstream) dx.push_back(ToTfOutput(tensor));
    }
  }
  if (!connected->tensors().empty()) {
    std::vector<TF_Output> x, dy(connected->tensors().size());
    for (const OutputTensor& tensor : connected->tensors()) x.push_back(ToTfOutput(tensor));
    TF_Status* status = TF_NewStatus();
    TF_AddGradientsWithPrefix(graph, prefix, y.data(), y.size(), x.data(), x.size(),
                              dx.empty() ? nullptr : dx.data(), status, dy.data());
    const absl::Status added = tensorflow::StatusFromTF_Status(status);
    TF_DeleteStatus(status);
    TF_RETURN_IF_ERROR(added);
    for (const TF_Output& gradient : dy) {
      found.emplace_back(reinterpret_cast<Node*>(gradient.oper), gradient.index);
    }
  }
  Tensors results = connected->OfEach(found, OutputTensor(nullptr, 0));
  if (zeros) {
    tensorflow::mutex_lock lock(graph->mu);
    for (size_t i = 0; i < xs.size(); ++i) {
      if (results[i].node != nullptr) continue;
      TF_ASSIGN_OR_RETURN(results[i], Adder(graph).ZerosLike(xs[i]));
    }
  }
  return results;
}

}  // namespace tensorflow_ext
