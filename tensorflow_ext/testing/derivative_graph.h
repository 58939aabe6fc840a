// A copy of a graph with its gradients, their gradients and so on, in a session.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace tensorflow_ext {

// The graph with double in place of narrower types, reduced to the nodes that lead to `names`,
// tensors or nodes. Functions do not change, so a graph that calls them may become invalid.
tensorflow::GraphDef InDouble(const tensorflow::GraphDef& graph_def,
                              const std::vector<std::string>& names);

class DerivativeGraph {
 public:
  using Feeds = std::vector<std::pair<std::string, tensorflow::Tensor>>;

  // A tensor's name and its title in a report.
  struct Named {
    std::string tensor;  // Empty for a missing gradient.
    std::string title;
  };

  // One order: `gradients` of `outputs` by `sources`.
  struct Order {
    std::vector<Named> sources;
    std::vector<Named> outputs;
    std::vector<std::string> upstreams;  // One per output, to feed.
    std::vector<Named> gradients;        // One per source.
    // The gradients of each output alone, if there are several.
    std::vector<std::vector<Named>> alone;
  };

  // Adds the gradients of `outputs` by `sources`, up to `order`. After a failure there are fewer
  // `orders`, and `failure` gives the reason.
  static absl::StatusOr<std::unique_ptr<DerivativeGraph>> Create(
      const tensorflow::GraphDef& graph_def, std::vector<Named> sources, std::vector<Named> outputs,
      int order, const std::vector<std::string>& initializers);

  const std::vector<Order>& orders() const { return orders_; }
  const absl::Status& failure() const { return failure_; }

  absl::StatusOr<std::vector<tensorflow::Tensor>> Run(
      const Feeds& feeds, const std::vector<std::string>& fetches) const;

 private:
  DerivativeGraph() = default;

  std::vector<Order> orders_;
  absl::Status failure_;
  std::unique_ptr<tensorflow::Session> session_;
};

}  // namespace tensorflow_ext
