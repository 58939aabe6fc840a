#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"

namespace tensorflow_ext {

// The gradients that the nodes of a model name (tf.custom_gradient).
struct ModelGradients {
  struct Gradient : CustomGradient {
    std::string op_type;  // the name that the node gives it
  };
  // By the function that has the nodes, "" for the main graph, in the order of its nodes.
  std::map<std::string, std::vector<Gradient>> gradients;
  // The records of those functions (custom_gradients.h).
  tensorflow::FunctionDefLibrary records;
};

// Finds them. A gradient that the model lacks has a `problem`. Error: kNotFound, an op of the model
// is not registered.
absl::StatusOr<ModelGradients> FindModelGradients(const tensorflow::MetaGraphDef& meta_graph);

// The records alone, as a serialized GraphDef without nodes.
absl::StatusOr<std::string> GradientsAsGraphDef(const tensorflow::MetaGraphDef& meta_graph);

}  // namespace tensorflow_ext
