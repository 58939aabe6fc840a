#include "tensorflow_ext/testing/order_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow_ext/testing/judged_message.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataTypeString;
using tensorflow::Tensor;
using Feeds = DerivativeGraph::Feeds;
using Named = DerivativeGraph::Named;
using Order = DerivativeGraph::Order;
using Outcome = GradientFinding::Outcome;
using Random = std::mt19937_64;

// A number in [0, 1), the same on every machine, unlike std's distributions.
double Uniform(Random* random) { return std::ldexp(static_cast<double>((*random)() >> 11), -53); }

// Random signs, 1 or -1.
Numbers Signs(size_t count, Random* random) {
  Numbers signs(count);
  for (double& sign : signs) sign = (*random)() & 1 ? 1 : -1;
  return signs;
}

// Random numbers of either sign, not near zero.
Tensor Draw(const Tensor& like, Random* random) {
  Numbers numbers = Signs(ToNumbers(like).size(), random);
  for (double& number : numbers) number *= 0.5 + Uniform(random);
  return ToTensor(numbers, like);
}

std::vector<std::string> TensorNames(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& named : all) {
    if (!named.tensor.empty()) names.push_back(named.tensor);
  }
  return names;
}

// Names a number that is not finite, if there is one.
std::string NotFinite(const Tensor& tensor) {
  const Numbers numbers = ToNumbers(tensor);
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (std::isfinite(numbers[k])) continue;
    return absl::StrCat(numbers[k], " at ", IndexOf(k, tensor));
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> FedGraph::Outputs(int k) const {
  return graph->Run(feeds, TensorNames(order(k).outputs));
}

void FedGraph::Feed(const std::string& name, const Tensor& tensor) {
  for (auto& feed : feeds) {
    if (feed.first == name) {
      feed.second = tensor;
      return;
    }
  }
  feeds.emplace_back(name, tensor);
}

Tensor FedGraph::Fed(const std::string& name) const {
  const auto found = std::find_if(feeds.begin(), feeds.end(),
                                  [&](const auto& feed) { return feed.first == name; });
  return found->second;
}

OrderCheck::OrderCheck(const GradientCheckOptions& options, FedGraph own, FedGraph wide,
                       std::set<std::string> required, GradientReport* report)
    : options_(options),
      own_(std::move(own)),
      wide_(std::move(wide)),
      required_(std::move(required)),
      report_(report),
      random_(options.seed),
      tolerance_{options.relative_tolerance, options.absolute_tolerance} {
  if (tolerance_.relative == 0) {
    tolerance_.relative = std::max(std::sqrt(own_.spacing), 1e-7);
  }
  if (tolerance_.absolute == 0) {
    tolerance_.absolute = std::pow(own_.spacing, 0.75);
  }
}

absl::Status OrderCheck::Run() {
  for (int k = 1; k <= options_.order; ++k) {
    if (k > static_cast<int>(own_.graph->orders().size())) {
      const absl::Status& failure = own_.graph->failure();
      if (!failure.ok()) {
        return absl::Status(failure.code(), absl::StrCat("order ", k, ": ", failure.message()));
      }
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const bool goes_on, RunOrder(k));
    if (!goes_on) break;
  }
  return absl::OkStatus();
}

void OrderCheck::Add(int order, const std::string& check, const std::string& subject,
                     Outcome outcome, const std::string& message) {
  report_->findings.push_back({order, check, subject, outcome, message});
}

absl::StatusOr<bool> OrderCheck::RunOrder(int k) {
  const Order& order = own_.order(k);
  TF_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, own_.Outputs(k));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string wrong = NotFinite(outputs[i]);
    if (wrong.empty()) continue;
    Add(k, "output", order.outputs[i].title, Outcome::kFailed, wrong);
    return false;
  }
  std::vector<Tensor> upstreams;
  for (size_t i = 0; i < outputs.size(); ++i) {
    upstreams.push_back(Draw(outputs[i], &random_));
    own_.Feed(order.upstreams[i], upstreams.back());
  }
  const std::vector<std::string> names = TensorNames(order.gradients);
  TF_ASSIGN_OR_RETURN(const std::vector<Tensor> found, own_.graph->Run(own_.feeds, names));
  TF_ASSIGN_OR_RETURN(const std::vector<Tensor> again, own_.graph->Run(own_.feeds, names));
  // One per source; zeros if it has none.
  std::vector<Numbers> gradients;
  bool fits = true;
  auto next = found.begin();
  auto second = again.begin();
  for (size_t i = 0; i < order.sources.size(); ++i) {
    const Tensor source = own_.Fed(order.sources[i].tensor);
    if (order.gradients[i].tensor.empty()) {
      gradients.emplace_back(ToNumbers(source).size(), 0);
      continue;
    }
    gradients.push_back(ToNumbers(*next));
    fits = Fits(k, order.sources[i].title, source, *next, *second) && fits;
    ++next, ++second;
  }
  if (!fits) return false;
  Add(k, "type, shape, same bits twice", "all", Outcome::kPassed);
  TF_RETURN_IF_ERROR(Differ(k, gradients, upstreams));
  TF_RETURN_IF_ERROR(Alone(k, upstreams));
  return true;
}

