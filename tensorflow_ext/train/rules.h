// The rules of all optimizers around their own updates: keras/src/optimizers/base_optimizer.py.

#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow_ext/train/config.h"
#include "tensorflow_ext/train/optimizers.h"
#include "tensorflow_ext/train/schedules.h"

namespace tensorflow_ext::train {

// Keras' LossScaleOptimizer: the gradients are those of a loss that is multiplied by a scale. The
// scale doubles after `growth_steps` steps with finite gradients. Others halve it and update
// nothing.
struct LossScaling {
  std::string name;
  double initial_scale = 0;
  int growth_steps = 0;
};

struct Rules {
  std::string name;
  Optimizer optimizer;
  // The learning rate, or its schedule.
  double learning_rate = 0;
  Schedule schedule;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm, loss_scale_factor;
  std::optional<LossScaling> loss_scaling;
  bool use_ema = false;
  double ema_momentum = 0;
  // 0: never.
  int ema_overwrite_frequency = 0;
  // 1: no accumulation.
  int gradient_accumulation_steps = 1;
  // These two are not in Keras. Gathered rows alone are updated, also by an optimizer that changes
  // other rows.
  bool lazy = false;
  // Fused kernels are used. They compute 1 - beta in the type of the variable, Keras in double.
  bool fused = true;
};

// Reads an optimizer (Config::Parse).
absl::StatusOr<Rules> ReadRules(const std::string& optimizer);

}  // namespace tensorflow_ext::train
