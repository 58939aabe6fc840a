#pragma once

#include <cstdint>
#include <optional>

#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// The maximum number of iterations: `constant`, or the value of input `input`.
struct LoopBound {
  int64_t constant = -1;
  int input = -1;
};

// The bound that the loop's functions prove, if any. They prove one if an int32 variable starts at
// a constant of at least 0 and grows by a constant of at least 1 in each iteration, and the loop
// continues only while it is less than a constant or than another variable that never changes.
std::optional<LoopBound> FindLoopBound(const tensorflow::Node& loop,
                                       const tensorflow::FunctionDef& cond,
                                       const tensorflow::FunctionDef& body);

// True if the function returns its argument `i` unchanged as its result `i`.
bool ReturnsUnchanged(const tensorflow::FunctionDef& function, int i);

}  // namespace tensorflow_ext
