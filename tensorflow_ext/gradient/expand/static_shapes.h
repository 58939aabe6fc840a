// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_EXPAND_STATIC_SHAPES_H_
#define TENSORFLOW_EXT_GRADIENT_EXPAND_STATIC_SHAPES_H_

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensorflow {
class ShapeRefiner;
}  // namespace tensorflow

namespace tensorflow_ext {

// The shapes that shape inference finds in a client's graph, before anything
// runs. A scope may be without shape inference: then nothing is known.
class StaticShapes {
 public:
  // The scope is to outlive this object.
  explicit StaticShapes(const tensorflow::Scope& scope);

  // What is known of the shape of `tensor`, a tensor of the scope's graph.
  tensorflow::PartialTensorShape Of(const tensorflow::Output& tensor) const;

  // What is known of the shape of the variable of type `type` behind `handle`.
  tensorflow::PartialTensorShape OfVariable(const tensorflow::Output& handle,
                                            tensorflow::DataType type) const;

  // Whether the two may have the same shape, as far as theirs are known.
  bool MayAgree(const tensorflow::Output& a, const tensorflow::Output& b) const;

  // Adds to what is known of the shape of `tensor` that it is that of `like`.
  // Does nothing where shape inference has found another shape.
  void Refine(const tensorflow::Output& tensor, const tensorflow::Output& like);

 private:
  tensorflow::ShapeRefiner* const refiner_;  // may be null
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_EXPAND_STATIC_SHAPES_H_
