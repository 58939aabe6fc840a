#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/shape_refiner.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"

namespace tensorflow_ext {

// Turns the body of a function into that of its gradient; a part of DifferentiateFunction.
class GradientBody {
 public:
  // `function` and its instantiated `body`; `library` holds it and the functions it calls.
  // `upstream` and `required` are those of DifferentiateFunction. All but `library` must outlive
  // this object.
  GradientBody(const tensorflow::FunctionLibraryDefinition& library,
               const tensorflow::NameAttrList& function, const tensorflow::FunctionBody& body,
               const tensorflow::DataTypeVector& upstream,
               const tensorflow::DataTypeVector& required);

  // `with_forward`: makes `forward()` even if nothing is kept.
  absl::Status Build(bool with_forward);

  // After Build: the body, and the type of the gradient of each argument.
  const tensorflow::Graph& graph() const { return graph_; }
  const tensorflow::DataTypeVector& gradients() const { return gradient_types_; }

  // After Build: the first reason why a tensor is kept; the results of `forward()` that are kept,
  // which the gradient takes after the upstream gradients; and the types of those that are not
  // results of the function.
  const absl::Status& runs_again() const { return runs_again_; }
  const std::vector<int>& kept() const { return kept_; }
  const tensorflow::DataTypeVector& kept_types() const { return kept_types_; }

  // The function with all kept tensors among its results; null if the function itself will do.
  const tensorflow::Graph* forward() const { return forward_graph_.get(); }

 private:
  // Removes the identities that only pass a tensor on. Inlining leaves one for each argument.
  void RemoveIdentities();

  // Infers the shapes of the nodes, as far as the function tells: SavedModels have the shapes of
  // arguments and variables. With known shapes a gradient has fewer nodes (static_shapes.h).
  void InferShapes();

  // Gives an argument the known shape of `like`, for this gradient and for the gradient of that.
  void SetShape(const tensorflow::Output& like, tensorflow::NodeBuilder* argument) const;

  // Finds the arguments, the results, the nodes that only report and the other nodes.
  absl::Status ClassifyNodes();

  absl::StatusOr<tensorflow::Node*> Add(tensorflow::NodeBuilder builder);

  tensorflow::NodeBuilder New(const char* name, const char* op) const;

  absl::StatusOr<tensorflow::Output> Identity(tensorflow::Output x);

  // Replaces the results by identities, one for each result with an upstream gradient, and adds
  // that gradient as an argument. AddSymbolicGradients is wrong if one result leads to another; no
  // identity leads to another.
  absl::Status AddUpstream();

  // Calls the gradient that the library names for the function (GradientDef). It takes all upstream
  // gradients and returns a gradient of each argument.
  absl::Status Call(const std::string& gradient);

  // Adds the gradients of `ys_` by the arguments.
  absl::Status Differentiate();

  // Zeros of the shape of argument `i`, or of the variable if it is a handle.
  absl::StatusOr<tensorflow::Output> Zeros(int i, tensorflow::DataType type);

  // Adds an identity of each gradient that the function returns.
  absl::Status AddResults();

  // Finds the nodes that the gradients need, and the edges to them from nodes of the function that
  // must not run again: data that must be kept, and control edges.
  absl::Status FindNeeded(NodeSet* needed, std::vector<const tensorflow::Edge*>* kept,
                          std::vector<const tensorflow::Edge*>* controls);

  // Makes `forward_graph_`, which returns the results of the function and then `more_results`.
  absl::Status MakeForward(const std::vector<tensorflow::Output>& more_results);

  // Replaces tensors that must be kept by arguments of the gradient.
  absl::Status Keep(const std::vector<const tensorflow::Edge*>& edges, bool with_forward);

  // Removes nodes that the results do not need, and lets every result wait for all nodes that read
  // a state.
  absl::Status Prune(bool with_forward);

  const tensorflow::NameAttrList& function_;
  const tensorflow::DataTypeVector& argument_types_;
  const tensorflow::DataTypeVector& upstream_types_;
  const tensorflow::DataTypeVector& required_;
  tensorflow::Graph graph_;
  absl::Status status_;
  // Null if the shapes of some nodes cannot be inferred.
  std::unique_ptr<tensorflow::ShapeRefiner> shapes_;
  tensorflow::Scope scope_;
  std::vector<tensorflow::Node*> arguments_, retvals_, reports_;
  // The other nodes of the function.
  std::vector<const tensorflow::Node*> forward_;
  // The function's results; identities of the results with an upstream gradient, and those
  // gradients; the gradient of each argument.
  std::vector<tensorflow::Output> results_, ys_, upstreams_, gradients_;
  tensorflow::DataTypeVector gradient_types_;
  // The nodes of the gradients that are returned.
  std::vector<tensorflow::Node*> ends_;
  absl::Status runs_again_;
  std::vector<int> kept_;
  tensorflow::DataTypeVector kept_types_;
  std::unique_ptr<tensorflow::Graph> forward_graph_;
};

}  // namespace tensorflow_ext
