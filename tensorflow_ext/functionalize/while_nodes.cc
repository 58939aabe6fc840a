#include "tensorflow_ext/functionalize/while_nodes.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/fingerprint.h"

namespace tensorflow_ext {
namespace {

using tensorflow::AttrValue;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;

using NodeList = google::protobuf::RepeatedPtrField<NodeDef>;

// The counter and the maximum number of iterations.
constexpr int kAdded = 2;

void MoveLastToFront(int count, google::protobuf::RepeatedPtrField<OpDef::ArgDef>* arguments) {
  for (int k = 0; k < count; ++k) {
    for (int i = arguments->size() - 1; i > 0; --i) arguments->SwapElements(i, i - 1);
  }
}

// Arguments have new numbers.
template <typename Map>
void ShiftKeys(Map* by_argument) {
  Map shifted;
  for (const auto& [index, value] : *by_argument) shifted[index + kAdded] = value;
  by_argument->swap(shifted);
}

std::string Unique(std::string name, std::unordered_set<std::string>* names) {
  while (!names->insert(name).second) absl::StrAppend(&name, "_");
  return name;
}

void MakeInt(int value, NodeDef* node) {
  node->set_op("Const");
  (*node->mutable_attr())["dtype"].set_type(DT_INT32);
  tensorflow::Tensor(value).AsProtoTensorContent((*node->mutable_attr())["value"].mutable_tensor());
}

// Adds the counter and the maximum number of iterations to a condition or a body.
void AddArguments(bool is_body, FunctionDef* function) {
  OpDef* signature = function->mutable_signature();
  std::unordered_set<std::string> names;
  for (const auto& argument : signature->input_arg()) names.insert(argument.name());
  for (const NodeDef& node : function->node_def()) names.insert(node.name());
  std::vector<std::string> added;
  for (const char* name : {"loop_counter", "maximum_iterations"}) {
    auto* argument = signature->add_input_arg();
    added.push_back(Unique(name, &names));
    argument->set_name(added.back());
    argument->set_type(DT_INT32);
  }
  MoveLastToFront(kAdded, signature->mutable_input_arg());
  ShiftKeys(function->mutable_arg_attr());
  ShiftKeys(function->mutable_resource_arg_unique_id());
  if (!is_body) return;

  NodeDef* one = function->add_node_def();
  one->set_name(Unique("one", &names));
  MakeInt(1, one);
  NodeDef* next = function->add_node_def();
  next->set_name(Unique("next", &names));
  next->set_op("AddV2");
  next->add_input(added[0]);
  next->add_input(absl::StrCat(one->name(), ":output:0"));
  (*next->mutable_attr())["T"].set_type(DT_INT32);

  std::unordered_set<std::string> results;
  for (const auto& result : signature->output_arg()) results.insert(result.name());
  const std::string values[] = {absl::StrCat(next->name(), ":z:0"), added[1]};
  for (int k = 0; k < kAdded; ++k) {
    auto* result = signature->add_output_arg();
    result->set_name(Unique(absl::StrCat(added[k], "_out"), &results));
    result->set_type(DT_INT32);
    (*function->mutable_ret())[result->name()] = values[k];
  }
  MoveLastToFront(kAdded, signature->mutable_output_arg());
}

// Drops colocations with nodes that are gone: an import refuses them.
void DropColocations(NodeList* nodes) {
  std::unordered_set<std::string> names;
  for (const NodeDef& node : *nodes) names.insert(node.name());
  for (NodeDef& node : *nodes) {
    const auto found = node.mutable_attr()->find("_class");
    if (found == node.mutable_attr()->end()) continue;
    AttrValue kept;
    for (const std::string& group : found->second.list().s()) {
      if (!absl::StartsWith(group, "loc:@") || names.count(group.substr(5)) > 0) {
        kept.mutable_list()->add_s(group);
      }
    }
    if (kept.list().s().empty()) {
      node.mutable_attr()->erase("_class");
    } else {
      found->second = kept;
    }
  }
}

class LoopFinisher {
 public:
  LoopFinisher(const std::set<std::string>& old_functions,
               const std::map<std::string, int>& parallel_iterations, uint64_t salt,
               GraphDef* graph)
      : parallel_iterations_(parallel_iterations), graph_(graph), salt_(salt) {
    for (FunctionDef& function : *graph->mutable_library()->mutable_function()) {
      const std::string& name = function.signature().name();
      functions_[name] = &function;
      if (old_functions.count(name) > 0) {
        finished_[name] = name;
      } else {
        new_functions_.insert(&function);
      }
    }
  }

