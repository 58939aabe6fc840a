// SPDX-License-Identifier: Apache-2.0
//
// Derivatives by difference quotients, how far these can be trusted, and
// whether a gradient is one of them. (check_gradient of Python does the same.)

#ifndef TENSORFLOW_EXT_TESTING_DIFFERENCES_H_
#define TENSORFLOW_EXT_TESTING_DIFFERENCES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {

// What a function is like at a place, along a direction.
enum class Kind {
  kSmooth,
  kKink,
  kJump,  // Or an infinite slope.
  kEdge,  // Of the domain.
};

struct Slope {
  double value;
  double error;  // An estimate, from two steps and the rounding.
  double step;   // The smaller of the two.
  Kind kind = Kind::kSmooth;
  // What the slopes from one side make of it at least and at most.
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
  kBetween,  // The slopes from both sides, on a kink.
  kUnknown,  // A jump, an edge, or quotients that do not converge.
};

struct Judged {
  Verdict verdict;
  std::vector<int64_t> positions;  // Which elements were moved.
  double analytic;
  Slope slope;
  double tolerance;
};

// Compares the gradients of a weighted sum of a function's outputs.
class Differences {
 public:
  using Evaluate =
      std::function<absl::StatusOr<std::vector<Numbers>>(int, const Numbers&)>;

  // `evaluate` gives the outputs for one argument in the place of what stands
  // in `values`, rounded by `round` to the argument's type; `spacing` is that
  // of the type in which it computes. `step`: 0 for what suits it.
  Differences(Evaluate evaluate,
              std::function<Numbers(int, const Numbers&)> round,
              std::vector<Numbers> values, std::vector<Numbers> weights,
              double spacing, double step);

  // On the gradient by one argument, at some of its elements.
  absl::StatusOr<std::vector<Judged>> JudgeElements(
      int source, const Numbers& gradient,
      const std::vector<int64_t>& positions, Tolerance tolerance);

  // On all elements, moved at once by `signs`; if that is wrong, on the
  // smallest part of them that is.
  absl::StatusOr<Judged> JudgeDirection(int source, const Numbers& gradient,
                                        const Numbers& signs,
                                        Tolerance tolerance);

 private:
  struct Level;
  struct Task;

  double Scale(int source, int64_t position) const;
  std::vector<double> CarefulSteps() const;
  absl::StatusOr<Level> LevelOf(int source, const Numbers& direction,
                                double step, bool sides);
  absl::StatusOr<Slope> Quick(int source, const Numbers& direction);
  absl::StatusOr<Slope> Careful(int source, const Numbers& direction);
  absl::StatusOr<Slope> SlopeOf(const Task& task, bool careful);
  absl::StatusOr<Judged> Judge(const Task& task, const Slope& quick);
  absl::StatusOr<Judged> JudgePart(int source, const Numbers& gradient,
                                   const Numbers& signs, Tolerance tolerance,
                                   std::vector<int64_t> positions);

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

#endif  // TENSORFLOW_EXT_TESTING_DIFFERENCES_H_
