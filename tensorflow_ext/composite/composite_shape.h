#pragma once

#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// The shape function of a composite: runs those of its parts in order.
absl::Status InferCompositeShapes(const CompositeOp& op,
                                  tensorflow::shape_inference::InferenceContext* c);

}  // namespace tensorflow_ext
