#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/slices/row_nodes.h"
#include "tensorflow_ext/gradient/slices/terms.h"

namespace tensorflow_ext {

class SlicedFunction;

// The functions that a graph has, those that were made for it, and those that are being read, each
// called by the previous one.
struct Functions {
  const tensorflow::FunctionLibraryDefinition& library;
  std::map<std::string, tensorflow::FunctionDef> made;
  std::vector<std::string> callers;
};

// A graph in which dense gradients become rows. Calls that return such gradients are replaced by
// calls of functions that return the rows.
class SlicedGraph {
 public:
  using Tensor = tensorflow::OutputTensor;

  // Changes `graph`. Both must outlive this object.
  SlicedGraph(tensorflow::Graph* graph, Functions* functions);
  ~SlicedGraph();

  // The terms of a dense gradient.
  absl::StatusOr<Terms> Find(const Tensor& gradient);

  // Replaces the calls among the terms of the gradients `sliced`. All other tensors that are needed
  // are `dense`; those that such a call makes change.
  absl::Status ReplaceCalls(const std::vector<Terms>& sliced, std::vector<Tensor>* dense);

  // Adds the rows of a gradient. Its calls are replaced. `index_type`: int32 or int64.
  absl::StatusOr<Rows> AddRows(const Terms& terms, tensorflow::DataType index_type);

  // For nodes that use the rows.
  RowNodes* nodes() { return &nodes_; }

 private:
  // The functions that a call chooses from.
  using Branches = std::vector<std::unique_ptr<SlicedFunction>>;

  // A call, what is needed of it, and its replacement.
  struct Replaced {
    tensorflow::Node* call = nullptr;
    // The outputs that stay, those that become rows, and the types of the indices of these.
    std::set<int> kept, sliced;
    std::vector<tensorflow::DataType> index_types;
    tensorflow::Node* replacement = nullptr;
  };

  absl::StatusOr<Terms> FindResult(const Tensor& result);
  absl::StatusOr<Branches*> BranchesOf(const tensorflow::Node& call);
  absl::Status Replace(Replaced* replaced);
  // The tensor, or that of the replacement; `sliced` is the first tensor of the rows.
  Tensor Current(const Tensor& tensor) const;
  absl::StatusOr<Rows> RowsOf(const Term& term, tensorflow::DataType index_type);

  tensorflow::Graph* const graph_;
  Functions* const functions_;
  RowNodes nodes_;
  std::unordered_map<const tensorflow::Node*, Branches> branches_;
  // By the ids of the calls, so that the order is always the same.
  std::map<int, Replaced> replaced_;
};

}  // namespace tensorflow_ext
