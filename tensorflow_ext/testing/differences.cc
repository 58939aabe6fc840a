#include "tensorflow_ext/testing/differences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensorflow/core/platform/statusor.h"

namespace tensorflow_ext {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The largest element's share in the relative tolerance of every element: rounding errors are
// relative to the terms of a sum.
constexpr double kShared = 0.01;

double Length(const Numbers& numbers) {
  double squares = 0;
  for (double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

double ToleranceOf(Tolerance tolerance, double expected, double largest, double length) {
  return tolerance.absolute * length +
         tolerance.relative * (std::abs(expected) + kShared * largest);
}

Verdict VerdictOn(double analytic, const Slope& slope, double tolerance) {
  if (!std::isfinite(slope.value) || slope.kind == Kind::kEdge) {
    return Verdict::kUnknown;
  }
  const double apart = std::abs(analytic - slope.value);
  if (slope.kind == Kind::kJump && apart > tolerance && slope.high - slope.low >= apart) {
    return Verdict::kUnknown;
  }
  if (apart <= tolerance + 2 * slope.error) {
    const double certain = std::max(100 * tolerance, 1e-3 * std::abs(slope.value));
    return slope.error <= certain ? Verdict::kRight : Verdict::kUnknown;
  }
  if (slope.kind == Kind::kKink && slope.low - tolerance <= analytic &&
      analytic <= slope.high + tolerance) {
    return Verdict::kBetween;
  }
  return Verdict::kWrong;
}

}  // namespace

// Quotients at one step: the central one, and the range of the one-sided ones.
struct Differences::Level {
  double step;
  double central = 0;
  double noise = 0;
  double low = 0;
  double high = 0;

  double gap() const { return high - low; }
};

// Elements of one gradient to judge, moved in a direction. Without signs it is a single element.
struct Differences::Task {
  int source;
  const Numbers& gradient;
  Tolerance tolerance;
  std::vector<int64_t> positions;
  const Numbers* signs = nullptr;
  double largest = 0;
};

Differences::Differences(Evaluate evaluate, std::function<Numbers(int, const Numbers&)> round,
                         std::vector<Numbers> values, std::vector<Numbers> weights, double spacing,
                         double step)
    : evaluate_(std::move(evaluate)),
      round_(std::move(round)),
      values_(std::move(values)),
      weights_(std::move(weights)),
      spacing_(spacing),
      step_given_(step > 0),
      // The step where the errors of rounding and extrapolation are equal.
      step_(step > 0 ? step : std::exp2(std::round(std::log2(spacing) / 4))) {}

// A power of two near the argument, at least 1: steps are in these units.
double Differences::Scale(int source, int64_t position) const {
  const double size = std::max(1.0, std::abs(values_[source][position]));
  return std::exp2(std::floor(std::log2(size)));
}

std::vector<double> Differences::CarefulSteps() const {
  const double smallest = step_given_ ? step_ / 64 : std::pow(spacing_, 2.0 / 3);
  const double largest = std::max(0.25, step_);
  std::vector<double> steps;
  for (int k = 3; k > -20; --k) {
    const double step = step_ * std::pow(8.0, k);
    if (step >= smallest && step <= largest) steps.push_back(step);
  }
  return steps;
}

absl::StatusOr<Differences::Level> Differences::LevelOf(int source, const Numbers& direction,
                                                        double step, bool sides) {
  Numbers up = values_[source], down = values_[source];
  for (size_t k = 0; k < direction.size(); ++k) {
    up[k] += step * direction[k];
    down[k] -= step * direction[k];
  }
  up = round_(source, up);
  down = round_(source, down);
  double moved = 0, asked = 0;
  for (size_t k = 0; k < direction.size(); ++k) {
    moved += std::abs(up[k] - down[k]);
    asked += std::abs(direction[k]);
  }
  TF_ASSIGN_OR_RETURN(const auto above, evaluate_(source, up));
  TF_ASSIGN_OR_RETURN(const auto below, evaluate_(source, down));
  if (!here_.has_value()) {
    TF_ASSIGN_OR_RETURN(here_, evaluate_(source, values_[source]));
  }
  Level level{moved / asked / 2};  // The step after rounding.
  double squares = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    for (size_t k = 0; k < weights_[i].size(); ++k) {
      const double weight = weights_[i][k];
      const double a = above[i][k], b = below[i][k];
      if (a == b && !sides) continue;
      level.central += weight * (a - b);
      const double size = a == b ? 0 : std::max(std::abs(a), std::abs(b));
      squares += weight * weight * size * size;
      const double right = weight * (a - (*here_)[i][k]);
      const double left = weight * ((*here_)[i][k] - b);
      level.low += std::min(left, right);
      level.high += std::max(left, right);
    }
  }
  level.central /= 2 * level.step;
  level.noise = spacing_ * std::sqrt(squares) / level.step;
  level.low /= level.step;
  level.high /= level.step;
  return level;
}

absl::StatusOr<Slope> Differences::Quick(int source, const Numbers& direction) {
  TF_ASSIGN_OR_RETURN(const Level a, LevelOf(source, direction, step_, false));
  TF_ASSIGN_OR_RETURN(const Level b, LevelOf(source, direction, step_ / 2, false));
  const double value = (4 * b.central - a.central) / 3;
  const double error = std::abs(value - b.central) + 2 * b.noise;
  return Slope{value, std::isfinite(error) ? error : kInfinity, b.step};
}

absl::StatusOr<Slope> Differences::Careful(int source, const Numbers& direction) {
  std::vector<Level> levels;
  for (double step : CarefulSteps()) {
    TF_ASSIGN_OR_RETURN(const Level level, LevelOf(source, direction, step, true));
    if (std::isfinite(level.central)) levels.push_back(level);
  }
  if (levels.size() < 2) {
    return Slope{std::nan(""), kInfinity, step_, Kind::kEdge};
  }
  // Estimates the rounding error of each from that of the smallest steps.
  std::vector<double> last;
  for (size_t k = levels.size() - 1; k > 0 && last.size() < 3; --k) {
    last.push_back(std::abs(levels[k - 1].central - levels[k].central) * levels[k].step);
  }
  std::sort(last.begin(), last.end());
  const double rounding = last[last.size() / 2];

  // The neighbors that agree best with each other and with all smaller steps: a large step across a
  // pole or a kink may agree with its neighbor by chance.
  Slope best{0, kInfinity, step_};
  for (size_t k = 0; k + 1 < levels.size(); ++k) {
    const Level &a = levels[k], &b = levels[k + 1];
    const double square = (a.step / b.step) * (a.step / b.step);
    const double value = (square * b.central - a.central) / (square - 1);
    double error = std::abs(a.central - b.central) + 2 * b.noise;
    for (size_t s = k + 2; s < levels.size(); ++s) {
      const double noise = std::max(levels[s].noise, 2 * rounding / levels[s].step);
      error = std::max(error, std::abs(value - levels[s].central) - 2 * noise);
    }
    if (!(error < best.error)) continue;
    // On a smooth function, the one-sided slopes converge as the step shrinks. On a kink they stay
    // apart; on a jump they diverge.
    Kind kind = Kind::kSmooth;
    if (b.gap() > 8 * b.noise && b.gap() >= a.gap() / 2) {
      kind = b.gap() < 1.5 * a.gap() ? Kind::kKink : Kind::kJump;
    }
    best = Slope{value, error, b.step, kind, b.low, b.high};
  }
  return best;
}

absl::StatusOr<Slope> Differences::SlopeOf(const Task& task, bool careful) {
  Numbers direction(values_[task.source].size(), 0);
  for (int64_t position : task.positions) {
    direction[position] =
        Scale(task.source, position) * (task.signs == nullptr ? 1 : (*task.signs)[position]);
  }
  TF_ASSIGN_OR_RETURN(Slope slope,
                      careful ? Careful(task.source, direction) : Quick(task.source, direction));
  if (task.signs == nullptr) {
    const double scale = Scale(task.source, task.positions[0]);
    slope.value /= scale;
    slope.error /= scale;
    slope.low /= scale;
    slope.high /= scale;
  }
  return slope;
}

absl::StatusOr<Judged> Differences::Judge(const Task& task, const Slope& quick) {
  double analytic = 0, length = 1, largest = task.largest;
  if (task.signs == nullptr) {
    analytic = task.gradient[task.positions[0]];
  } else {
    Numbers scales, terms;
    for (int64_t position : task.positions) {
      scales.push_back(Scale(task.source, position));
      terms.push_back(task.gradient[position] * scales.back() * (*task.signs)[position]);
      analytic += terms.back();
    }
    length = Length(scales);
    largest = Length(terms);
  }
  Slope slope = quick;
  double tolerance = ToleranceOf(task.tolerance, slope.value, largest, length);
  const bool near = std::abs(analytic - slope.value) <= tolerance + 2 * slope.error;
  if (!near || slope.error > 10 * tolerance) {
    TF_ASSIGN_OR_RETURN(slope, SlopeOf(task, true));
    if (std::isfinite(slope.value)) {
      tolerance = ToleranceOf(task.tolerance, slope.value, largest, length);
    }
  }
  return Judged{VerdictOn(analytic, slope, tolerance), task.positions, analytic, slope, tolerance};
}

absl::StatusOr<std::vector<Judged>> Differences::JudgeElements(
    int source, const Numbers& gradient, const std::vector<int64_t>& positions,
    Tolerance tolerance) {
  std::vector<Slope> slopes;
  double largest = 0;
  for (int64_t position : positions) {
    const Task task{source, gradient, tolerance, {position}};
    TF_ASSIGN_OR_RETURN(const Slope slope, SlopeOf(task, false));
    slopes.push_back(slope);
    if (slope.error < 0.1 * std::abs(slope.value)) {
      largest = std::max(largest, std::abs(slope.value));
    }
  }
  std::vector<Judged> all;
  for (size_t k = 0; k < positions.size(); ++k) {
    const Task task{source, gradient, tolerance, {positions[k]}, nullptr, largest};
    TF_ASSIGN_OR_RETURN(Judged judged, Judge(task, slopes[k]));
    all.push_back(std::move(judged));
  }
  return all;
}

absl::StatusOr<Judged> Differences::JudgePart(int source, const Numbers& gradient,
                                              const Numbers& signs, Tolerance tolerance,
                                              std::vector<int64_t> positions) {
  const Task task{source, gradient, tolerance, std::move(positions), &signs};
  TF_ASSIGN_OR_RETURN(const Slope slope, SlopeOf(task, false));
  return Judge(task, slope);
}

absl::StatusOr<Judged> Differences::JudgeDirection(int source, const Numbers& gradient,
                                                   const Numbers& signs, Tolerance tolerance) {
  std::vector<int64_t> all(signs.size());
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  TF_ASSIGN_OR_RETURN(Judged judged, JudgePart(source, gradient, signs, tolerance, all));
  while (judged.verdict == Verdict::kWrong && judged.positions.size() > 1) {
    const auto middle = judged.positions.begin() + (judged.positions.size() + 1) / 2;
    TF_ASSIGN_OR_RETURN(Judged first, JudgePart(source, gradient, signs, tolerance,
                                                {judged.positions.begin(), middle}));
    TF_ASSIGN_OR_RETURN(Judged second, JudgePart(source, gradient, signs, tolerance,
                                                 {middle, judged.positions.end()}));
    const auto apart = [](const Judged& half) {
      return half.verdict == Verdict::kWrong ? std::abs(half.analytic - half.slope.value) : -1;
    };
    if (apart(first) < 0 && apart(second) < 0) {
      // Several elements on kinks make slopes that no gradient has.
      if (first.slope.kind != Kind::kSmooth) return first;
      if (second.slope.kind != Kind::kSmooth) return second;
      return judged;
    }
    judged = apart(first) >= apart(second) ? std::move(first) : std::move(second);
  }
  if (judged.positions.size() == 1) {
    TF_ASSIGN_OR_RETURN(std::vector<Judged> one,
                        JudgeElements(source, gradient, judged.positions, tolerance));
    return std::move(one[0]);
  }
  return judged;
}

}  // namespace tensorflow_ext
