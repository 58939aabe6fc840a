// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>ReverseGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("scale: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      float scale;
      c->set_output(0, c->input(0));
      return GetFiniteAttr(c, "TfExt>ReverseGradient", "scale", &scale);
    })
    .Doc(R"doc(
Identity whose gradient is reversed: the gradient reversal layer of
domain-adversarial training (Ganin and Lempitsky, 2015, arXiv:1409.7495). The
output shares the input's buffer.

The gradient: -scale * dy.

input: Tensor of any shape.
output: The same tensor.
scale: Factor of the reversed gradient, finite.
)doc");

REGISTER_OP("TfExt>ReverseGradientN")
    .Input("inputs: T")
    .Output("outputs: T")
    .Attr("T: list(type) >= 1")
    .Attr("scale: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      float scale;
      for (int i = 0; i < c->num_inputs(); ++i) {
        c->set_output(i, c->input(i));
        if (const auto* handle = c->input_handle_shapes_and_types(i)) {
          c->set_output_handle_shapes_and_types(i, *handle);
        }
      }
      return GetFiniteAttr(c, "TfExt>ReverseGradientN", "scale", &scale);
    })
    .Doc(R"doc(
ReverseGradient of a list of tensors, which may differ in type and shape. The
outputs share the inputs' buffers.

The gradient: -scale * dy of each floating-point or complex output; none to
inputs of other types (integers, booleans, strings, resources, variants).

inputs: Tensors of any shapes and types, at least one.
outputs: The same tensors.
scale: Factor of the reversed gradients, finite.
)doc");

}  // namespace tensorflow_ext
