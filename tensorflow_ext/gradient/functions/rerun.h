// Finds the parts of a function's body that may run a second time.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// True if the op only reports to the user, like Assert and PrintV2. Without it, a function returns
// the same.
bool OnlyReports(const tensorflow::Node& node);

// True if the node calls functions, by its attributes or as its op.
bool CallsFunctions(const tensorflow::FunctionLibraryDefinition& library,
                    const tensorflow::Node& node);

// The state that the nodes `body` of a graph read and write, also in the functions that they call.
// Errors of its functions: kUnimplemented, naming the node and its op.
class StateOf {
 public:
  // Both must outlive this object.
  StateOf(const tensorflow::Graph& graph, const std::vector<const tensorflow::Node*>& body);

  // Checks that a node of the body gives the same values when it runs again. It may read variables
  // that the body does not write to, and it has no other state.
  absl::Status CheckRunsAgain(const tensorflow::Node& node) const;

  // Checks that a function called by `node`, which runs after the body, reads no variable that the
  // body writes to.
  absl::Status CheckRunsAfter(const tensorflow::Node& node) const;

 private:
  const tensorflow::Graph& graph_;
  // An error for each resource that the body writes to, naming the node that does.
  std::map<std::string, absl::Status> written_;
};

// Reports functions that have several implementations which draw different random numbers
// (api_implements; the sampler of gamma distributions in TensorFlow Probability). Grappler replaces
// the called one when the session runs, but not a body that is a part of a gradient, so the
// gradient would belong to other numbers than the output. Error: kUnimplemented, naming the
// function.
absl::Status CheckImplementations(const tensorflow::FunctionLibraryDefinition& functions);

}  // namespace tensorflow_ext
