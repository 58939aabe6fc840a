// Results of a plan's steps that are known before anything runs. A definition is written for any
// shapes and computes with shapes, which many graphs know.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

// The known properties of a tensor.
struct Known {
  tensorflow::PartialTensorShape shape;
  // The tensor's value, if known.
  std::optional<tensorflow::Tensor> value;
  // If it is a vector of sizes: the known part of the shape with these sizes.
  tensorflow::PartialTensorShape sizes;
};

// The known properties of a tensor with this value.
Known KnownValue(const tensorflow::Tensor& value);

// The value of `node` if it is a Const of few elements.
std::optional<tensorflow::Tensor> SmallConstant(const tensorflow::NodeDef& node);

// True if all elements, of any type but string, are 0.
bool IsZero(const tensorflow::Tensor& value);

// True if KnownOutputs and EqualInput can use the shapes of the op's inputs, and sizes among them.
// Otherwise they need the values of all inputs.
bool NeedsShapes(const std::string& op);

// The known properties of the outputs of `step`, given those of its inputs. Output `i` of
// BroadcastGradientArgs may contain axes along which input `i` and the result of the broadcast both
// have size 1, and omit such axes that the op has: the sum that uses it is the same.
std::vector<Known> KnownOutputs(const Step& step, const std::vector<Known>& inputs);

// The input that certainly equals the only output of `step`.
std::optional<int> EqualInput(const Step& step, const std::vector<Known>& inputs);

// Fills `tensor` with `numbers` in its own type, a number or bool.
absl::Status FillWith(const std::vector<double>& numbers, tensorflow::Tensor* tensor);

}  // namespace tensorflow_ext
