// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOP_BOUND_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOP_BOUND_H_

#include <cstdint>
#include <optional>

#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// How often a loop runs at most: `constant`, or the value of its input `input`.
struct LoopBound {
  int64_t constant = -1;
  int input = -1;
};

// The bound that the loop's functions prove: some variable of type int32 starts
// at a constant of at least 0 and grows by a constant of at least 1 in each
// iteration, and the loop goes on only while it is less than a constant or than
// another variable, which stays as it is. Nothing where they prove no bound.
std::optional<LoopBound> FindLoopBound(const tensorflow::Node& loop,
                                       const tensorflow::FunctionDef& cond,
                                       const tensorflow::FunctionDef& body);

// Whether the function returns its argument `i` unchanged as its result `i`.
bool ReturnsUnchanged(const tensorflow::FunctionDef& function, int i);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOP_BOUND_H_
