#pragma once

#include <vector>

#include "tensorflow_ext/train/body.h"
#include "tensorflow_ext/train/rules.h"

namespace tensorflow_ext::train {

// A trained variable in the body of a step.
struct Parameter {
  // The variable; and its rows that the gradient is for, unless it is for the whole.
  Place whole, rows;
  // In the order of Optimizer::slots.
  std::vector<Place> slots;
  Expr gradient;
  // Those that Rules asks for.
  Place average, accumulator;
};

// The variables of a step.
struct StepState {
  Place iteration, learning_rate, product;
  // The scale of LossScaling, and the number of steps with finite gradients since it changed.
  Place loss_scale, finite_steps;
  std::vector<Parameter> parameters;
};

// Writes the step of an optimizer.
void WriteStep(const Rules& rules, const StepState& state, Body* body);

}  // namespace tensorflow_ext::train
