#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/slices/terms.h"

namespace tensorflow_ext {

// Rows of a gradient: row k of `values` is added to row indices[k] of zeros with `num_rows` rows.
struct Rows {
  tensorflow::OutputTensor values, indices, num_rows;
};

// Adds nodes to a graph that compute rows. Their names are new. The first error is kept.
class RowNodes {
 public:
  using Tensor = tensorflow::OutputTensor;
  using Tensors = std::vector<Tensor>;

  // `prefix` starts the names; the caller makes sure that no other node's name starts with it.
  RowNodes(tensorflow::Graph* graph, std::string prefix);

  const std::string& prefix() const { return prefix_; }
  const absl::Status& status() const { return status_; }

  // The nodes added from now on run on this device.
  void SetDevice(const std::string& device) { device_ = device; }

  // A name that no node has.
  std::string NewName(absl::string_view op);

  // The rows of the node of a term: a scatter, or zeros, which have none. `reshape`: that of Term,
  // may be null.
  Rows OfScatter(const tensorflow::Node& scatter, const tensorflow::Node* reshape,
                 tensorflow::DataType index_type);
  Rows OfZeros(const tensorflow::Node& zeros, tensorflow::DataType index_type);

  // The rows after the op of `map`.
  Tensor Map(const Term::Map& map, const Tensor& values);

  // The rows of all.
  Rows Concat(const std::vector<Rows>& parts);

  // The same gradient with unequal indices.
  Rows Sum(const Rows& rows);

  // The shape of the dense gradient, as a vector of the type of the indices.
  Tensor DenseShape(const Rows& rows);

  // The tensor, computed after `waits`.
  Tensor After(const std::vector<tensorflow::Node*>& waits, const Tensor& tensor);

  Tensor Cast(const Tensor& tensor, tensorflow::DataType type);

 private:
  // The rows of a SparseSegmentSumGrad and the like.
  Rows OfSegments(const tensorflow::Node& scatter, tensorflow::DataType index_type);

  tensorflow::NodeBuilder New(const char* op, const Tensors& inputs);
  Tensor Add(tensorflow::NodeBuilder& builder);
  // A node with these inputs and the attributes that follow from them.
  Tensor Add(const char* op, const Tensors& inputs);
  Tensor Constant(const tensorflow::Tensor& value);
  Tensor Ints(const std::vector<int>& values, tensorflow::DataType type = tensorflow::DT_INT32);
  Tensor Shape(const Tensor& tensor, tensorflow::DataType type);
  Tensor Size(const Tensor& tensor, tensorflow::DataType type);
  // The elements from `begin`, [1], on.
  Tensor From(const Tensor& vector, const Tensor& begin);
  Tensor ToVector(const Tensor& tensor);
  Tensor Join(const Tensors& tensors);

  tensorflow::Graph* const graph_;
  const std::string prefix_;
  std::string device_;
  int num_nodes_ = 0;
  // By the device and the bytes of type, shape and value.
  std::map<std::string, Tensor> constants_;
  absl::Status status_;
};

}  // namespace tensorflow_ext
