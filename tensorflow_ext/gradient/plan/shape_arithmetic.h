#pragma once

#include <cstdint>
#include <vector>

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensorflow_ext {

// Larger tensors are not computed beforehand: they would stay in the graph.
constexpr int64_t kMaxKnownElements = 64;

// The outputs of `op`, a node with all attributes and no inputs, computed now from these inputs by
// the op's CPU kernel. Empty if definitions do not use the op to compute with shapes, an input or
// output is large, or the kernel fails. Thread-safe.
std::vector<tensorflow::Tensor> ComputeNow(const tensorflow::NodeDef& op,
                                           const std::vector<tensorflow::Tensor>& inputs);

}  // namespace tensorflow_ext
