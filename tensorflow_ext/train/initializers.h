// The initializers of Keras 3, by the same names and formulas (keras/src/initializers). Those that
// draw give the numbers that Keras gives for the same seed.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/train/body.h"

namespace tensorflow_ext::train {

// Writes the initial value of a variable. `initializer`: what keras.initializers.serialize gives,
// as JSON, or a name, such as "glorot_uniform". Without a seed, the numbers differ in each graph.
absl::StatusOr<Expr> InitialValue(const std::string& initializer, tensorflow::DataType type,
                                  const tensorflow::TensorShape& shape, Body* body);

}  // namespace tensorflow_ext::train