  void Run() {
    for (FunctionDef& function : *graph_->mutable_library()->mutable_function()) {
      if (new_functions_.count(&function) == 0) FinishNodes(&function, function.mutable_node_def());
    }
    FinishNodes(nullptr, graph_->mutable_node());
  }

 private:
  enum class Role { kCondition, kBody, kBranch };

  // Finishes the While and If nodes of a function, or of the main graph if `function` is null.
  void FinishNodes(FunctionDef* function, NodeList* nodes) {
    std::vector<NodeDef*> loops, branches;
    for (NodeDef& node : *nodes) {
      if (node.op() == "While" && IsNew(node, "body")) loops.push_back(&node);
      if (node.op() == "If" && IsNew(node, "then_branch")) branches.push_back(&node);
    }
    DropColocations(nodes);
    for (NodeDef* node : branches) FinishBranch(node);
    std::unordered_set<std::string> shifted;
    for (NodeDef* node : loops) shifted.insert(node->name());
    if (!shifted.empty()) ShiftOutputs(shifted, function, nodes);
    for (NodeDef* node : loops) FinishLoop(function != nullptr, node, nodes);
  }

  bool IsNew(const NodeDef& node, const char* attribute) const {
    const auto value = node.attr().find(attribute);
    if (value == node.attr().end()) return false;
    const auto found = functions_.find(value->second.func().name());
    return found != functions_.end() && new_functions_.count(found->second) > 0;
  }

  void FinishBranch(NodeDef* node) {
    bool stateful = false;
    for (const char* attribute : {"then_branch", "else_branch"}) {
      auto* called = (*node->mutable_attr())[attribute].mutable_func();
      called->set_name(FinishFunction(called->name(), Role::kBranch));
      stateful |= IsStateful(called->name());
    }
    if (!stateful) node->set_op("StatelessIf");
    (*node->mutable_attr())["_lower_using_switch_merge"].set_b(true);
  }

  void FinishLoop(bool in_function, NodeDef* node, NodeList* nodes) {
    auto& attributes = *node->mutable_attr();
    auto* condition = attributes["cond"].mutable_func();
    condition->set_name(FinishFunction(condition->name(), Role::kCondition));
    auto* body = attributes["body"].mutable_func();
    body->set_name(FinishFunction(body->name(), Role::kBody));
    if (!IsStateful(condition->name()) && !IsStateful(body->name())) node->set_op("StatelessWhile");

    std::unordered_set<std::string> names;
    for (const NodeDef& other : *nodes) names.insert(other.name());
    const std::vector<std::string> inputs(node->input().begin(), node->input().end());
    node->clear_input();
    for (const auto& [name, value] : {std::pair<const char*, int>("loop_counter", 0),
                                      std::pair<const char*, int>("maximum_iterations", -1)}) {
      NodeDef* constant = nodes->Add();
      constant->set_name(Unique(absl::StrCat(node->name(), "/", name), &names));
      constant->set_device(node->device());
      MakeInt(value, constant);
      node->add_input(absl::StrCat(constant->name(), in_function ? ":output:0" : ""));
    }
    for (const std::string& input : inputs) node->add_input(input);

    AttrValue types, shapes;
    types.mutable_list()->add_type(DT_INT32);
    types.mutable_list()->add_type(DT_INT32);
    for (const int type : attributes["T"].list().type()) {
      types.mutable_list()->add_type(static_cast<tensorflow::DataType>(type));
    }
    const int count = types.list().type_size();
    for (int i = 0; i < count; ++i) shapes.mutable_list()->add_shape()->set_unknown_rank(true);
    attributes["T"] = types;
    attributes["output_shapes"] = shapes;
    attributes["_num_original_outputs"].set_i(count);
    attributes["_lower_using_switch_merge"].set_b(true);
    const auto parallel = parallel_iterations_.find(node->name());
    if (parallel != parallel_iterations_.end()) {
      attributes["parallel_iterations"].set_i(parallel->second);
    }
  }

