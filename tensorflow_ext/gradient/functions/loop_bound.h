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

// What the loop's functions prove: a variable of type int32 starts at a
// constant of at least 0, grows by a constant of at least 1 in each iteration,
// and the loop ends unless it is less than a constant, or than a variable that
// stays as it is. None where they prove nothing of the kind.
std::optional<LoopBound> FindLoopBound(const tensorflow::Node& loop,
                                       const tensorflow::FunctionDef& cond,
                                       const tensorflow::FunctionDef& body);

// Whether result `i` of the function is its argument `i` unchanged.
bool HandsOn(const tensorflow::FunctionDef& function, int i);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOP_BOUND_H_
