// The names follow TensorFlow's saver (_trace_gradient_functions in saved_model/save.py). For each
// gradient it saves a function, the row (name, function) in the library's registered_gradients,
// and in the object graph what the function captured: tensors of other functions, variables and
// constants.

#include "tensorflow_ext/saved_model/model_gradients.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/protobuf/saved_object_graph.pb.h"
#include "tensorflow/core/protobuf/struct.pb.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"
#include "tensorflow_ext/saved_model/read_meta_graph.h"

namespace tensorflow_ext {
namespace {

using tensorflow::FunctionDef;
using tensorflow::MetaGraphDef;
using tensorflow::NodeDef;
using tensorflow::SavedObject;
using tensorflow::StructuredValue;

constexpr char kMainGraph[] = "";

constexpr char kNotSaved[] =
    "The model does not have this gradient. TensorFlow does not save the gradients of functions "
    "that only a gradient calls, so some second orders are missing. If this is a first order, the "
    "model was saved with SaveOptions(experimental_custom_gradients=False), or the gradient was "
    "registered in Python after it was saved: save it again with that option on, which is the "
    "default";

// A tensor that a gradient captured: a tensor of a function, or a saved object.
struct Captured {
  std::string function, tensor;  // "node:index"
  int object = -1;
};

// A node that calls a function.
struct Call {
  std::string caller;
  const NodeDef* node;
  int first_argument;  // the input that is the function's first argument
};

// True for the values of an output signature that stand for a missing gradient.
bool IsNone(const StructuredValue& value) {
  return value.kind_case() == StructuredValue::kNoneValue;
}

// Appends the leaves of a structure, in the order of tf.nest.
void Flatten(const StructuredValue& value, std::vector<const StructuredValue*>* leaves) {
  switch (value.kind_case()) {
    case StructuredValue::kListValue:
      for (const auto& item : value.list_value().values()) Flatten(item, leaves);
      break;
    case StructuredValue::kTupleValue:
      for (const auto& item : value.tuple_value().values()) Flatten(item, leaves);
      break;
    case StructuredValue::kNamedTupleValue:
      for (const auto& item : value.named_tuple_value().values()) Flatten(item.value(), leaves);
      break;
    case StructuredValue::kDictValue: {
      std::set<std::string> keys;
      for (const auto& [key, item] : value.dict_value().fields()) keys.insert(key);
      for (const auto& key : keys) Flatten(value.dict_value().fields().at(key), leaves);
      break;
    }
    default:
      leaves->push_back(&value);
  }
}

class Finder {
 public:
  explicit Finder(const MetaGraphDef& meta_graph)
      : graph_(meta_graph.graph_def()),
        objects_(meta_graph.object_graph_def()),
        library_(tensorflow::OpRegistry::Global(), graph_.library()) {
    for (const auto& row : graph_.library().registered_gradients()) {
      functions_[row.registered_op_type()] = row.gradient_func();
    }
    for (const NodeDef& node : graph_.node()) {
      main_nodes_[node.name()] = &node;
      AddCalls(kMainGraph, node);
    }
    for (const FunctionDef& function : graph_.library().function()) {
      for (const NodeDef& node : function.node_def()) AddCalls(function.signature().name(), node);
    }
  }

  absl::StatusOr<ModelGradients> Find() {
    ModelGradients found;
    TF_RETURN_IF_ERROR(FindIn(kMainGraph, graph_.node(), &found));
    for (const FunctionDef& function : graph_.library().function()) {
      sources_.clear();
      const std::string& name = function.signature().name();
      TF_RETURN_IF_ERROR(FindIn(name, function.node_def(), &found));
      const auto gradients = found.gradients.find(name);
      if (gradients == found.gradients.end()) continue;
      *found.records.add_function() =
          MakeRecord(name, {gradients->second.begin(), gradients->second.end()}, sources_);
    }
    return found;
  }

 private:
  template <typename Nodes>
  absl::Status FindIn(const std::string& function, const Nodes& nodes, ModelGradients* found) {
    for (const NodeDef& node : nodes) {
      const std::string op_type = NamedGradient(tensorflow::AttrSlice(node));
      if (op_type.empty()) continue;
      ModelGradients::Gradient gradient;
      gradient.node = node.name();
      gradient.op_type = op_type;
      const absl::StatusOr<std::string> problem = Fill(function, node, &gradient);
      TF_RETURN_IF_ERROR(problem.status());
      gradient.problem = *problem;
      found->gradients[function].push_back(std::move(gradient));
    }
    return absl::OkStatus();
  }

  void AddCalls(const std::string& caller, const NodeDef& node) {
    // If and Case take a condition first.
    const bool chooses = absl::StrContains(node.op(), "If") || absl::StrContains(node.op(), "Case");
    if (library_.Contains(node.op())) calls_[node.op()].push_back({caller, &node, 0});
    for (const auto& [name, value] : node.attr()) {
      if (value.has_func()) calls_[value.func().name()].push_back({caller, &node, chooses});
      for (const auto& function : value.list().func()) {
        calls_[function.name()].push_back({caller, &node, chooses});
      }
    }
  }