  // The outputs of these loops get other numbers.
  static void ShiftOutputs(const std::unordered_set<std::string>& loops, FunctionDef* function,
                           NodeList* nodes) {
    const auto shift = [&](std::string* tensor) {
      if (function == nullptr) {
        const tensorflow::TensorId id = tensorflow::ParseTensorName(*tensor);
        const std::string name(id.node());
        if (id.index() >= 0 && loops.count(name) > 0) {
          *tensor = absl::StrCat(name, ":", id.index() + kAdded);
        }
        return;
      }
      const std::vector<std::string> parts = absl::StrSplit(*tensor, ':');  // NODE:output:INDEX
      int index = 0;
      if (parts.size() == 3 && loops.count(parts[0]) > 0 && absl::SimpleAtoi(parts[2], &index)) {
        *tensor = absl::StrCat(parts[0], ":", parts[1], ":", index + kAdded);
      }
    };
    for (NodeDef& node : *nodes) {
      for (std::string& input : *node.mutable_input()) shift(&input);
    }
    if (function == nullptr) return;
    for (auto& result : *function->mutable_ret()) shift(&result.second);
  }

  // Finishes a new function, and returns its name from now on.
  std::string FinishFunction(const std::string& name, Role role) {
    const auto done = finished_.find(name);
    if (done != finished_.end()) return done->second;
    FunctionDef* function = functions_.at(name);
    FinishNodes(function, function->mutable_node_def());
    if (role != Role::kBranch) AddArguments(role == Role::kBody, function);
    OpDef* signature = function->mutable_signature();
    signature->clear_name();
    std::string content;
    tensorflow::SerializeToStringDeterministic(*function, &content);
    absl::StrAppend(&content, salt_, num_finished_++);
    const char* kind = role == Role::kCondition ? "while_cond"
                       : role == Role::kBody    ? "while_body"
                                                : "branch";
    signature->set_name(
        absl::StrCat("tfext_", kind, "_", absl::Hex(tensorflow::Fingerprint64(content))));
    functions_[signature->name()] = function;
    return finished_[name] = signature->name();
  }

  bool IsStateful(const std::string& function) {
    const auto known = stateful_.find(function);
    if (known != stateful_.end()) return known->second;
    stateful_[function] = true;  // if it calls itself
    const auto found = functions_.find(function);
    bool stateful = found == functions_.end();
    if (!stateful) {
      for (const NodeDef& node : found->second->node_def()) {
        const OpDef* op = nullptr;
        if (functions_.count(node.op()) > 0) {
          stateful |= IsStateful(node.op());
        } else {
          stateful |= !tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok() ||
                      op->is_stateful();
        }
      }
    }
    return stateful_[function] = stateful;
  }

  const std::map<std::string, int>& parallel_iterations_;
  GraphDef* graph_;
  // Two loops share no function, even if they have the same body: Python's gradients change the
  // functions of a loop, and name the result after them.
  const uint64_t salt_;
  int num_finished_ = 0;
  std::unordered_map<std::string, FunctionDef*> functions_;
  std::unordered_set<const FunctionDef*> new_functions_;
  std::unordered_map<std::string, std::string> finished_;
  std::unordered_map<std::string, bool> stateful_;
};

}  // namespace

void FinishLoops(const std::set<std::string>& old_functions,
                 const std::map<std::string, int>& parallel_iterations, uint64_t salt,
                 GraphDef* graph) {
  LoopFinisher(old_functions, parallel_iterations, salt, graph).Run();
}

}  // namespace tensorflow_ext