bool OrderCheck::Fits(int k, const std::string& title, const Tensor& source, const Tensor& gradient,
                      const Tensor& again) {
  std::string wrong;
  if (gradient.dtype() != source.dtype()) {
    wrong = absl::StrCat("type ", DataTypeString(gradient.dtype()), ", expected ",
                         DataTypeString(source.dtype()));
  } else if (gradient.shape() != source.shape()) {
    wrong = absl::StrCat("shape ", gradient.shape().DebugString(), ", expected ",
                         source.shape().DebugString());
  } else {
    wrong = NotFinite(gradient);
  }
  if (!wrong.empty()) {
    Add(k, "gradient", title, Outcome::kFailed, wrong);
    return false;
  }
  const Numbers a = ToNumbers(gradient), b = ToNumbers(again);
  for (size_t p = 0; p < a.size(); ++p) {
    if (std::memcmp(&a[p], &b[p], sizeof(double)) == 0) continue;
    if (std::abs(a[p] - b[p]) <= options_.nondeterminism) continue;
    Add(k, "same bits twice", title, Outcome::kFailed,
        absl::StrCat("two runs differ: ", a[p], " and ", b[p], " at ", IndexOf(p, gradient)));
    return false;
  }
  return true;
}

// True if the copy in double runs and agrees with the graph: an op may compute something else in
// another type.
absl::StatusOr<bool> OrderCheck::WideAgrees(int k) const {
  const auto wide = wide_.Outputs(k);
  if (!wide.ok()) return false;
  TF_ASSIGN_OR_RETURN(const std::vector<Tensor> own, own_.Outputs(k));
  for (size_t i = 0; i < own.size(); ++i) {
    if ((*wide)[i].shape() != own[i].shape()) return false;
    const Numbers a = ToNumbers((*wide)[i]), b = ToNumbers(own[i]);
    double largest = 1;
    for (double number : b) largest = std::max(largest, std::abs(number));
    for (size_t p = 0; p < b.size(); ++p) {
      if (!(std::abs(a[p] - b[p]) <= std::sqrt(own_.spacing) * largest)) {
        return false;
      }
    }
  }
  return true;
}

