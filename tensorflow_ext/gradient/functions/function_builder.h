#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"

namespace tensorflow_ext {

using Outputs = std::vector<tensorflow::Output>;

// These tensors as one list argument of a node.
std::vector<tensorflow::NodeBuilder::NodeOut> NodeOuts(const Outputs& tensors);

tensorflow::Tensor ScalarInt(int value);

// A function without attributes.
tensorflow::NameAttrList Named(const std::string& function);

// Names the function `name` and a fingerprint of its content.
void NameByContent(const std::string& name, tensorflow::FunctionDef* function);

// The function `name` with the body `graph`. Its effects happen even if no result needs them.
absl::StatusOr<tensorflow::FunctionDef> ToFunctionWithEffects(const tensorflow::Graph& graph,
                                                              const std::string& name);

// Builds a function of a graph's library. The first error is kept until Finish.
class FunctionBuilder {
 public:
  FunctionBuilder();

  // Adds arguments.
  Outputs Arguments(const tensorflow::DataTypeVector& types);

  // Starts a node.
  tensorflow::NodeBuilder New(const char* op);

  // Adds a node. Null after an error.
  tensorflow::Node* AddNode(tensorflow::NodeBuilder builder);

  // Adds a node and returns its outputs; after an error, an empty output.
  Outputs Add(tensorflow::NodeBuilder builder);

  // Shorter ways to add some nodes: a constant, an op of two tensors, and a call of `function` by
  // `op`, PartitionedCall or StatefulPartitionedCall.
  tensorflow::Output Int(int value);
  tensorflow::Output Binary(const char* op, const tensorflow::Output& x,
                            const tensorflow::Output& y);
  // An empty tensor or list, which no one reads.
  tensorflow::Output Empty(tensorflow::DataType type);
  Outputs Call(const char* op, const tensorflow::NameAttrList& function, const Outputs& arguments,
               const tensorflow::DataTypeVector& types);

  // Makes the function, which returns `results`, and adds it to the library of `graph`. Its name is
  // `name` and a fingerprint of its content.
  absl::StatusOr<tensorflow::NameAttrList> Finish(const std::string& name, const Outputs& results,
                                                  tensorflow::Graph* graph);

 private:
  tensorflow::Graph graph_;
  absl::Status status_;
  int num_arguments_ = 0;
  int num_nodes_ = 0;
};

}  // namespace tensorflow_ext