  // Finds the gradient of a node; returns the reason why there is none, or "".
  absl::StatusOr<std::string> Fill(const std::string& function, const NodeDef& node,
                                   ModelGradients::Gradient* gradient) {
    const auto row = functions_.find(gradient->op_type);
    const FunctionDef* definition = row == functions_.end() ? nullptr : Definition(row->second);
    if (definition == nullptr) return kNotSaved;
    if (function == kMainGraph) {
      return absl::StrCat("Its gradient '", row->second,
                          "' is a function, but the node is in no function. Export the model with "
                          "tf.saved_model.save or tf.keras.Model.export");
    }
    gradient->function = row->second;
    const auto concrete = objects_.concrete_functions().find(row->second);
    if (concrete == objects_.concrete_functions().end()) {
      return absl::StrCat("The model does not say what its gradient '", row->second,
                          "' captured. Export it again with a newer TensorFlow");
    }
    TF_ASSIGN_OR_RETURN(
        const std::string problem,
        FillResults(node, *definition, concrete->second.output_signature(), &gradient->results));
    if (!problem.empty()) return problem;
    for (const int object : concrete->second.bound_inputs()) {
      Captured captured;
      if (object < 0 || object >= objects_.nodes_size()) {
        return absl::StrCat("Its gradient '", row->second, "' captured the object ", object,
                            ", which the model does not have");
      }
      const SavedObject& saved = objects_.nodes(object);
      if (saved.has_captured_tensor()) {
        captured.function = saved.captured_tensor().concrete_function();
        captured.tensor = saved.captured_tensor().name();
      } else {
        captured.object = object;
      }
      std::set<std::string> seen;
      TF_ASSIGN_OR_RETURN(std::string tensor, Resolve(function, captured, &seen));
      if (tensor.empty()) tensor = AddSource(captured);
      if (tensor.empty()) {
        return absl::StrCat("Its gradient '", row->second, "' captured ", Describe(captured),
                            ", which its function does not receive. Pass it to the function that "
                            "has the custom gradient as an argument");
      }
      gradient->captures.push_back(tensor);
    }
    return std::string();
  }

  // Finds the inputs of a node that the results of its gradient belong to.
  absl::StatusOr<std::string> FillResults(const NodeDef& node, const FunctionDef& gradient,
                                          const StructuredValue& signature,
                                          std::vector<int>* results) const {
    std::vector<const StructuredValue*> leaves;
    Flatten(signature, &leaves);
    const int inputs = NumDataInputs(node);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (IsNone(*leaves[i])) continue;
      if (leaves[i]->kind_case() == StructuredValue::kTypeSpecValue) {
        return absl::StrCat("A result of its gradient '", gradient.signature().name(),
                            "' has the type ", leaves[i]->type_spec_value().type_spec_class_name(),
                            "; return a dense tensor (tf.convert_to_tensor) and save the model "
                            "again");
      }
      results->push_back(i);
    }
    if (static_cast<int>(leaves.size()) != inputs ||
        static_cast<int>(results->size()) != gradient.signature().output_arg_size()) {
      return absl::StrCat("Its gradient '", gradient.signature().name(), "' has ",
                          gradient.signature().output_arg_size(), " results in ", leaves.size(),
                          " places, but the node has ", inputs,
                          " inputs. Return one gradient for each input and save the model again");
    }
    return std::string();
  }

  // The name of a captured tensor in a function, "node:index"; "" if it does not have it.
  absl::StatusOr<std::string> Resolve(const std::string& function, const Captured& captured,
                                      std::set<std::string>* seen) {
    if (captured.object < 0 && function == captured.function) return captured.tensor;
    if (captured.object >= 0) {
      std::string bound = Bound(function, captured.object);
      if (!bound.empty()) return bound;
    }
    const FunctionDef* definition = Definition(function);
    if (definition == nullptr || !seen->insert(function).second) return std::string();
    // An argument to which the callers pass it.
    for (const Call& call : calls_[function]) {
      TF_ASSIGN_OR_RETURN(const std::string passed, Resolve(call.caller, captured, seen));
      if (passed.empty()) continue;
      const std::string node = passed.substr(0, passed.rfind(':'));
      for (int i = call.first_argument; i < call.node->input_size(); ++i) {
        const int argument = i - call.first_argument;
        if (argument >= definition->signature().input_arg_size()) break;
        if (!absl::StartsWith(call.node->input(i), node)) continue;
        TF_ASSIGN_OR_RETURN(const std::string input, Flat(call.caller, call.node->input(i)));
        if (input == passed) {
          return absl::StrCat(definition->signature().input_arg(argument).name(), ":0");
        }
      }
    }
    return std::string();
  }