absl::Status OrderCheck::Differ(int k, const std::vector<Numbers>& gradients,
                                const std::vector<Tensor>& upstreams) {
  const FedGraph* run = &own_;
  if (wide_.graph != nullptr) {
    for (size_t i = 0; i < upstreams.size(); ++i) {
      wide_.Feed(wide_.order(k).upstreams[i], Widen(upstreams[i]));
    }
    TF_ASSIGN_OR_RETURN(const bool agrees, WideAgrees(k));
    if (agrees) {
      run = &wide_;
    } else {
      wide_ = FedGraph();
      report_->type = kOwnType;
    }
  }
  const Order& order = run->order(k);
  std::vector<Tensor> likes;
  std::vector<Numbers> values, weights;
  for (const Named& source : order.sources) {
    likes.push_back(run->Fed(source.tensor));
    values.push_back(ToNumbers(likes.back()));
  }
  for (const Tensor& upstream : upstreams) {
    weights.push_back(ToNumbers(upstream));
  }
  const auto evaluate = [&](int source,
                            const Numbers& numbers) -> absl::StatusOr<std::vector<Numbers>> {
    FedGraph moved{nullptr, run->feeds};
    moved.Feed(order.sources[source].tensor, ToTensor(numbers, likes[source]));
    const auto tensors = run->graph->Run(moved.feeds, TensorNames(order.outputs));
    std::vector<Numbers> outputs;
    if (absl::IsInvalidArgument(tensors.status())) {
      // The graph refuses these values.
      for (const Numbers& weight : weights) {
        outputs.emplace_back(weight.size(), std::nan(""));
      }
      return outputs;
    }
    TF_RETURN_IF_ERROR(tensors.status());
    for (const Tensor& tensor : *tensors) {
      outputs.push_back(ToNumbers(tensor));
    }
    return outputs;
  };
  const auto round = [&](int source, const Numbers& numbers) {
    return ToNumbers(ToTensor(numbers, likes[source]));
  };
  Differences differences(evaluate, round, values, weights, run->spacing, options_.step);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool there = !own_.order(k).gradients[i].tensor.empty();
    TF_ASSIGN_OR_RETURN(const std::vector<Judged> judged, JudgeAll(&differences, i, gradients[i]));
    const bool required = k == 1 && required_.count(order.sources[i].tensor) > 0;
    report_->findings.push_back(
        DifferencesFinding(k, order.sources[i].title, likes[i], there, required, judged));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Judged>> OrderCheck::JudgeAll(Differences* differences, int source,
                                                         const Numbers& gradient) {
  std::vector<int64_t> positions(gradient.size());
  std::iota(positions.begin(), positions.end(), 0);
  const bool large = static_cast<int64_t>(positions.size()) > options_.elements;
  if (large) {
    for (int n = 0; n < options_.elements; ++n) {
      const size_t left = positions.size() - n;
      std::swap(positions[n], positions[n + random_() % left]);
    }
    positions.resize(options_.elements);
    std::sort(positions.begin(), positions.end());
  }
  TF_ASSIGN_OR_RETURN(std::vector<Judged> judged,
                      differences->JudgeElements(source, gradient, positions, tolerance_));
  for (int n = 0; large && n < options_.directions; ++n) {
    const Numbers signs = Signs(gradient.size(), &random_);
    TF_ASSIGN_OR_RETURN(Judged along,
                        differences->JudgeDirection(source, gradient, signs, tolerance_));
    judged.push_back(std::move(along));
  }
  return judged;
}

// Checks each output alone against zero upstream gradients for the others.
absl::Status OrderCheck::Alone(int k, const std::vector<Tensor>& upstreams) {
  const Order& order = own_.order(k);
  for (size_t i = 0; i < order.alone.size(); ++i) {
    FedGraph zeros{nullptr, own_.feeds};
    for (size_t j = 0; j < upstreams.size(); ++j) {
      if (j == i) continue;
      const Numbers none(ToNumbers(upstreams[j]).size(), 0);
      zeros.Feed(order.upstreams[j], ToTensor(none, upstreams[j]));
    }
    std::string wrong;
    for (size_t s = 0; s < order.sources.size() && wrong.empty(); ++s) {
      const Tensor source = own_.Fed(order.sources[s].tensor);
      const auto numbers = [&](const Named& gradient,
                               const Feeds& feeds) -> absl::StatusOr<Numbers> {
        if (gradient.tensor.empty()) {
          return Numbers(ToNumbers(source).size(), 0);
        }
        TF_ASSIGN_OR_RETURN(const std::vector<Tensor> found,
                            own_.graph->Run(feeds, {gradient.tensor}));
        return ToNumbers(found[0]);
      };
      TF_ASSIGN_OR_RETURN(const Numbers expected, numbers(order.gradients[s], zeros.feeds));
      TF_ASSIGN_OR_RETURN(const Numbers alone, numbers(order.alone[i][s], own_.feeds));
      wrong = Apart(alone, expected, source, order.sources[s].title);
    }
    Add(k, "one output alone", order.outputs[i].title,
        wrong.empty() ? Outcome::kPassed : Outcome::kFailed, wrong);
  }
  return absl::OkStatus();
}

std::string OrderCheck::Apart(const Numbers& found, const Numbers& expected, const Tensor& like,
                              const std::string& title) const {
  if (found.size() != expected.size()) {
    return absl::StrCat("gradient for ", title, ": ", found.size(), " numbers, expected ",
                        expected.size());
  }
  double largest = 0;
  for (double number : expected) {
    largest = std::max(largest, std::abs(number));
  }
  for (size_t p = 0; p < found.size(); ++p) {
    const double limit = tolerance_.absolute + tolerance_.relative * largest;
    if (std::abs(found[p] - expected[p]) <= limit) continue;
    return absl::StrCat("gradient for ", title, " at ", IndexOf(p, like), ": ", found[p],
                        ", with zeros for the others ", expected[p]);
  }
  return "";
}

}  // namespace tensorflow_ext
