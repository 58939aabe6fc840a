// Derivatives by difference quotients, their accuracy, and a test of gradients against them.
// (check_gradient of Python does the same.)

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {

// The behavior of a function at a point, along a direction.
enum class Kind {
  kSmooth,
  kKink,
  kJump,  // A jump or an infinite slope.
  kEdge,  // The edge of the domain.
};

struct Slope {
  double value;
  double error;  // Estimated from two steps and the rounding.
  double step;   // The smaller of the two steps.
  Kind kind = Kind::kSmooth;
  // The least and the greatest one-sided slope.
  double low = 0;
  double high = 0;
};

struct Tolerance {
  double relative;
  double absolute;
};

enum class Verdict {
  kRight,
  kWrong,
  kBetween,  // Between the one-sided slopes, on a kink.
  kUnknown,  // A jump, an edge, or quotients that do not converge.
};

struct Judged {
  Verdict verdict;
  std::vector<int64_t> positions;  // The moved elements.
  double analytic;
  Slope slope;
  double tolerance;
};

// Compares the gradients of a weighted sum of a function's outputs.
class Differences {
 public:
  using Evaluate = std::function<absl::StatusOr<std::vector<Numbers>>(int, const Numbers&)>;

  // `evaluate` computes the outputs with one argument replaced in `values`, rounded by `round` to
  // the argument's type; `spacing` is that of the type in which it computes. `step`: 0 chooses one.
  Differences(Evaluate evaluate, std::function<Numbers(int, const Numbers&)> round,
              std::vector<Numbers> values, std::vector<Numbers> weights, double spacing,
              double step);

  // Judges the gradient by one argument, at some of its elements.
  absl::StatusOr<std::vector<Judged>> JudgeElements(int source, const Numbers& gradient,
                                                    const std::vector<int64_t>& positions,
                                                    Tolerance tolerance);

  // Judges all elements, moved at once by `signs`; if they are wrong, the smallest part of them
  // that is wrong.
  absl::StatusOr<Judged> JudgeDirection(int source, const Numbers& gradient, const Numbers& signs,
                                        Tolerance tolerance);

 private:
  struct Level;
  struct Task;

  double Scale(int source, int64_t position) const;
  std::vector<double> CarefulSteps() const;
  absl::StatusOr<Level> LevelOf(int source, const Numbers& direction, double step, bool sides);
  absl::StatusOr<Slope> Quick(int source, const Numbers& direction);
  absl::StatusOr<Slope> Careful(int source, const Numbers& direction);
  absl::StatusOr<Slope> SlopeOf(const Task& task, bool careful);
  absl::StatusOr<Judged> Judge(const Task& task, const Slope& quick);
  absl::StatusOr<Judged> JudgePart(int source, const Numbers& gradient, const Numbers& signs,
                                   Tolerance tolerance, std::vector<int64_t> positions);

  Evaluate evaluate_;
  std::function<Numbers(int, const Numbers&)> round_;
  std::vector<Numbers> values_;
  std::vector<Numbers> weights_;
  double spacing_;
  bool step_given_;
  double step_;
  std::optional<std::vector<Numbers>> here_;
};

}  // namespace tensorflow_ext
