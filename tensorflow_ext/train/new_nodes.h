#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/train/body.h"

namespace tensorflow_ext::train {

// The name with "_" for characters that names of nodes cannot have.
std::string NodeName(std::string name);

// Nodes to add to a graph, by names that it does not have.
class NewNodes {
 public:
  explicit NewNodes(const tensorflow::Graph& graph);

  // The name, or one like it, such that no node is in that scope.
  std::string NewScope(const std::string& wanted) const;

  // Adds a node. Its name is `wanted` or one like it.
  tensorflow::NodeDef* Add(const std::string& wanted, const char* op,
                           const std::vector<std::string>& inputs = {});

  template <typename T>
  static void Set(tensorflow::NodeDef* node, const char* attribute, const T& value) {
    tensorflow::SetAttrValue(value, &(*node->mutable_attr())[attribute]);
  }

  // These return the name of the node that they add: a constant, the handle of a variable, and a
  // node that runs after `nodes`.
  std::string Constant(const std::string& wanted, const tensorflow::Tensor& value);
  std::string Variable(const std::string& wanted, tensorflow::DataType type,
                       const tensorflow::TensorShape& shape, const std::string& device);
  std::string Group(const std::string& wanted, const std::vector<std::string>& nodes);

  // Adds a call of `body`, which is complete. `arguments`: inputs of the call, in the order in
  // which the body's arguments were made. `control_inputs`: nodes that it runs after.
  using Arguments = std::vector<std::pair<std::string, tensorflow::DataType>>;
  absl::StatusOr<std::string> Call(const std::string& wanted, const std::string& function,
                                   const Arguments& arguments,
                                   const std::vector<std::string>& control_inputs, Body* body);

  // All nodes. `library` has the functions that they call.
  tensorflow::GraphDef Take(const tensorflow::Graph& library);

 private:
  std::set<std::string> taken_;
  tensorflow::GraphDef nodes_;
};

}  // namespace tensorflow_ext::train
