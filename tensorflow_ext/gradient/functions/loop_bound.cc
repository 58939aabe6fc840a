#include "tensorflow_ext/gradient/functions/loop_bound.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using tensorflow::DT_INT32;
using tensorflow::Edge;
using tensorflow::FunctionDef;
using tensorflow::Node;
using tensorflow::NodeDef;
using tensorflow::Tensor;

namespace {

// The argument or node that a function's value comes from, skipping identities.
struct Origin {
  int argument = -1;
  const NodeDef* node = nullptr;
};

class Origins {
 public:
  explicit Origins(const FunctionDef& function) : function_(function) {
    for (const NodeDef& node : function.node_def()) nodes_[node.name()] = &node;
    const auto& arguments = function.signature().input_arg();
    for (int i = 0; i < arguments.size(); ++i) {
      arguments_[arguments[i].name()] = i;
    }
  }

  Origin Of(std::string value) const {
    while (true) {
      const auto argument = arguments_.find(value);
      if (argument != arguments_.end()) return {argument->second, nullptr};
      const auto node = nodes_.find(value.substr(0, value.find(':')));
      if (node == nodes_.end()) return {};
      if (node->second->op() != "Identity") return {-1, node->second};
      value = node->second->input(0);
    }
  }

  Origin OfResult(int i) const {
    return Of(function_.ret().at(function_.signature().output_arg(i).name()));
  }

 private:
  const FunctionDef& function_;
  absl::flat_hash_map<std::string, const NodeDef*> nodes_;
  absl::flat_hash_map<std::string, int> arguments_;
};

// The value of an int32 constant, a scalar.
std::optional<int64_t> Constant(const NodeDef* node) {
  Tensor value;
  if (node == nullptr || node->op() != "Const" ||
      !tensorflow::GetNodeAttr(*node, "value", &value).ok() || value.dtype() != DT_INT32 ||
      value.dims() != 0) {
    return std::nullopt;
  }
  return value.scalar<int32_t>()();
}

// True if variable `i` starts at 0 or above and grows by 1 or more.
bool IsCounter(const Node& loop, const Origins& body, int i) {
  const Edge* edge = nullptr;
  if (!loop.input_edge(i, &edge).ok()) return false;
  if (Constant(&edge->src()->def()).value_or(-1) < 0) return false;
  const NodeDef* sum = body.OfResult(i).node;
  if (sum == nullptr || (sum->op() != "AddV2" && sum->op() != "Add")) {
    return false;
  }
  const Origin x = body.Of(sum->input(0)), y = body.Of(sum->input(1));
  return (x.argument == i && Constant(y.node).value_or(0) > 0) ||
         (y.argument == i && Constant(x.node).value_or(0) > 0);
}

}  // namespace

bool ReturnsUnchanged(const FunctionDef& function, int i) {
  return Origins(function).OfResult(i).argument == i;
}

std::optional<LoopBound> FindLoopBound(const Node& loop, const FunctionDef& cond,
                                       const FunctionDef& body) {
  const Origins in_cond(cond), in_body(body);
  std::vector<Origin> all_true = {in_cond.OfResult(0)};
  while (!all_true.empty()) {
    const NodeDef* node = all_true.back().node;
    all_true.pop_back();
    if (node == nullptr) continue;
    if (node->op() == "LogicalAnd") {
      all_true.push_back(in_cond.Of(node->input(0)));
      all_true.push_back(in_cond.Of(node->input(1)));
    }
    if (node->op() != "Less") continue;
    const int counter = in_cond.Of(node->input(0)).argument;
    if (counter < 0 || !IsCounter(loop, in_body, counter)) continue;
    const Origin limit = in_cond.Of(node->input(1));
    if (const auto constant = Constant(limit.node)) {
      return LoopBound{*constant, -1};
    }
    if (limit.argument >= 0 && ReturnsUnchanged(body, limit.argument)) {
      return LoopBound{-1, limit.argument};
    }
  }
  return std::nullopt;
}

}  // namespace tensorflow_ext
