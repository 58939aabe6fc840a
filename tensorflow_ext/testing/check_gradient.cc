#include "tensorflow_ext/testing/check_gradient.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow_ext/testing/derivative_graph.h"
#include "tensorflow_ext/testing/order_check.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataTypeString;
using tensorflow::GraphDef;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;
using Named = DerivativeGraph::Named;
using Outcome = GradientFinding::Outcome;

absl::Status Refuse(const std::string& said, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat("CheckGradient: ", said, "; expected ", expected));
}

absl::Status CheckTensors(const Scope& scope, const std::vector<Output>& all,
                          const std::string& name) {
  for (size_t k = 0; k < all.size(); ++k) {
    const tensorflow::Node* node = all[k].node();
    if (node == nullptr || scope.graph()->FindNodeId(node->id()) != node || all[k].index() < 0 ||
        all[k].index() >= node->num_outputs()) {
      return Refuse(absl::StrCat(name, "[", k, "] is not a tensor of the scope's graph"),
                    "one that is");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArguments(const Scope& scope, const std::vector<Output>& x,
                            const std::vector<Tensor>& x_values, const std::vector<Output>& y,
                            const GradientCheckOptions& options) {
  TF_RETURN_IF_ERROR(scope.status());
  TF_RETURN_IF_ERROR(CheckTensors(scope, x, "x"));
  TF_RETURN_IF_ERROR(CheckTensors(scope, y, "y"));
  if (x.size() != x_values.size()) {
    return Refuse(absl::StrCat(x_values.size(), " values for ", x.size(), " x"),
                  "one value for each x");
  }
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k].type() != x_values[k].dtype()) {
      return Refuse(absl::StrCat("x_values[", k, "] is ", DataTypeString(x_values[k].dtype())),
                    absl::StrCat(DataTypeString(x[k].type()), ", the type of x[", k, "]"));
    }
  }
  if (options.order < 1) {
    return Refuse(absl::StrCat("order ", options.order), "1 or more");
  }
  if (options.elements < 1 || options.directions < 0) {
    return Refuse(absl::StrCat("elements ", options.elements, ", directions ", options.directions),
                  "at least 1 and 0");
  }
  if (!(options.relative_tolerance >= 0 && options.absolute_tolerance >= 0 && options.step >= 0 &&
        options.nondeterminism >= 0)) {
    return Refuse("a negative tolerance or step", "0 or more");
  }
  for (int index : options.required) {
    if (index < 0 || index >= static_cast<int>(x.size()) || !HasGradient(x[index].type())) {
      return Refuse(absl::StrCat("required ", index), "the index of a floating or complex x");
    }
  }
  return absl::OkStatus();
}

std::vector<Named> WithGradient(const std::vector<Output>& all, const std::string& title) {
  std::vector<Named> named;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!HasGradient(all[k].type())) continue;
    named.push_back({all[k].name(), absl::StrCat(title, "[", k, "] (", all[k].name(), ")")});
  }
  return named;
}

// The common parts of all graphs of one check.
struct Parts {
  std::vector<Named> sources;
  std::vector<Named> outputs;
  DerivativeGraph::Feeds feeds;
};

absl::StatusOr<FedGraph> MakeGraph(const GraphDef& graph_def, const Parts& parts,
                                   const GradientCheckOptions& options) {
  FedGraph fed;
  TF_ASSIGN_OR_RETURN(fed.graph, DerivativeGraph::Create(graph_def, parts.sources, parts.outputs,
                                                         options.order, options.initializers));
  fed.feeds = parts.feeds;
  if (fed.graph->orders().empty()) return fed.graph->failure();
  TF_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, fed.Outputs(1));
  for (const Tensor& output : outputs) {
    fed.spacing = std::max(fed.spacing, Spacing(output.dtype()));
  }
  for (const Named& source : parts.sources) {
    const Tensor value = fed.Fed(source.tensor);
    fed.spacing = std::max(fed.spacing, Spacing(value.dtype()));
  }
  return fed;
}

// The same graph in double; its graph is null if there is none.
FedGraph MakeWideGraph(const GraphDef& graph_def, const Parts& parts,
                       const GradientCheckOptions& options, const FedGraph& own) {
  std::vector<std::string> names = options.initializers;
  for (const auto& feed : parts.feeds) names.push_back(feed.first);
  for (const Named& output : parts.outputs) names.push_back(output.tensor);
  Parts wide = parts;
  for (auto& feed : wide.feeds) feed.second = Widen(feed.second);
  auto fed = MakeGraph(InDouble(graph_def, names), wide, options);
  if (!fed.ok() || fed->spacing != Spacing(tensorflow::DT_DOUBLE) ||
      fed->graph->orders().size() < own.graph->orders().size()) {
    return FedGraph();
  }
  for (size_t k = 0; k < own.graph->orders().size(); ++k) {
    if (fed->graph->orders()[k].outputs.size() != own.graph->orders()[k].outputs.size()) {
      return FedGraph();
    }
  }
  return *std::move(fed);
}

const char* Word(Outcome outcome) {
  if (outcome == Outcome::kFailed) return "FAILED";
  return outcome == Outcome::kNote ? "note" : "passed";
}

std::string Line(const GradientFinding& finding) {
  return absl::StrCat("order ", finding.order, ", ", finding.check, ", ", finding.subject, ": ",
                      Word(finding.outcome), finding.message.empty() ? "" : ": ", finding.message);
}

}  // namespace

bool GradientReport::passed() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const auto& found) { return found.outcome == Outcome::kFailed; });
}

std::string GradientReport::ToString() const {
  std::string lines = absl::StrCat("differences in ", type, "\n");
  for (const GradientFinding& finding : findings) {
    absl::StrAppend(&lines, Line(finding), "\n");
  }
  return lines;
}

absl::Status CheckGradient(const Scope& scope, const std::vector<Output>& x,
                           const std::vector<Tensor>& x_values, const std::vector<Output>& y,
                           const GradientCheckOptions& options, GradientReport* report) {
  GradientReport unwanted;
  if (report == nullptr) report = &unwanted;
  *report = GradientReport();
  TF_RETURN_IF_ERROR(CheckArguments(scope, x, x_values, y, options));
  Parts parts{WithGradient(x, "x"), WithGradient(y, "y")};
  if (parts.sources.empty() || parts.outputs.empty()) {
    return Refuse("no x, or no y, has a type that can have a gradient",
                  "at least one floating or complex x and y");
  }
  for (size_t k = 0; k < x.size(); ++k) {
    parts.feeds.emplace_back(x[k].name(), x_values[k]);
  }
  std::set<std::string> required;
  for (int index : options.required) required.insert(x[index].name());
  GraphDef graph_def;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph_def));
  TF_ASSIGN_OR_RETURN(FedGraph own, MakeGraph(graph_def, parts, options));
  FedGraph wide;
  if (own.spacing > Spacing(tensorflow::DT_DOUBLE)) {
    wide = MakeWideGraph(graph_def, parts, options, own);
  }
  const bool in_double = wide.graph != nullptr || own.spacing == Spacing(tensorflow::DT_DOUBLE);
  report->type = in_double ? "double" : kOwnType;

  OrderCheck check(options, std::move(own), std::move(wide), std::move(required), report);
  TF_RETURN_IF_ERROR(check.Run());
  for (const GradientFinding& finding : report->findings) {
    if (finding.outcome == Outcome::kFailed) {
      return absl::FailedPreconditionError(absl::StrCat(Line(finding), "\n", report->ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
