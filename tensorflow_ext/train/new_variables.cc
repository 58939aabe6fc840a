#include "tensorflow_ext/train/new_variables.h"

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/train/initializers.h"
#include "tensorflow_ext/train/new_nodes.h"

namespace tensorflow_ext::train {

using tensorflow::DT_BOOL;
using tensorflow::DT_RESOURCE;
using tensorflow::Graph;

absl::StatusOr<NewVariables> MakeVariables(const Graph& graph,
                                           const std::vector<NewVariable>& variables) {
  NewNodes nodes(graph);
  Graph library(tensorflow::OpRegistry::Global());
  Body body(&library);
  NewNodes::Arguments arguments;
  NewVariables made;
  for (const NewVariable& variable : variables) {
    // A constant of another type would end the process.
    if (!tensorflow::DataTypeIsNumeric(variable.type) && variable.type != DT_BOOL) {
      return absl::InvalidArgumentError(absl::StrCat("dtypes: '", variable.name, "' has the type ",
                                                     tensorflow::DataTypeString(variable.type),
                                                     "; expected numbers or bool"));
    }
    const std::string handle = nodes.Variable(variable.name, variable.type, variable.shape, "");
    if (handle != variable.name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "names: '", variable.name, "' cannot name a node, or the graph has such a node"));
    }
    arguments.emplace_back(handle, DT_RESOURCE);
    made.handles.push_back(handle + ":0");
    const Place place{body.Argument(DT_RESOURCE), variable.type, {}};
    TF_ASSIGN_OR_RETURN(const Expr value,
                        InitialValue(variable.initializer, variable.type, variable.shape, &body));
    body.Assign(place, value);
  }
  const std::string scope = nodes.NewScope("variables");
  TF_ASSIGN_OR_RETURN(const std::string call,
                      nodes.Call(scope + "/assign", "TfExt_initialize", arguments, {}, &body));
  made.initialize = nodes.Group(scope + "/initialize", {call});
  made.nodes = nodes.Take(library);
  return made;
}

absl::StatusOr<NewVariables> MakeVariables(const void* graph_def, size_t length,
                                           const std::vector<NewVariable>& variables) {
  Graph graph(tensorflow::OpRegistry::Global());
  TF_RETURN_IF_ERROR(ReadGraph(graph_def, length, "graph_def", {}, &graph).status());
  return MakeVariables(graph, variables);
}

}  // namespace tensorflow_ext::train
