// The learning-rate schedules of Keras 3, by the same names and formulas
// (keras/src/optimizers/schedules).

#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "tensorflow_ext/train/body.h"
#include "tensorflow_ext/train/config.h"

namespace tensorflow_ext::train {

// The learning rate, a float, at an iteration, an int64 counted from 0.
using Schedule = std::function<Expr(const Expr& iteration)>;

absl::StatusOr<Schedule> MakeSchedule(Config* config);

}  // namespace tensorflow_ext::train
