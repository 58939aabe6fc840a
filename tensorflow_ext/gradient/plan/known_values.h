// SPDX-License-Identifier: Apache-2.0
//
// What the steps of a plan compute that is known before anything runs: a
// definition is written for any shapes, and computes with shapes that in many a
// graph are known.

#ifndef TENSORFLOW_EXT_GRADIENT_PLAN_KNOWN_VALUES_H_
#define TENSORFLOW_EXT_GRADIENT_PLAN_KNOWN_VALUES_H_

#include <optional>
#include <string>
#include <vector>

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

// What is known of a tensor.
struct Known {
  tensorflow::PartialTensorShape shape;
  // If not empty, its value.
  std::optional<tensorflow::Tensor> value;
  // Where it is a vector of sizes, what is known of the shape that has them.
  tensorflow::PartialTensorShape sizes;
};

// What is known of a tensor of this value.
Known KnownValue(const tensorflow::Tensor& value);

// The value that `node` has if it is a Const of few elements.
std::optional<tensorflow::Tensor> SmallConstant(
    const tensorflow::NodeDef& node);

// Whether it matters to KnownOutputs and EqualInput what is known of the shapes
// of the op's inputs, and of sizes among them; else that all have a value.
bool NeedsShapes(const std::string& op);

// What is known of the outputs of `step` from what is known of its inputs. The
// value of output `i` of BroadcastGradientArgs may hold axes along which input
// `i` and the result of the broadcast have size 1 both, and leave out such that
// the op has: the sum that it is used for is the same.
std::vector<Known> KnownOutputs(const Step& step,
                                const std::vector<Known>& inputs);

// The input that the only output of `step` is equal to, if that is certain.
std::optional<int> EqualInput(const Step& step,
                              const std::vector<Known>& inputs);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_PLAN_KNOWN_VALUES_H_
