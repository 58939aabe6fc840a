#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/slices/sliced_graph.h"

namespace tensorflow_ext {

// A function that returns dense gradients, from which one that returns rows is made.
class SlicedFunction {
 public:
  // Both must outlive this object.
  static absl::StatusOr<std::unique_ptr<SlicedFunction>> Read(
      const tensorflow::NameAttrList& function, Functions* functions);

  // The terms of result `k`.
  absl::StatusOr<Terms> FindResult(int k);

  // Makes a function that returns the results `kept` and then the rows (values, indices, number of
  // rows) of each of the results `sliced`, whose indices have the types `index_types`. Returns its
  // name. May be called once.
  absl::StatusOr<std::string> Make(const std::set<int>& kept, const std::set<int>& sliced,
                                   const std::vector<tensorflow::DataType>& index_types);

 private:
  SlicedFunction(const tensorflow::FunctionDef& definition, Functions* functions);
  absl::Status ReadBody(const tensorflow::NameAttrList& function);
  absl::StatusOr<tensorflow::FunctionDef> ToFunction() const;

  const tensorflow::FunctionDef& definition_;
  Functions* const functions_;
  tensorflow::Graph graph_;
  std::unique_ptr<SlicedGraph> sliced_;
  std::vector<tensorflow::Node*> retvals_;
  std::set<std::string> control_results_;
};

}  // namespace tensorflow_ext
