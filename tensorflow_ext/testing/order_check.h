// Checks the gradients of one order after the other.

#pragma once

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/testing/check_gradient.h"
#include "tensorflow_ext/testing/derivative_graph.h"
#include "tensorflow_ext/testing/differences.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {

// A graph and its feeds: the inputs, then the upstream gradients of every order.
struct FedGraph {
  std::unique_ptr<DerivativeGraph> graph;
  DerivativeGraph::Feeds feeds;
  double spacing = 0;

  const DerivativeGraph::Order& order(int k) const { return graph->orders()[k - 1]; }

  // The outputs of an order.
  absl::StatusOr<std::vector<tensorflow::Tensor>> Outputs(int k) const;

  // Replaces the feed of that name from now on.
  void Feed(const std::string& name, const tensorflow::Tensor& tensor);
  tensorflow::Tensor Fed(const std::string& name) const;
};

// GradientReport::type if the differences are not in double.
inline constexpr char kOwnType[] = "the graph's own type";

class OrderCheck {
 public:
  // `wide`: the same graph in double; its graph is null if there is none. `required`: the tensors
  // that must have a gradient.
  OrderCheck(const GradientCheckOptions& options, FedGraph own, FedGraph wide,
             std::set<std::string> required, GradientReport* report);

  // Adds the findings of all orders to the report.
  absl::Status Run();

 private:
  void Add(int order, const std::string& check, const std::string& subject,
           GradientFinding::Outcome outcome, const std::string& message = "");
  // Returns true if the next order makes sense.
  absl::StatusOr<bool> RunOrder(int k);
  bool Fits(int k, const std::string& title, const tensorflow::Tensor& source,
            const tensorflow::Tensor& gradient, const tensorflow::Tensor& again);
  absl::StatusOr<bool> WideAgrees(int k) const;
  absl::Status Differ(int k, const std::vector<Numbers>& gradients,
                      const std::vector<tensorflow::Tensor>& upstreams);
  absl::StatusOr<std::vector<Judged>> JudgeAll(Differences* differences, int source,
                                               const Numbers& gradient);
  absl::Status Alone(int k, const std::vector<tensorflow::Tensor>& upstreams);
  std::string Apart(const Numbers& found, const Numbers& expected, const tensorflow::Tensor& like,
                    const std::string& title) const;

  const GradientCheckOptions options_;
  FedGraph own_;
  FedGraph wide_;
  const std::set<std::string> required_;
  GradientReport* report_;
  std::mt19937_64 random_;
  Tolerance tolerance_;
};

}  // namespace tensorflow_ext
