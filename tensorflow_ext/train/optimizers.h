// The optimizers of Keras 3: the same names, hyperparameters, defaults, slots and formulas
// (keras/src/optimizers). A whole variable is updated by TensorFlow's fused kernel if there is one
// with the same formula. It reads and writes each tensor once.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow_ext/train/body.h"
#include "tensorflow_ext/train/config.h"

namespace tensorflow_ext::train {

// A variable that an optimizer keeps for each variable that it trains, of the same type and shape.
struct Slot {
  std::string name;
  double initial = 0;
  // True if Keras makes it after the slots before it of all variables.
  bool is_apart = false;
};

// The update of one variable. All tensors have its type.
struct Update {
  Body* body;
  Place variable;
  // In the order of Optimizer::slots.
  std::vector<Place> slots;
  Expr gradient;
  Expr learning_rate;
  // The number of the update, from 1.
  Expr step;
  // The value of Optimizer::product after its update.
  Expr product;
  // True if a kernel may update the whole variable and its slots at once.
  bool is_fused;
};

struct Optimizer {
  std::vector<Slot> slots;
  // True if rows whose gradient is zero do not change, so that updating only the others is exact.
  bool leaves_zero_rows = false;
  std::function<void(const Update&)> update;
  // Nadam's running product: the factor of step t. Empty for the others.
  std::function<Expr(const Expr& step)> product;
};

// The optimizer of that class. Reads its own keys from `config`.
absl::StatusOr<Optimizer> MakeOptimizer(Config* config);

}  // namespace tensorflow_ext::train