  // The argument of a function that is an object, or the object's tensor in the main graph.
  std::string Bound(const std::string& function, int object) const {
    if (function == kMainGraph) {
      const NodeDef* node = NodeOf(object);
      return node == nullptr ? "" : absl::StrCat(node->name(), ":0");
    }
    const FunctionDef* definition = Definition(function);
    const auto concrete = objects_.concrete_functions().find(function);
    if (definition == nullptr || concrete == objects_.concrete_functions().end()) return "";
    const auto& bound = concrete->second.bound_inputs();
    const int first = definition->signature().input_arg_size() - bound.size();
    for (int i = 0; first >= 0 && i < bound.size(); ++i) {
      if (bound[i] == object) {
        return absl::StrCat(definition->signature().input_arg(first + i).name(), ":0");
      }
    }
    return "";
  }

  // The node of the main graph that makes an object.
  const NodeDef* NodeOf(int object) const {
    const SavedObject& saved = objects_.nodes(object);
    const std::string name = saved.has_variable()   ? saved.variable().name()
                             : saved.has_constant() ? saved.constant().operation()
                                                    : "";
    for (const auto& [node_name, node] : main_nodes_) {
      const auto shared_name = node->attr().find("shared_name");
      if (saved.has_variable() && node->op() == "VarHandleOp" &&
          shared_name != node->attr().end() && shared_name->second.s() == name) {
        return node;
      }
    }
    const auto found = main_nodes_.find(name);
    return found == main_nodes_.end() ? nullptr : found->second;
  }

  // Adds a node that makes an object which the function does not have; returns its tensor, or "".
  std::string AddSource(const Captured& captured) {
    if (captured.object < 0) return "";
    const NodeDef* node = NodeOf(captured.object);
    if (node == nullptr || (node->op() != "VarHandleOp" && node->op() != "Const")) return "";
    NodeDef source = *node;
    source.set_name(absl::StrCat("custom_gradient_source_", sources_.size()));
    source.clear_input();
    source.mutable_attr()->erase("_class");
    sources_.push_back(source);
    return absl::StrCat(source.name(), ":0");
  }

  // "node:index" for an input of a node in a function ("argument", "node:output:index") or in the
  // main graph ("node", "node:index").
  absl::StatusOr<std::string> Flat(const std::string& function, const std::string& input) const {
    const std::vector<std::string> parts = absl::StrSplit(input, ':');
    if (absl::StartsWith(input, "^")) return std::string();
    if (parts.size() == 1) return absl::StrCat(input, ":0");
    if (function == kMainGraph || parts.size() != 3) return input;
    for (const NodeDef& node : Definition(function)->node_def()) {
      if (node.name() != parts[0]) continue;
      const tensorflow::OpDef* op_def = nullptr;
      TF_RETURN_IF_ERROR(library_.LookUpOpDef(node.op(), &op_def));
      tensorflow::NameRangeMap outputs;
      TF_RETURN_IF_ERROR(tensorflow::NameRangesForNode(node, *op_def, nullptr, &outputs));
      auto range = outputs.find(parts[1]);
      int index = 0;
      if (range == outputs.end() || !absl::SimpleAtoi(parts[2], &index)) break;
      return absl::StrCat(node.name(), ":", range->second.first + index);
    }
    return input;
  }

  const FunctionDef* Definition(const std::string& function) const {
    const auto record = library_.FindRecord(function);
    return record ? &record->fdef() : nullptr;
  }

  std::string Describe(const Captured& captured) const {
    if (captured.object < 0) {
      return absl::StrCat("the tensor '", captured.tensor, "' of function '", captured.function,
                          "'");
    }
    const SavedObject& saved = objects_.nodes(captured.object);
    return saved.has_variable() ? absl::StrCat("the variable '", saved.variable().name(), "'")
                                : absl::StrCat("the object ", captured.object);
  }

  const tensorflow::GraphDef& graph_;
  const tensorflow::SavedObjectGraph& objects_;
  const tensorflow::FunctionLibraryDefinition library_;
  std::map<std::string, std::string> functions_;  // of gradients, by name
  std::map<std::string, const NodeDef*> main_nodes_;
  std::map<std::string, std::vector<Call>> calls_;  // of each function
  std::vector<NodeDef> sources_;                    // for the record that is being made
};

}  // namespace

absl::StatusOr<ModelGradients> FindModelGradients(const MetaGraphDef& meta_graph) {
  return Finder(meta_graph).Find();
}

absl::StatusOr<std::string> GradientsAsGraphDef(const MetaGraphDef& meta_graph) {
  TF_ASSIGN_OR_RETURN(ModelGradients found, FindModelGradients(meta_graph));
  tensorflow::GraphDef graph;
  *graph.mutable_library() = std::move(found.records);
  *graph.mutable_versions() = meta_graph.graph_def().versions();
  return graph.SerializeAsString();
}

}  // namespace tensorflow_ext
