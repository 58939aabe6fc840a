// The rule of elementwise ops: all inputs and the output have the same shape. For shape functions,
// kernels and XLA lowerings.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"

namespace tensorflow_ext {

// The name of argument `index`. No argument of the op may be a list.
inline std::string ArgumentName(const std::string& op, int index) {
  const tensorflow::OpDef* definition = nullptr;
  if (tensorflow::OpRegistry::Global()->LookUpOpDef(op, &definition).ok()) {
    return definition->input_arg(index).name();
  }
  return std::to_string(index);
}

// InvalidArgument that names the op, arguments 0 and `index`, and both shapes.
inline absl::Status ShapesDiffer(const std::string& op, const std::string& first_shape, int index,
                                 const std::string& shape) {
  return ShapeError(op, ArgumentName(op, index), shape,
                    absl::StrCat("that of '", ArgumentName(op, 0), "', ", first_shape));
}

// For a kernel whose argument `index` has the shape `shape` and whose argument 0 has the shape
// `first`. `op` is the kernel's type_string().
inline absl::Status CheckSameShape(const std::string& op, const tensorflow::TensorShape& first,
                                   const tensorflow::TensorShape& shape, int index = 1) {
  if (first == shape) return absl::OkStatus();
  return ShapesDiffer(op, first.DebugString(), index, shape.DebugString());
}

// The shape function of an op whose first `inputs` inputs have the same shape. Unknown parts of one
// shape are taken from the others.
inline absl::Status SameShape(const char* op, tensorflow::shape_inference::InferenceContext* c,
                              int inputs = 2) {
  tensorflow::shape_inference::ShapeHandle merged = c->input(0);
  for (int i = 1; i < inputs; ++i) {
    const tensorflow::shape_inference::ShapeHandle before = merged;
    if (!c->Merge(before, c->input(i), &merged).ok()) {
      return ShapesDiffer(op, c->DebugString(before), i, c->DebugString(c->input(i)));
    }
  }
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, merged);
  return absl::OkStatus();
}
inline auto SameShapeFn(const char* op, int inputs = 2) {
  return [=](tensorflow::shape_inference::InferenceContext* c) { return SameShape(op, c, inputs); };
}

}  // namespace tensorflow_ext
