#include "tensorflow_ext/gradient/functions/rerun.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

namespace {

bool Reports(absl::string_view op) { return op == "Assert" || op == "PrintV2"; }

// Ops that are stateful by their OpDef but give the same value in every run unless something
// writes. They read, they pass on their input and look at it, they ask for a property of the
// device, or they make a dataset of their inputs. A TensorArray is a new one in every run.
bool OnlyReads(absl::string_view op) {
  static const auto* ops = new std::set<absl::string_view>{"HashTableV2",
                                                           "LookupTableFindV2",
                                                           "LookupTableSizeV2",
                                                           "ReadVariableOp",
                                                           "ResourceGather",
                                                           "ResourceGatherNd",
                                                           "VarHandleOp",
                                                           "VariableShape",
                                                           "VarIsInitializedOp",
                                                           "LookupTableExportV2",
                                                           "MutableDenseHashTableV2",
                                                           "MutableHashTableOfTensorsV2",
                                                           "MutableHashTableV2",
                                                           "ReadVariableXlaSplitND",
                                                           "CheckNumerics",
                                                           "CheckNumericsV2",
                                                           "DebugIdentityV2",
                                                           "DebugIdentityV3",
                                                           "DeepCopy",
                                                           "GuaranteeConst",
                                                           "Print",
                                                           "DeviceIndex",
                                                           "StatelessRandomGetAlg",
                                                           "DatasetToSingleElement",
                                                           "RangeDataset",
                                                           "TensorDataset",
                                                           "TensorSliceDataset"};
  return ops->count(op) > 0 || absl::StartsWith(op, "TensorArray");
}

// Ops whose attributes turn off what makes their values differ: Empty with `init` gives zeros, and
// CudnnRNN, its versions and their gradients draw random numbers only for dropout.
bool IsMadeDeterministic(const NodeDef& node) {
  const auto attribute = [&](const char* name) {
    const auto found = node.attr().find(name);
    return found == node.attr().end() ? nullptr : &found->second;
  };
  if (node.op() == "Empty") {
    const auto* init = attribute("init");
    return init != nullptr && init->b();
  }
  if (absl::StartsWith(node.op(), "CudnnRNN")) {
    const auto* dropout = attribute("dropout");
    return dropout == nullptr || dropout->f() == 0;
  }
  return false;
}

// A JAX module is a pure function of its inputs, although its op is stateful: JAX's random numbers
// have a key. Exceptions: effects that tokens order, such as prints, and StableHLO's `rng`, whose
// name is in the serialized module ("rng_v1").
bool IsPureModule(const NodeDef& node) {
  if (node.op() != "XlaCallModule") return false;
  const auto tokens = node.attr().find("has_token_input_output");
  const auto module = node.attr().find("module");
  return (tokens == node.attr().end() || !tokens->second.b()) && module != node.attr().end() &&
         !absl::StrContains(module->second.s(), "rng_v");
}

// The functions that a node calls: by its attributes, or as its op.
std::vector<std::string> CalledFunctions(const NodeDef& node,
                                         const FunctionLibraryDefinition& library) {
  std::vector<std::string> names;
  if (library.Contains(node.op())) names.push_back(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) names.push_back(value.func().name());
    for (const auto& function : value.list().func()) {
      names.push_back(function.name());
    }
  }
  return names;
}

// A node whose state another run would change or see changed.
struct Found {
  NodeDef node;
  std::string function;  // its function; empty for the graph
};

class StateFinder {
 public:
  explicit StateFinder(const FunctionLibraryDefinition& library) : library_(library) {}

  // Finds a stateful node: `node`, in `function`, or a node of a function that it calls.
  std::optional<Found> Find(const NodeDef& node, const std::string& function = "") {
    const std::vector<std::string> functions = CalledFunctions(node, library_);
    for (const std::string& called : functions) {
      if (!seen_.insert(called).second) continue;
      const auto record = library_.FindRecord(called);
      if (!record) continue;
      for (const NodeDef& inner : record->fdef().node_def()) {
        if (auto found = Find(inner, called)) return found;
      }
    }
    if (!functions.empty() || OnlyReads(node.op()) || Reports(node.op()) || IsPureModule(node) ||
        IsMadeDeterministic(node)) {
      return std::nullopt;
    }
    const tensorflow::OpDef* op_def = nullptr;
    if (!library_.LookUpOpDef(node.op(), &op_def).ok() || !op_def->is_stateful()) {
      return std::nullopt;
    }
    return Found{node, function};
  }

 private:
  const FunctionLibraryDefinition& library_;
  std::set<std::string> seen_;
};

