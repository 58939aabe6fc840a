// Parts of the functions of c_api.h that rewrite a client's TF_Graph.

#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// `tensors[k]` of argument `name` as an output of its node in `graph`.
absl::StatusOr<std::vector<tensorflow::OutputTensor>> OutputTensors(TF_Graph* graph,
                                                                    const char* name,
                                                                    const TF_Output* tensors,
                                                                    int n);

// Held from the choice of names for new nodes until these are in the graph.
std::mutex& OneRewriteAtATime();

// Adds nodes whose inputs may be existing nodes of the graph, and functions.
absl::Status ImportNodes(TF_Graph* graph, const tensorflow::GraphDef& nodes);

// Calls `make` with the graph, and adds the `nodes` of its result, an absl::StatusOr, which it
// returns.
template <typename Make>
auto AddNodes(TF_Graph* graph, const Make& make) -> decltype(make(graph->graph)) {
  const std::lock_guard<std::mutex> only(OneRewriteAtATime());
  auto made = [&] {
    tensorflow::mutex_lock lock(graph->mu);
    return make(graph->graph);
  }();
  TF_RETURN_IF_ERROR(made.status());
  TF_RETURN_IF_ERROR(ImportNodes(graph, made->nodes));
  return made;
}

// The tensors "node:index" of the graph.
absl::StatusOr<std::vector<TF_Output>> FindTensors(TF_Graph* graph,
                                                   const std::vector<std::string>& names);

}  // namespace tensorflow_ext
