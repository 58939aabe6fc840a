#pragma once

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensorflow {
class ShapeRefiner;
}  // namespace tensorflow

namespace tensorflow_ext {

// The scope's shape inference; null if it has none.
tensorflow::ShapeRefiner* RefinerOf(const tensorflow::Scope& scope);

// The shapes that shape inference finds in a client's graph before anything runs. For a scope
// without shape inference, all shapes are unknown.
class StaticShapes {
 public:
  // The scope must outlive this object.
  explicit StaticShapes(const tensorflow::Scope& scope);

  // The known shape of `tensor`, a tensor of the scope's graph.
  tensorflow::PartialTensorShape Of(const tensorflow::Output& tensor) const;

  // The known shape of the variable of type `type` behind `handle`.
  tensorflow::PartialTensorShape OfVariable(const tensorflow::Output& handle,
                                            tensorflow::DataType type) const;

  // True if the known parts of the two shapes agree.
  bool MayAgree(const tensorflow::Output& a, const tensorflow::Output& b) const;

  // Refines the shape of `tensor` by that of `like`. Does nothing if shape inference has found a
  // different shape.
  void Refine(const tensorflow::Output& tensor, const tensorflow::Output& like);

 private:
  tensorflow::ShapeRefiner* const refiner_;  // may be null
};

}  // namespace tensorflow_ext