// The name of the resource at the source of an edge: nodes that take the same resource get the same
// name.
std::string ResourceOf(const Edge* edge) {
  while (edge->src()->type_string() == "Identity") {
    if (!edge->src()->input_edge(0, &edge).ok()) break;
  }
  const Node* source = edge->src();
  const auto* shared_name = source->attrs().Find("shared_name");
  return shared_name != nullptr && !shared_name->s().empty()
             ? absl::StrCat("shared ", shared_name->s())
             : absl::StrCat(source->name(), ":", edge->src_output());
}

// The edges that bring resources to a node.
std::vector<const Edge*> ResourceEdges(const Node& node) {
  std::vector<const Edge*> edges;
  for (const Edge* edge : node.in_edges()) {
    if (!edge->IsControlEdge() && node.input_type(edge->dst_input()) == tensorflow::DT_RESOURCE) {
      edges.push_back(edge);
    }
  }
  return edges;
}

// The number of inputs of a node before the arguments of the functions that it calls.
int NumChoosing(absl::string_view op) {
  return absl::EndsWith(op, "If") || absl::EndsWith(op, "Case") ? 1 : 0;
}

// True if a function reads the variable behind its argument `index`, and not only its shape.
bool ReadsArgument(const FunctionLibraryDefinition& library, const std::string& function,
                   int index) {
  const auto record = library.FindRecord(function);
  if (!record || index < 0 || index >= record->fdef().signature().input_arg_size()) return true;
  const std::string& argument = record->fdef().signature().input_arg(index).name();
  for (const NodeDef& node : record->fdef().node_def()) {
    if (node.op() == "VariableShape") continue;
    const std::vector<std::string> called = CalledFunctions(node, library);
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i) != argument && node.input(i) != argument + ":0") continue;
      if (called.empty()) return true;
      for (const std::string& inner : called) {
        if (ReadsArgument(library, inner, i - NumChoosing(node.op()))) return true;
      }
    }
  }
  return false;
}

absl::Status Unrepeatable(const Found& found, absl::string_view why) {
  const std::string where =
      found.function.empty() ? "" : absl::StrCat(" in function '", found.function, "'");
  return absl::UnimplementedError(absl::StrCat("The gradient would run node '", found.node.name(),
                                               "' of op ", found.node.op(), where,
                                               " again, and it ", why));
}

}  // namespace

absl::Status CheckImplementations(const FunctionLibraryDefinition& functions) {
  for (const std::string& name : functions.ListFunctionNames()) {
    const auto record = functions.FindRecord(name);
    if (record->fdef().attr().count("api_implements") == 0) continue;
    for (const NodeDef& node : record->fdef().node_def()) {
      if (!absl::StartsWith(node.op(), "StatelessRandom")) continue;
      return absl::UnimplementedError(absl::StrCat(
          "The gradient would run function '", name, "' again, which draws random numbers (node '",
          node.name(), "' of op ", node.op(),
          "). TensorFlow may choose another implementation of it when the session runs, which "
          "draws other numbers"));
    }
  }
  return absl::OkStatus();
}

bool CallsFunctions(const FunctionLibraryDefinition& library, const Node& node) {
  return !CalledFunctions(node.def(), library).empty();
}

bool OnlyReports(const Node& node) { return Reports(node.type_string()); }

StateOf::StateOf(const Graph& graph, const std::vector<const Node*>& body) : graph_(graph) {
  for (const Node* node : body) {
    const auto found = StateFinder(graph.flib_def()).Find(node->def());
    if (!found) continue;
    for (const Edge* edge : ResourceEdges(*node)) {
      written_.emplace(ResourceOf(edge),
                       Unrepeatable(*found, "writes to a resource that the function also reads"));
    }
  }
}

absl::Status StateOf::CheckRunsAgain(const Node& node) const {
  if (const auto found = StateFinder(graph_.flib_def()).Find(node.def())) {
    return Unrepeatable(*found, "need not give the same value twice");
  }
  // These read no value.
  if (node.type_string() == "Identity" || node.type_string() == "VariableShape") {
    return absl::OkStatus();
  }
  for (const Edge* edge : ResourceEdges(node)) {
    const auto found = written_.find(ResourceOf(edge));
    if (found != written_.end()) return found->second;
  }
  return absl::OkStatus();
}

absl::Status StateOf::CheckRunsAfter(const Node& node) const {
  const FunctionLibraryDefinition& library = graph_.flib_def();
  const std::vector<std::string> functions = CalledFunctions(node.def(), library);
  if (functions.empty()) return absl::OkStatus();
  for (const Edge* edge : ResourceEdges(node)) {
    const auto found = written_.find(ResourceOf(edge));
    if (found == written_.end()) continue;
    for (const std::string& function : functions) {
      const int index = edge->dst_input() - NumChoosing(node.type_string());
      if (ReadsArgument(library, function, index)) return found->second;
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
